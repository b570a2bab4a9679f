"""The SQLite store as a `StoreBackend`: one file in the home. In: a home. Out: its store, opened, repaired or replaced.

A damaged database is salvaged, a backup brought back. In: a home whose store nobody has open. Out: files exchanged.

Nothing is deleted: what stood there before goes to quarantine. A new database is written whole before the old one is moved, and an
exchange that was interrupted is finished by the next that opens the store. What was purged does not come back.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from tacit.backends.sqlite import health
from tacit.backends.sqlite.connection import (
    DAMAGED_HINT,
    connect,
    damage_marker,
    file_lock,
    translate,
    write_error,
)
from tacit.backends.sqlite.health import remove_database, write_backup
from tacit.backends.sqlite.purging import apply_purges, read_purges
from tacit.backends.sqlite.rebuilding import (
    copy_store,
    is_sound,
    log_is_damaged,
    read_damaged,
    write_rebuilt,
)
from tacit.backends.sqlite.schema import is_possible_version, newest_version, schema_version
from tacit.backends.sqlite.store import SqliteStore
from tacit.config.home import Home
from tacit.errors import UPGRADE, NotABackup, NotFound, StoreCorrupt, StoreError, StoreNewer
from tacit.ports.clock import Clock
from tacit.ports.store import Salvage, Step, no_step
from tacit.state.registry import COPIES, DAMAGED_STORE
from tacit.system.files import sync_folder

LOST_NAMED = 20
_PARTS = ("-wal", "-shm", "")
"""The database file itself goes last: a crash in between leaves it where it is looked for."""


def _partial(home: Home) -> Path:
    return home.root / f".{home.database.name}.part"


def _ready(home: Home) -> Path:
    """Return the path of a complete new database that is to replace the store's file."""
    return home.root / f"{home.database.name}.new"


def _aside_note(home: Home) -> Path:
    """Return the path of the note that names where the old database goes, so that an interrupted exchange goes on with the same name."""
    return home.root / f"{home.database.name}.aside"


def finish_exchange(home: Home) -> None:
    """Finish an exchange of the database file that a crash interrupted, under the write lock; do nothing if there is none.

    Raises:
        StoreError: if a file cannot be moved.
    """
    if _ready(home).exists() or _aside_note(home).exists():
        with file_lock(home.lock_file, home.database):
            _finish(home)


def _exchange(home: Home, aside: Path) -> None:
    """Move the store's database to `aside` and the complete database at `_partial` into its place. The caller holds the lock."""
    try:
        _aside_note(home).write_text(str(aside), encoding="utf-8")
        _partial(home).replace(_ready(home))
        sync_folder(home.root)
        _finish(home)
    except OSError as error:
        raise write_error(error, home.database) from error


def _finish(home: Home) -> None:
    ready, note = _ready(home), _aside_note(home)
    try:
        if ready.exists():
            aside = Path(note.read_text(encoding="utf-8"))
            _move(home, aside)
            ready.replace(home.database)
            damage_marker(home.database).unlink(missing_ok=True)
            sync_folder(home.root)
        note.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(error, home.database) from error


