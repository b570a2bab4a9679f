"""Counts, an examination, and a backup. In: connections. Out: counts, sentences, a file. Never repairs anything."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tacit.backends.sqlite.connection import connect, device_error, translate
from tacit.backends.sqlite.schema import SCHEMA_VERSION
from tacit.errors import StoreError
from tacit.ports.store import StoreStats

DAMAGED = "The file is damaged"
"""How a problem begins that makes the file unfit for use."""
_MOST_PROBLEMS = 20


def read_stats(connection: sqlite3.Connection, path: Path) -> StoreStats:
    """Counts; memories are counted by scope when they are written."""
    active, total = connection.execute("SELECT sum(active), sum(total) FROM scopes").fetchone()
    size = 0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            size += Path(f"{path}{suffix}").stat().st_size
    return StoreStats(
        memories_active=active or 0,
        memories_total=total or 0,
        projects=_count(connection, "projects"),
        sessions=_count(connection, "sessions"),
        exposures=_count(connection, "exposures"),
        traces=_count(connection, "traces"),
        handovers_pending=_count(connection, "handovers WHERE done_at_ms IS NULL"),
        vectors=_count(connection, "vectors"),
        vectors_missing=_count(
            connection,
            "memories AS m LEFT JOIN vectors AS v ON v.memory = m.number"
            " WHERE v.memory IS NULL AND m.status IN ('active', 'quarantined')",
        ),
        size_bytes=size,
        schema_version=SCHEMA_VERSION,
    )


def _count(connection: sqlite3.Connection, source: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])


def unseen(done: int, whole: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """One step of the examination: sentences about what is wrong. `writes` = it needs the writer, as a command does."""

    find: Callable[[sqlite3.Connection], list[str]]
    writes: bool = False


def examinations() -> tuple[Examination, ...]:
    """The whole examination, step by step: each sees a consistent store by itself, and only two hold the writer.

    The text indexes are checked by a command; between them others get their turn.
    """
    first, second = (
        Examination(find=partial(_disagreeing, index), writes=True) for index in ("text_words", "text_code")
    )
    read = [_damage, _lost_parents, *(partial(_miscounted, sql, sentence) for sql, sentence in _COUNTS)]
    steps = [Examination(find=one) for one in read]
    return (*steps[:2], first, *steps[2:], second)


def _damage(connection: sqlite3.Connection) -> list[str]:
    said = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
    return [f"{DAMAGED}: {one}" for (one,) in said if one != "ok"]


def _lost_parents(connection: sqlite3.Connection) -> list[str]:
    lost = connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_PROBLEMS)
    return [
        f"Row {row} of {table} names a row of {parent} that does not exist." for table, row, parent, _ in lost
    ]


def _disagreeing(index: str, connection: sqlite3.Connection) -> list[str]:
    try:
        connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return [f"{DAMAGED}: the text index {index} does not agree with its documents: {error}"]
    return []


def _miscounted(sql: str, sentence: str, connection: sqlite3.Connection) -> list[str]:
    return [sentence.format(count)] if (count := _count(connection, sql)) else []


_COUNTS = (
    (
        (
            "memories AS m LEFT JOIN documents AS d ON d.memory = m.number"
            " WHERE (m.status = 'active') <> (d.memory IS NOT NULL)"
        ),
        "{} memories are in the text index although they are not active, or the reverse.",
    ),
    (
        "vectors AS v JOIN identities AS i ON i.number = v.identity WHERE length(v.vector) <> 2 * i.dimensions",
        "{} vectors have the wrong length; `tacit reindex` renews them.",
    ),
    (
        (
            "scopes AS s WHERE s.total <> (SELECT count(*) FROM memories AS m WHERE m.scope = s.number)"
            " OR s.active <> (SELECT count(*) FROM memories AS m WHERE m.scope = s.number AND m.status = 'active')"
        ),
        "{} scopes count other memories than they hold.",
    ),
    (
        "memories AS m WHERE NOT EXISTS (SELECT 1 FROM versions AS v WHERE v.memory = m.number)",
        "{} memories have no history.",
    ),
    (
        "memory_entities AS e JOIN memories AS m ON m.number = e.memory WHERE m.scope <> e.scope",
        "{} entity links stand under the wrong scope.",
    ),
)


def write_backup(connection: sqlite3.Connection, target: Path) -> None:
    """Write one consistent copy of the store, as a single file, or nothing.

    Raises:
        StoreError: if `target` exists or cannot be written.
    """
    if target.exists():
        raise StoreError(
            f"{target} exists already; a backup never replaces a file.", hint="Choose another name."
        )
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        copy_database(connection, partial)
        # A hard link cannot replace a file that came to be in the meantime; a rename could.
        os.link(partial, target)
        sync_folder(target.parent)
    except OSError as error:
        raise device_error(error, target) from error
    finally:
        remove_database(partial)


def copy_database(connection: sqlite3.Connection, target: Path) -> None:
    """Copy what `connection` sees to `target`, one file without a log beside it, synced to the device."""
    try:
        target.parent.stat()
        with closing(connect(target)) as copy:
            target.chmod(0o600)
            # The whole copy in one step: a write of another process cannot make it begin again.
            connection.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, target) from error


def remove_database(path: Path) -> None:
    """Delete a temporary database and what lies beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(f"{path}{suffix}").unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
