"""Counts, an examination, and a backup. In: connections. Out: counts, sentences, a file. Never repairs anything."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import msgspec

from tacit.backends.sqlite.connection import DAMAGED_HINT, connect, translate, write_error
from tacit.backends.sqlite.schema import missing_columns, missing_parts, newest_version
from tacit.errors import StoreCorrupt, StoreError, TacitError
from tacit.model.memory import Memory
from tacit.model.session import SessionState
from tacit.model.trace import Trace
from tacit.ports.store import ProjectRecord, StoreStats
from tacit.system.files import set_mode, sync_folder

_MOST_PROBLEMS = 20
_STEP_PAGES = 1024
_OPERATIONS = 100_000
"""Instructions of SQLite's virtual machine between two checks for an interruption."""


def read_stats(connection: sqlite3.Connection, path: Path) -> StoreStats:
    """Return the store's counts and its size in bytes. Memories are counted per scope when they are written, so they are not counted here."""
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
        schema_version=newest_version(),
    )


def _count(connection: sqlite3.Connection, source: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {source}").fetchone()[0])


def no_progress(done: int, whole: int) -> None:
    """Do nothing with (steps done, steps in all): the default `progress`."""


class Damage(str):
    """A problem, as a sentence, that means that the file is damaged and must be replaced; other problems can be repaired in it."""

    __slots__ = ()


def _damaged(problem: str) -> Damage:
    return Damage(f"The file is damaged: {problem}")


Examination = Callable[[sqlite3.Connection], list[str]]
"""One step of the integrity check: returns sentences about what is wrong."""


def examinations() -> tuple[tuple[Examination, bool], ...]:
    """Return the steps of the whole integrity check, in order, each with whether it needs the writing connection, as the checks of the two text indexes do.

    The caller runs each in a transaction of its own, so that others can write between them.
    """
    return (
        (_damage, False),
        (_incomplete, False),
        (_unreadable, False),
        (partial(_disagreeing, "text_words"), True),
        (_lost_parents, False),
        *((partial(_miscounted, sql, sentence), False) for sql, sentence in _COUNTS),
        (partial(_disagreeing, "text_code"), True),
    )


def _damage(connection: sqlite3.Connection) -> list[str]:
    rows = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
    return [_damaged(problem) for (problem,) in rows if problem != "ok"]


def _incomplete(connection: sqlite3.Connection) -> list[str]:
    return [_damaged(problem) for problem in missing_parts(connection) or missing_columns(connection)]


def _unreadable(connection: sqlite3.Connection) -> list[str]:
    """Return problems for tables with rows whose JSON bodies cannot be decoded, because bytes in them were overwritten."""
    bad: list[str] = []
    for table, kind in BODIES.items():
        count = 0
        for (body,) in connection.execute(f"SELECT CAST(body AS BLOB) FROM {table}"):
            try:
                msgspec.json.decode(body, type=kind)
                str(body, "utf-8")  # of fields that it does not know the decoder reads no text
            except (msgspec.MsgspecError, TacitError, ValueError, TypeError):  # TypeError: NULL
                count += 1
        if count:
            bad.append(_damaged(f"{count} rows of {table} cannot be read"))
    return bad


BODIES: dict[str, type[object]] = {
    "memories": Memory, "versions": Memory, "sessions": SessionState, "traces": Trace, "projects": ProjectRecord,
}  # fmt: skip
"""What the JSON bodies of each table are."""


def _lost_parents(connection: sqlite3.Connection) -> list[str]:
    lost = connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_PROBLEMS)
    return [
        f"Row {row} of {table} names a row of {parent} that does not exist." for table, row, parent, _ in lost
    ]


def _disagreeing(index: str, connection: sqlite3.Connection) -> list[str]:
    try:
        connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return [_damaged(f"the text index {index} does not agree with its documents: {error}")]
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
        "{} vectors have the wrong length; `tacit doctor --reindex` renews them.",
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


class Interrupted(Exception):
    """The copy was stopped, because `interrupted` returned true."""


def never_interrupted() -> bool:
    """Return False: the default `interrupted`."""
    return False


def write_backup(
    connection: sqlite3.Connection,
    target: Path,
    *,
    interrupted: Callable[[], bool] = never_interrupted,
    progress: Callable[[int, int], None] = no_progress,
) -> bool:
    """Write a consistent, checked copy of the store to `target`, as a single file, or nothing. Return True, or False if it was interrupted.

    `progress` is called with (pages copied, pages).

    Raises:
        StoreCorrupt: what was copied is damaged.
        StoreError: if `target` exists or cannot be written.
    """
    if target.exists():
        raise StoreError(
            f"{target} exists already; a backup never replaces a file.", hint="Choose another name."
        )
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        copy_database(connection, partial, interrupted=interrupted, progress=progress)
        _examine_copy(partial, interrupted)
        # A hard link cannot replace a file that came to be in the meantime; a rename could.
        os.link(partial, target)
        sync_folder(target.parent)
    except Interrupted:
        return False
    except OSError as error:
        raise write_error(error, target) from error
    finally:
        remove_database(partial)
    return True


def _examine_copy(path: Path, interrupted: Callable[[], bool]) -> None:
    """Raise StoreCorrupt if the copy is damaged, so that it does not replace a sound backup; raise Interrupted if told to stop."""
    try:
        with closing(connect(path, read_only=True)) as copy:
            copy.set_progress_handler(lambda: int(interrupted()), _OPERATIONS)
            problems = _damage(copy) or [_damaged(part) for part in missing_parts(copy)]
            copy.set_progress_handler(None, 0)
    except sqlite3.OperationalError as error:
        if interrupted():
            raise Interrupted from error
        raise translate(error, path) from error
    except sqlite3.Error as error:
        raise translate(error, path) from error
    if problems:
        raise StoreCorrupt(problems[0], hint=DAMAGED_HINT)


def copy_database(
    connection: sqlite3.Connection,
    target: Path,
    *,
    interrupted: Callable[[], bool] = never_interrupted,
    progress: Callable[[int, int], None] = no_progress,
) -> None:
    """Copy the database that `connection` sees to `target`: one private file without a log beside it, synced to the device.

    The connection must be in a read transaction, so that writers do not make the copy start again.

    Raises:
        Interrupted: `interrupted` said so between two steps.
        StoreError: if it cannot be read or written.
    """

    def step(_status: int, left: int, whole: int) -> None:
        if interrupted():
            raise Interrupted
        progress(whole - left, whole)

    try:
        target.parent.stat()
        with closing(connect(target)) as copy:
            set_mode(target, 0o600)
            connection.backup(copy, pages=_STEP_PAGES, progress=step, sleep=0)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, target) from error


def remove_database(path: Path) -> None:
    """Delete a temporary database with its log and journal files; missing files and errors are ignored."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            Path(f"{path}{suffix}").unlink()
