"""The log of purges, kept beside the store: a backup or damaged file that comes back must not bring back what was purged.

In: what a purge removes. Out: one JSON line a purge, with ids and names of values, no words; and a database without it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tacit.backends.codec import decode, json_list
from tacit.backends.sqlite.connection import connect, device_error, translate
from tacit.backends.sqlite.purge.rewrite import Cleaning, rewrite_texts
from tacit.model.changes import Removal
from tacit.model.memory import Memory
from tacit.safety.forgotten_words import ForgottenWords, words_to_forget
from tacit.system.files import open_handle


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPurge:
    """A purge: the time when it was made, and what it removed."""

    at_ms: int
    gone: Removal


_NEWEST = (
    "SELECT max(coalesce((SELECT max(recorded_at_ms) FROM versions), 0),"
    " coalesce((SELECT max(last_signal_at_ms) FROM sessions), 0), coalesce((SELECT max(at_ms) FROM traces), 0),"
    " coalesce((SELECT max(max(at_ms, coalesce(done_at_ms, 0))) FROM handovers), 0))"
)


def note_purge(path: Path, gone: Removal, *, at_ms: int) -> None:
    """Append a purge to the log `path`, durably, unless it is the one that was noted last.

    Raises:
        StoreError: if the log cannot be written.
    """
    logged = read_purges(path)
    if logged and logged[-1].gone == gone:
        return
    line = msgspec.json.encode(LoggedPurge(at_ms=at_ms, gone=gone)) + b"\n"
    try:
        handle = open_handle(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, follow=False)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise device_error(error, path) from error


def read_purges(path: Path) -> tuple[LoggedPurge, ...]:
    """The purges that were noted, oldest first; a line that cannot be read is passed over."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return ()
    purges: list[LoggedPurge] = []
    for line in lines:
        with suppress(msgspec.MsgspecError, ValueError):
            purges.append(msgspec.json.decode(line, type=LoggedPurge))
    return tuple(purges)


def apply_purges(path: Path, purges: Sequence[LoggedPurge]) -> int:
    """Remove from the database `path`, which nobody has open, what was purged; returns how many rows changed.

    Ids of memories never come back, so memories go in any case. Sessions, projects and values may have begun anew under their old
    names: they go where the whole file is older than the purge.

    Raises:
        StoreError: if the file cannot be written.
    """
    if not purges:
        return 0
    try:
        with closing(connect(path)) as connection:
            newest = int(connection.execute(_NEWEST).fetchone()[0])
            later = [purge.gone for purge in purges if purge.at_ms >= newest]
            gone = Removal(
                memories=tuple(sorted({name for purge in purges for name in purge.gone.memories})),
                sessions=tuple(dict.fromkeys(key for removal in later for key in removal.sessions)),
                projects=tuple(sorted({name for removal in later for name in removal.projects})),
                values=tuple(sorted({name for removal in later for name in removal.values})),
            )
            words = ForgottenWords(words_to_forget(_versions(connection, gone.memories)))
            cleaning = Cleaning(lambda text, _scope: words.without(text), gone)
            connection.execute("BEGIN IMMEDIATE")
            counts = rewrite_texts(connection, cleaning, dry_run=False)
            connection.execute("COMMIT")
            if counts:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return sum(counts.values())


def _versions(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Memory]:
    rows = connection.execute(
        "SELECT body FROM memories WHERE id IN (SELECT value FROM json_each(:ids)) UNION SELECT v.body FROM versions AS v"
        " JOIN memories AS m ON m.number = v.memory WHERE m.id IN (SELECT value FROM json_each(:ids))",
        {"ids": json_list(list(ids))},
    ).fetchall()
    return [decode(Memory, body) for (body,) in rows]
