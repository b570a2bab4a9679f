"""Backups and files in quarantine, cleaned like the store. In: a path, a function that cleans. Out: the file without it.

A damaged file is replaced by what can be read of it, where it holds what has to go. The file is exchanged whole: a process that
is killed leaves the old one. Never touches a file that holds nothing of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tacit.backends.sqlite.connection import connect, translate, write_error
from tacit.backends.sqlite.health import copy_database, remove_database
from tacit.backends.sqlite.purging import Cleaning, rewrite_texts
from tacit.backends.sqlite.rebuilding import write_store
from tacit.backends.sqlite.salvaging import find_rows, open_pages
from tacit.backends.sqlite.schema import (
    APPLICATION_ID,
    is_possible_version,
    migrate_one,
    missing_parts,
    newest_version,
    schema_version,
)
from tacit.errors import NotABackup, StoreCorrupt, StoreError
from tacit.system.files import sync_folder

_CHUNK_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 16


def rewrite_copy(path: Path, cleaning: Cleaning, *, dry_run: bool) -> Mapping[str, int]:
    """Clean a backup or a damaged database, and return table -> number of changed rows. The file is replaced only if something changes.

    A damaged file is replaced by what can be read of it. `dry_run` = only count.

    Raises:
        StoreError: if it is no store, of a newer version, or cannot be written; nothing is changed then.
    """
    sound = is_sound(path)
    if sound:
        counts = _look(path, cleaning)
        if counts is not None and (dry_run or not counts):
            return counts
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if sound:
            copy_store(path, partial)
        else:
            rows = find_rows(open_pages(path))
            if rows.empty:
                raise StoreCorrupt(f"Nothing of {path} can be read.")
            write_store(rows, partial, values={})
        counts = _clean(partial, cleaning)
        if not counts and not sound and _holds(path, cleaning):
            counts = {"damaged": 1}
        if counts and not dry_run:
            partial.replace(path)
            for suffix in ("-wal", "-shm", "-journal"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            sync_folder(path.parent)
    except OSError as error:
        raise write_error(error, path) from error
    finally:
        remove_database(partial)
    return counts


def is_sound(path: Path) -> bool:
    """Whether the database `path` is an undamaged, complete Tacit store.

    Raises:
        NotABackup: if it is another program's.
        StoreError: if it is of a newer version, or cannot be read.
    """
    try:
        with closing(connect(path, read_only=True)) as connection:
            whole = connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            version = schema_version(connection)
            complete = is_possible_version(version) and (
                version > newest_version() or not missing_parts(connection)
            )
    except sqlite3.DatabaseError as error:
        failed = translate(error, path)
        if isinstance(failed, StoreCorrupt):
            return False
        raise failed from error
    if not whole:
        return False
    if owner != APPLICATION_ID:
        raise NotABackup(
            f"{path} is no backup of a Tacit store.", hint="Choose a file that `tacit backup` wrote."
        )
    if not complete:
        return False
    if version > newest_version():
        raise StoreError(f"It has schema {version}, and this Tacit knows up to {newest_version()}.")
    return True


def copy_store(source: Path, target: Path) -> None:
    """Copy a sound store to `target` and bring the copy to the newest schema.

    Raises:
        StoreError: if it cannot be read or written.
    """
    try:
        with closing(connect(source, read_only=True)) as connection:
            copy_database(connection, target)
        with closing(connect(target)) as copy:
            copy.execute("BEGIN IMMEDIATE")
            for version in range(schema_version(copy) + 1, newest_version() + 1):
                migrate_one(copy, version)
            copy.execute("COMMIT")
    except sqlite3.Error as error:
        raise translate(error, source) from error


def _look(path: Path, cleaning: Cleaning) -> Mapping[str, int] | None:
    """Return table -> number of rows that would change, reading only; None = the file has an older schema, so a migrated copy is needed."""
    try:
        with closing(connect(path, read_only=True)) as connection:
            if schema_version(connection) != newest_version():
                return None
            connection.execute("BEGIN")
            return rewrite_texts(connection, cleaning, dry_run=True)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _clean(path: Path, cleaning: Cleaning) -> Mapping[str, int]:
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("BEGIN IMMEDIATE")
            counts = rewrite_texts(connection, cleaning, dry_run=False)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return counts


def _holds(path: Path, cleaning: Cleaning) -> bool:
    """Whether the raw bytes of a damaged file or of its log contain a text or id that must be removed."""
    for file in (path, Path(f"{path}-wal")):
        content = file.read_bytes() if file.exists() else b""
        for start in range(0, len(content), _CHUNK_BYTES):
            if cleaning.holds(content[start : start + _CHUNK_BYTES + _OVERLAP_BYTES]):
                return True
    return False