def _move(home: Home, aside: Path) -> None:
    for suffix in _PARTS:
        old = Path(f"{home.database}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    sync_folder(aside.parent)


def _new_aside(home: Home, clock: Clock) -> Path:
    moment = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%S")
    number = 0
    while True:
        aside = home.quarantine_dir / f"{home.database.stem}-{moment}-{number}{home.database.suffix}"
        if not any(Path(f"{aside}{suffix}").exists() for suffix in _PARTS):
            return aside
        number += 1


def _newest_backup(home: Home) -> Path | None:
    """Return the newest automatic backup that is sound; None = there is none."""
    for path in home.automatic_backups():
        with suppress(StoreError):
            if is_sound(path):
                return path
    return None


def inode_of(path: Path) -> int:
    """Return the inode number of the file at `path`; -1 = there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def _keep_copies(copy: sqlite3.Connection, home: Home) -> None:
    """Add the list of backups and exports that the replaced store knows to that of `copy`, so that a purge still cleans them."""
    listed: dict[str, None] = {}
    for connection in (copy, _present(home)):
        if connection is None:
            continue
        try:
            row = connection.execute(
                "SELECT value FROM named_values WHERE name = ?", (COPIES.name(),)
            ).fetchone()
            listed |= dict.fromkeys(COPIES.parse(row[0]) or () if row else ())
        except sqlite3.Error:
            pass
        finally:
            if connection is not copy:
                connection.close()
    if listed:
        copy.execute(
            "INSERT OR REPLACE INTO named_values (name, value) VALUES (?, ?)",
            (COPIES.name(), COPIES.text(tuple(listed))),
        )


def _present(home: Home) -> sqlite3.Connection | None:
    try:
        return connect(home.database, read_only=True)
    except sqlite3.Error:
        return None


class SqliteBackend:
    """The SQLite store as a `StoreBackend`: opens, salvages and restores the database file of a home."""

    def open(self, home: Home, *, clock: Clock) -> SqliteStore:
        """Open the store of `home`, creating or migrating it where needed."""
        return open_sqlite_store(home, clock=clock)

    def needs_migration(self, home: Home) -> bool:
        """Whether opening the store would migrate its schema; False if the file is missing or cannot be read."""
        if not home.database.exists():
            return False
        try:
            with closing(connect(home.database, read_only=True)) as connection:
                return 0 < schema_version(connection) < newest_version()
        except sqlite3.Error:
            return False

    def back_up(self, home: Home, target: Path) -> bool:
        """Copy the store's file, as it is before a migration, to `target`; return True.

        Raises:
            StoreError: if it cannot be read or written.
        """
        try:
            with closing(connect(home.database, read_only=True)) as connection:
                connection.execute("BEGIN")
                return write_backup(connection, target)
        except sqlite3.Error as error:
            raise translate(error, home.database) from error

    def file_id(self, home: Home) -> int:
        """Return the inode of the database file; see `StoreBackend.file_id`."""
        return inode_of(home.database)

    def suspects_damage(self, home: Home) -> bool:
        """Whether damage was found since the store was opened. Cheap: called for every `status`."""
        return damage_marker(home.database).exists()

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """Move the damaged database to quarantine, and put a new one in its place with every row that can be read; return the report.

        Rows that only the newest automatic backup has are added from there. Purges that were made since are applied.

        Args:
            home: whose store it is.
            clock: gives the time.
            file_id: of the file in which damage was met; None is returned where another process has exchanged it meanwhile.

        Raises:
            NotFound: if there is no database.
            StoreError: if the new one cannot be written; then the old one stays where it is.
        """
        home.ensure()
        with file_lock(home.lock_file, home.database):
            _finish(home)
            if not home.database.exists():
                raise NotFound(f"There is no database {home.database}.")
            if inode_of(home.database) != file_id:
                return None
            partial = _partial(home)
            remove_database(partial)
            try:
                purges = read_purges(home.purge_log)
                log_cut = log_is_damaged(home.database)
                found = read_damaged(home.database)
                base = _newest_backup(home)
                from_backup = write_rebuilt(found, partial, base=base)
                apply_purges(partial, purges)
                purged = {name for purge in purges for name in purge.gone.memories}
                with closing(connect(partial)) as new:
                    recovered = {str(name) for (name,) in new.execute("SELECT id FROM memories")}
                    lost = sorted(found.known - recovered - purged)
                    report = Salvage(
                        aside=str(_new_aside(home, clock)),
                        at_ms=clock.now_ms(),
                        recovered=len(recovered),
                        from_backup=len(from_backup & recovered),
                        lost=tuple(lost[:LOST_NAMED]),
                        lost_count=len(lost),
                        cut=log_cut or not found.whole,
                    )
                    new.execute(
                        "INSERT OR REPLACE INTO named_values (name, value) VALUES (?, ?)",
                        (DAMAGED_STORE.name(), DAMAGED_STORE.codec.write(report)),
                    )
                _exchange(home, Path(report.aside))
            except OSError as error:
                raise write_error(error, home.database) from error
            finally:
                remove_database(partial)
        return report

    def examine(self, source: Path) -> int | None:
        """Check whether the file `source` can become the store; changes nothing.

        Returns:
            None if the backup is sound; if it is damaged, how many of its memories can be read.

        Raises:
            NotFound: if there is no such file.
            NotABackup, StoreNewer, StoreError: if the file cannot become the store.
        """
        if not source.is_file():
            raise NotFound(
                f"There is no backup {source}.",
                hint="Name a file that `tacit backup` wrote.",
            )
        try:
            with closing(connect(source, read_only=True)) as opened:
                version = schema_version(opened)
        except sqlite3.Error:
            version = 0
        if version > newest_version() and is_possible_version(version):
            raise StoreNewer(
                f"The backup {source} has schema {version}; this Tacit knows up to {newest_version()}.",
                hint=UPGRADE,
            )
        try:
            if is_sound(source) and not log_is_damaged(source):
                return None
            found = read_damaged(source)
        except OSError as error:
            raise StoreError(
                f"{source} cannot be read: {error.strerror or error}.", hint="Choose another file."
            ) from error
        if found.empty:
            raise NotABackup(
                f"{source} cannot be read as a backup: nothing of a Tacit store was found in it.",
                hint="Choose a file that `tacit backup` wrote.",
            )
        return len(found.versions)

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:
        """Make `source` the store of `home`; return where the former database went, if there was one.

        `source` is a backup or a damaged database; it stays as it is. Nobody may have the store open.

        Raises:
            NotFound: if there is no such file.
            NotABackup, StoreNewer, StoreError: if the file cannot become the store. The present store stays as it is.
        """
        whole = self.examine(source) is None
        home.ensure()
        partial = _partial(home)
        with file_lock(home.lock_file, home.database):
            _finish(home)
            remove_database(partial)
            try:
                if whole:
                    copy_store(source, partial)
                else:
                    write_rebuilt(read_damaged(source), partial, base=None)
                apply_purges(partial, read_purges(home.purge_log))
                with closing(connect(partial)) as copy:
                    copy.execute("DELETE FROM named_values WHERE name = ?", (DAMAGED_STORE.name(),))
                    _keep_copies(copy, home)
                    copy.execute("PRAGMA journal_mode = WAL").fetchone()
                aside = _new_aside(home, clock)
                former = home.database.exists()
                _exchange(home, aside)
            except sqlite3.Error as error:
                raise translate(error, source) from error
            except OSError as error:
                raise write_error(error, home.database) from error
            finally:
                remove_database(partial)
        return aside if former else None


def open_sqlite_store(home: Home, *, clock: Clock, step: Step = no_step) -> SqliteStore:
    """Open the store of `home`, creating or migrating it where needed. After signs of damage, check it first. `step` is a hook for tests.

    Raises:
        StoreCorrupt: the file is damaged; `salvage` makes a new one of it.
        StoreNewer: a newer Tacit wrote it; nothing was read.
        StoreReadOnly, StoreFull, StoreBusy: it cannot be written now.
    """
    home.ensure()
    finish_exchange(home)
    _refuse_emptied(home)
    _refuse_damaged_log(home)
    store = SqliteStore(home, clock=clock, step=step)
    mark = damage_marker(home.database)
    if mark.exists():
        try:
            if any(isinstance(problem, health.Damage) for problem in store.check()):
                raise StoreCorrupt(f"The database {home.database} is damaged.", hint=DAMAGED_HINT)
        except StoreError:
            store.close()
            raise
        mark.unlink(missing_ok=True)
    return store


def _refuse_emptied(home: Home) -> None:
    """Raise if the database file is empty in a home that was in use: SQLite would take it for a new store.

    Raises:
        StoreCorrupt: if it is one.
    """
    try:
        emptied = home.database.stat().st_size == 0 and any(home.start_dir.iterdir())
    except OSError:
        return
    if emptied:
        raise StoreCorrupt(f"The database {home.database} is empty.", hint=DAMAGED_HINT)


def _refuse_damaged_log(home: Home) -> None:
    """Raise if SQLite's write-ahead log is damaged: SQLite would silently drop the transactions behind the damage.

    Raises:
        StoreCorrupt: if the log holds a finished transaction behind damage.
    """
    if not Path(f"{home.database}-wal").exists():
        return
    with file_lock(home.lock_file, home.database):
        try:
            damaged = log_is_damaged(home.database)
        except OSError as error:
            raise write_error(error, home.database) from error
    if damaged:
        raise StoreCorrupt(f"The log of the database {home.database} is damaged.", hint=DAMAGED_HINT)
