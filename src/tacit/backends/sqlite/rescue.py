"""Put a damaged database aside, and bring a backup back. In: a home whose store nobody has open. Out: files moved.

Nothing is ever deleted: what stood there before goes to quarantine. Never opens the damaged file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from tacit.backends.sqlite.connection import connect, device_error, file_lock, suspicion, translate
from tacit.backends.sqlite.health import copy_database, remove_database, sync_folder
from tacit.backends.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, schema_version
from tacit.config.home import Home
from tacit.errors import NotFound, StoreCorrupt, StoreError, StoreNewer
from tacit.ports.clock import Clock

_PARTS = ("-wal", "-shm", "")
"""The database file itself goes last: a crash in between leaves it where it is looked for."""


def quarantine(home: Home, clock: Clock) -> Path:
    """Move the database and its log files into the quarantine folder; return the new place of the database.

    Raises:
        NotFound: if there is no database.
        StoreError: if it cannot be moved.
    """
    home.ensure()
    with file_lock(home.lock_file, home.database):
        return _move_aside(home, clock)


def _move_aside(home: Home, clock: Clock) -> Path:
    if not home.database.exists():
        raise NotFound(f"There is no database {home.database}.")
    moment = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%S")
    number = 0
    while True:
        aside = home.quarantine_dir / f"{home.database.stem}-{moment}-{number}{home.database.suffix}"
        if not aside.exists():
            break
        number += 1
    try:
        for part in _PARTS:
            old = Path(f"{home.database}{part}")
            if old.exists():
                old.rename(f"{aside}{part}")
        suspicion(home.database).unlink(missing_ok=True)
        sync_folder(home.quarantine_dir)
        sync_folder(home.root)
    except OSError as error:
        raise device_error(error, home.quarantine_dir) from error
    return aside


def restore(source: Path, home: Home, clock: Clock) -> Path | None:
    """Make the backup `source` the store of `home`; return where the former database went, if there was one.

    The backup is examined first and copied, so `source` stays as it is. Nobody may have the store open.

    Raises:
        NotFound: if there is no such backup.
        StoreCorrupt, StoreNewer, StoreError: if the backup cannot serve; the present store is left alone.
    """
    examine(source)
    home.ensure()
    partial = home.root / f".{home.database.name}.{os.getpid()}.part"
    try:
        with closing(connect(source, read_only=True)) as backup:
            copy_database(backup, partial)
        with closing(connect(partial)) as copy:
            # Derived files belong to one store; the copy goes its own way from here.
            copy.execute("UPDATE state SET store_id = lower(hex(randomblob(16)))")
        with file_lock(home.lock_file, home.database):
            aside = _move_aside(home, clock) if home.database.exists() else None
            partial.replace(home.database)
            sync_folder(home.root)
    except sqlite3.Error as error:
        raise translate(error, source) from error
    except OSError as error:
        raise device_error(error, home.database) from error
    finally:
        remove_database(partial)
    return aside


def examine(source: Path) -> None:
    """Say whether the backup `source` can become the store; touches nothing.

    Raises:
        NotFound: if there is no such file.
        StoreCorrupt, StoreNewer, StoreError: if it cannot serve.
    """
    if not source.is_file():
        raise NotFound(f"There is no backup {source}.", hint="Name a file that `tacit backup` wrote.")
    try:
        with closing(connect(source, read_only=True)) as backup:
            _examine(backup, source)
    except sqlite3.Error as error:  # the user's own file: nothing of the store's ways of rescue is for it
        raise StoreCorrupt(
            f"{source} cannot be read as a backup: {error}.", hint="Choose a file that `tacit backup` wrote."
        ) from error
    except StoreCorrupt as error:
        raise StoreCorrupt(
            f"{source} cannot be read as a backup.", hint="Choose a file that `tacit backup` wrote."
        ) from error


def _examine(backup: sqlite3.Connection, source: Path) -> None:
    said = backup.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if said != "ok":
        raise StoreCorrupt(f"The backup {source} is damaged: {said}", hint="Choose another backup.")
    if backup.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(
            f"{source} is no backup of a Tacit store.", hint="Choose a file that `tacit backup` wrote."
        )
    version = schema_version(backup)
    if version > SCHEMA_VERSION:
        raise StoreNewer(
            f"The backup {source} has schema {version}; this Tacit knows up to {SCHEMA_VERSION}.",
            hint="Upgrade this Tacit (`uv tool upgrade tacit`).",
        )
