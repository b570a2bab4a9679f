"""Handovers, projects and named values. In: a transaction, values. Out: rows, or values.

A finished handover keeps its key, so that it is not accepted twice, and loses its payload.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tacit.backends.codec import decode, encode
from tacit.backends.postgres.sessions import session_columns
from tacit.backends.rows import handover_of
from tacit.backends.text import clean_text
from tacit.errors import NotFound
from tacit.ports.store import Handover, ProjectRecord, ValueChanges

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_HAND_OVER = """
    INSERT INTO handovers (tenant, key, host, session_id, payload, at_ms, attempts, error)
    VALUES (%(tenant)s, %(key)s, %(host)s, %(session_id)s, %(payload)s, %(at_ms)s, %(attempts)s, %(error)s)
    ON CONFLICT (tenant, key) DO NOTHING"""
_PENDING = """
    SELECT key, host, session_id, payload, at_ms, attempts, error FROM handovers
    WHERE tenant = %(tenant)s AND done_at_ms IS NULL ORDER BY at_ms, key LIMIT %(limit)s"""
_DONE_AT = "SELECT done_at_ms FROM handovers WHERE tenant = %(tenant)s AND key = %(key)s FOR UPDATE"
_FINISH = """
    UPDATE handovers SET done_at_ms = %(now_ms)s, payload = '', error = ''
    WHERE tenant = %(tenant)s AND key = %(key)s"""
_FAIL = """
    UPDATE handovers SET attempts = attempts + 1, error = %(error)s
    WHERE tenant = %(tenant)s AND key = %(key)s"""
_PUT_PROJECT = """
    INSERT INTO projects (tenant, id, body) VALUES (%(tenant)s, %(id)s, %(body)s)
    ON CONFLICT (tenant, id) DO UPDATE SET body = excluded.body"""
_PROJECTS = "SELECT body FROM projects WHERE tenant = %(tenant)s ORDER BY id"
_GET_VALUE = "SELECT value FROM named_values WHERE tenant = %(tenant)s AND name = %(name)s"
_VALUE_NAMES = """
    SELECT name FROM named_values
    WHERE tenant = %(tenant)s AND name >= %(prefix)s AND starts_with(name, %(prefix)s) ORDER BY name"""
_PUT_VALUES = """
    INSERT INTO named_values (tenant, name, value)
    SELECT %(tenant)s, name, value FROM unnest(%(names)s::text[], %(values)s::text[]) AS new (name, value)
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value"""
_FORGET_VALUES = "DELETE FROM named_values WHERE tenant = %(tenant)s AND name = ANY(%(names)s)"


def hand_over(transaction: Transaction, handover: Handover) -> bool:
    """See the port."""
    values = {
        **session_columns(handover.session),
        "key": clean_text(handover.key),
        "payload": clean_text(handover.payload),
        "at_ms": handover.at_ms,
        "attempts": handover.attempts,
        "error": clean_text(handover.error),
    }
    return transaction.execute(_HAND_OVER, values).rowcount == 1


def pending_handovers(transaction: Transaction, limit: int) -> tuple[Handover, ...]:
    """See the port."""
    return tuple(map(handover_of, transaction.rows(_PENDING, {"limit": max(limit, 0)})))


def is_done(transaction: Transaction, key: str) -> bool:
    """Return whether a handover is done. It is locked until the transaction ends, so nobody else finishes it.

    Raises:
        NotFound: the key is unknown.
    """
    row = transaction.row(_DONE_AT, {"key": key})
    if row is None:
        raise NotFound(f"No handover {key!r}.")
    return row[0] is not None


def mark_done(transaction: Transaction, key: str, now_ms: int) -> None:
    """Mark a handover done."""
    transaction.execute(_FINISH, {"key": key, "now_ms": now_ms})


def mark_failed(transaction: Transaction, key: str, error: str) -> None:
    """Count an attempt that failed."""
    transaction.execute(_FAIL, {"key": key, "error": clean_text(error)})


def put_project(transaction: Transaction, project: ProjectRecord) -> None:
    """See the port."""
    transaction.execute(_PUT_PROJECT, {"id": clean_text(project.id), "body": encode(project)})


def projects(transaction: Transaction) -> tuple[ProjectRecord, ...]:
    """See the port."""
    return tuple(_project(row[0]) for row in transaction.rows(_PROJECTS))


@lru_cache(maxsize=512)
def _project(body: str) -> ProjectRecord:
    """Return the decoded record. It is cached, because projects are read at every statement and hardly ever change."""
    return decode(ProjectRecord, body)


def get_value(transaction: Transaction, name: str) -> str | None:
    """See the port."""
    row = transaction.row(_GET_VALUE, {"name": clean_text(name)})
    return None if row is None else str(row[0])


def value_names(transaction: Transaction, prefix: str) -> tuple[str, ...]:
    """See the port."""
    return tuple(str(row[0]) for row in transaction.rows(_VALUE_NAMES, {"prefix": clean_text(prefix)}))


def put_values(transaction: Transaction, values: ValueChanges) -> None:
    """Set named values; None deletes a value."""
    kept = {clean_text(name): clean_text(value) for name, value in values.items() if value is not None}
    if kept:
        transaction.execute(_PUT_VALUES, {"names": list(kept), "values": list(kept.values())})
    if gone := [clean_text(name) for name, value in values.items() if value is None]:
        transaction.execute(_FORGET_VALUES, {"names": gone})
