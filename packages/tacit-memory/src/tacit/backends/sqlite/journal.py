"""Handovers, projects and named values. In: a connection inside a transaction, values. Out: rows, or values.

A handover that is done keeps its key, so that it is not taken twice, and loses its payload.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tacit.backends.codec import decode, encode
from tacit.backends.text import clean_text
from tacit.errors import NotFound
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, ProjectRecord, ValueChanges


def hand_over(connection: sqlite3.Connection, handover: Handover) -> bool:
    """See the port."""
    cursor = connection.execute(
        "INSERT OR IGNORE INTO handovers (key, host, session_id, payload, at_ms, attempts, error)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            clean_text(handover.key),
            clean_text(handover.session.host),
            clean_text(handover.session.session_id),
            clean_text(handover.payload),
            handover.at_ms,
            handover.attempts,
            clean_text(handover.error),
        ),
    )
    return cursor.rowcount == 1


def pending_handovers(connection: sqlite3.Connection, limit: int) -> tuple[Handover, ...]:
    """See the port."""
    rows = connection.execute(
        "SELECT key, host, session_id, payload, at_ms, attempts, error FROM handovers"
        " WHERE done_at_ms IS NULL ORDER BY at_ms, key LIMIT ?",
        (max(limit, 0),),
    )
    return tuple(map(_handover_of, rows))


def is_done(connection: sqlite3.Connection, key: str) -> bool:
    """Whether the handover is done.

    Raises:
        NotFound: if the key is unknown.
    """
    row = connection.execute("SELECT done_at_ms FROM handovers WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise NotFound(f"No handover {key!r}.")
    return row[0] is not None


def mark_done(connection: sqlite3.Connection, key: str, now_ms: int) -> None:
    """Mark a handover done."""
    connection.execute(
        "UPDATE handovers SET done_at_ms = ?, payload = '', error = '' WHERE key = ?", (now_ms, key)
    )


def mark_failed(connection: sqlite3.Connection, key: str, error: str) -> None:
    """Count an attempt that failed."""
    connection.execute(
        "UPDATE handovers SET attempts = attempts + 1, error = ? WHERE key = ?", (clean_text(error), key)
    )


def put_project(connection: sqlite3.Connection, project: ProjectRecord) -> None:
    """See the port."""
    connection.execute(
        "INSERT OR REPLACE INTO projects (id, body) VALUES (?, ?)", (clean_text(project.id), encode(project))
    )


def projects(connection: sqlite3.Connection) -> tuple[ProjectRecord, ...]:
    """See the port."""
    rows = connection.execute("SELECT body FROM projects ORDER BY id")
    return tuple(_project(row[0]) for row in rows)


@lru_cache(maxsize=512)
def _project(body: str) -> ProjectRecord:
    """A record as it was decoded before: projects are asked for at every statement and hardly ever change."""
    return decode(ProjectRecord, body)


def get_value(connection: sqlite3.Connection, name: str) -> str | None:
    """See the port."""
    row = connection.execute("SELECT value FROM named_values WHERE name = ?", (clean_text(name),)).fetchone()
    return None if row is None else str(row[0])


def value_names(connection: sqlite3.Connection, prefix: str) -> tuple[str, ...]:
    """See the port."""
    rows = connection.execute(
        "SELECT name FROM named_values WHERE name >= ? AND substr(name, 1, ?) = ? ORDER BY name",
        (prefix, len(prefix), prefix),
    )
    return tuple(str(row[0]) for row in rows)


def put_values(connection: sqlite3.Connection, values: ValueChanges) -> None:
    """Set named values; None deletes."""
    for name, value in values.items():
        if value is None:
            connection.execute("DELETE FROM named_values WHERE name = ?", (clean_text(name),))
        else:
            connection.execute(
                "INSERT OR REPLACE INTO named_values (name, value) VALUES (?, ?)",
                (clean_text(name), clean_text(value)),
            )


def _handover_of(row: Sequence[Any]) -> Handover:
    """A handover from (key, host, session_id, payload, at_ms, attempts, error)."""
    return Handover(
        key=row[0],
        session=SessionKey(host=row[1], session_id=row[2]),
        payload=row[3],
        at_ms=row[4],
        attempts=row[5],
        error=row[6],
    )
