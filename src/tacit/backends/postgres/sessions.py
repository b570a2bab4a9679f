"""Session records, exposures and traces. In: a transaction, values. Out: rows, or values.

Exposures and traces stay when the record of a session is deleted, because statistics need them. Never judges a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tacit.backends.codec import decode, encode
from tacit.backends.rows import exposure_of
from tacit.backends.text import clean_text, clean_value
from tacit.errors import NotFound
from tacit.model.pack import Surface
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import StoredExposure, TraceFilter

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_REMEMBERED_RECORDS = 64

_LOAD = (
    "SELECT body FROM sessions WHERE tenant = %(tenant)s AND host = %(host)s AND session_id = %(session_id)s"
)
_SAVE = """
    INSERT INTO sessions (tenant, host, session_id, project_id, parent_host, parent_id, last_signal_at_ms, body)
    VALUES (%(tenant)s, %(host)s, %(session_id)s, %(project_id)s, %(parent_host)s, %(parent_id)s, %(last)s, %(body)s)
    ON CONFLICT (tenant, host, session_id) DO UPDATE SET project_id = excluded.project_id,
        parent_host = excluded.parent_host, parent_id = excluded.parent_id,
        last_signal_at_ms = excluded.last_signal_at_ms, body = excluded.body"""
_EXPOSE = """
    INSERT INTO exposures (tenant, host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)
    SELECT %(tenant)s, %(host)s, %(session_id)s, new.* FROM unnest(%(memory_ids)s::text[], %(hashes)s::text[],
        %(epochs)s::bigint[], %(turns)s::bigint[], %(surfaces)s::text[], %(tokens)s::bigint[], %(times)s::bigint[]) AS new
    ON CONFLICT DO NOTHING"""
_DELETE = "DELETE FROM sessions WHERE tenant = %(tenant)s AND host = %(host)s AND session_id = %(session_id)s"
_LIST = """
    SELECT body FROM sessions WHERE tenant = %(tenant)s
    ORDER BY last_signal_at_ms DESC, host, session_id LIMIT %(limit)s"""
_PUT_TRACE = """
    INSERT INTO traces (tenant, id, session, surface, at_ms, project_id, injected, seen, folded, body)
    VALUES (%(tenant)s, %(id)s, %(session)s, %(surface)s, %(at_ms)s, %(project_id)s, %(injected)s, %(seen)s, %(folded)s,
        %(body)s)
    ON CONFLICT (tenant, id) DO UPDATE SET session = excluded.session, surface = excluded.surface, at_ms = excluded.at_ms,
        project_id = excluded.project_id, injected = excluded.injected, seen = excluded.seen, folded = excluded.folded,
        body = excluded.body"""
_GET_TRACE = "SELECT body FROM traces WHERE tenant = %(tenant)s AND id = %(id)s"
_PRUNE = """
    DELETE FROM traces WHERE tenant = %(tenant)s AND (at_ms < %(before_ms)s OR id NOT IN
        (SELECT id FROM traces WHERE tenant = %(tenant)s ORDER BY at_ms DESC, id DESC LIMIT %(keep)s))"""


def session_columns(key: SessionKey) -> dict[str, object]:
    """Return the parameters of a statement that identify a session."""
    return {"host": clean_text(key.host), "session_id": clean_text(key.session_id)}


def load_session(transaction: Transaction, key: SessionKey) -> SessionState | None:
    """See the port."""
    row = transaction.row(_LOAD, session_columns(key))
    return None if row is None else decode(SessionState, row[0])


def save_session(transaction: Transaction, state: SessionState, body: str) -> None:
    """Replace the record of a session (`body` is its JSON), and add its new exposures."""
    key, parent = session_columns(state.key), state.parent
    transaction.execute(
        _SAVE,
        {
            **key,
            "project_id": clean_text(state.project_id),
            "parent_host": clean_text(parent.host) if parent else "",
            "parent_id": clean_text(parent.session_id) if parent else "",
            "last": state.last_signal_at_ms,
            "body": body,
        },
    )
    ledger = clean_value(state.ledger)
    if ledger:
        transaction.execute(
            _EXPOSE,
            {
                **key,
                "memory_ids": [exposure.memory_id for exposure in ledger],
                "hashes": [exposure.content_hash for exposure in ledger],
                "epochs": [exposure.epoch for exposure in ledger],
                "turns": [exposure.turn for exposure in ledger],
                "surfaces": [exposure.surface.value for exposure in ledger],
                "tokens": [exposure.tokens for exposure in ledger],
                "times": [exposure.at_ms for exposure in ledger],
            },
        )


def delete_session(transaction: Transaction, key: SessionKey) -> None:
    """See the port."""
    transaction.execute(_DELETE, session_columns(key))


def list_sessions(transaction: Transaction, limit: int) -> tuple[SessionState, ...]:
    """See the port."""
    return tuple(_session_of(row[0]) for row in transaction.rows(_LIST, {"limit": max(limit, 0)}))


@lru_cache(maxsize=_REMEMBERED_RECORDS)
def _session_of(body: str) -> SessionState:
    """Return the decoded record. It is cached: each prompt lists the newest records, and few of them have changed since the last prompt."""
    return decode(SessionState, body)


def trace_values(trace: Trace) -> dict[str, object]:
    """Return the column values of a trace. Call it before the transaction begins: encoding takes time."""
    return {
        "id": clean_text(trace.id),
        "session": clean_text(trace.session),
        "surface": trace.surface.value,
        "at_ms": trace.at_ms,
        "project_id": clean_text(trace.project_id),
        "injected": bool(trace.injected),
        "seen": [clean_text(candidate.memory_id) for candidate in trace.candidates],
        "folded": clean_text(clean_text(trace.text).casefold()),
        "body": encode(trace),
    }


def put_traces(transaction: Transaction, traces: Sequence[dict[str, object]]) -> None:
    """Store traces."""
    for values in traces:
        transaction.execute(_PUT_TRACE, values)


def list_traces(
    transaction: Transaction, *, session: str | None, surface: Surface | None, limit: int
) -> tuple[Trace, ...]:
    """See the port."""
    sessions = None if session is None else (session,)
    return find_traces(transaction, TraceFilter(sessions=sessions, surface=surface), limit=limit)


def find_traces(transaction: Transaction, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
    """See the port."""
    tests, values = ["tenant = %(tenant)s"], dict[str, object](limit=max(limit, 0))

    def test(words: str, **parameters: object) -> None:
        tests.append(words)
        values.update(parameters)

    if where.sessions is not None:
        test("session = ANY(%(sessions)s)", sessions=[clean_text(session) for session in where.sessions])
    if where.surface is not None:
        test("surface = %(surface)s", surface=where.surface.value)
    if where.injected is not None:
        test("injected = %(injected)s", injected=where.injected)
    if where.text is not None:
        test("strpos(folded, %(text)s) > 0", text=clean_text(clean_text(where.text).casefold()))
    if where.memory_id is not None:
        test("%(memory_id)s = ANY(seen)", memory_id=clean_text(where.memory_id))
    if where.since_ms is not None:
        test("at_ms >= %(since_ms)s", since_ms=where.since_ms)
    if where.until_ms is not None:
        test("at_ms < %(until_ms)s", until_ms=where.until_ms)
    if where.after is not None:
        test(
            "(at_ms, id) < (%(after_ms)s, %(after_id)s)",
            after_ms=where.after[0],
            after_id=clean_text(where.after[1]),
        )
    rows = transaction.rows(
        f"SELECT body FROM traces WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, id DESC LIMIT %(limit)s",
        values,
    )
    return tuple(decode(Trace, row[0]) for row in rows)


def exposures(
    transaction: Transaction, *, session: SessionKey | None, memory_id: str | None, limit: int, offset: int
) -> tuple[StoredExposure, ...]:
    """See the port."""
    tests, values = ["tenant = %(tenant)s"], dict[str, object](limit=max(limit, 0), offset=max(offset, 0))
    if session is not None:
        tests.append("host = %(host)s AND session_id = %(session_id)s")
        values |= session_columns(session)
    if memory_id is not None:
        tests.append("memory_id = %(memory_id)s")
        values["memory_id"] = clean_text(memory_id)
    rows = transaction.rows(
        "SELECT host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms FROM exposures"
        f" WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, host, session_id, memory_id, surface, content_hash, epoch,"
        " turn, tokens LIMIT %(limit)s OFFSET %(offset)s",
        values,
    )
    return tuple(map(exposure_of, rows))


def get_trace(transaction: Transaction, trace_id: str) -> Trace:
    """See the port."""
    row = transaction.row(_GET_TRACE, {"id": clean_text(trace_id)})
    if row is None:
        raise NotFound(f"No trace {trace_id!r}.", hint="`tacit why` lists the newest.")
    return decode(Trace, row[0])


def prune_traces(transaction: Transaction, *, before_ms: int, keep: int) -> int:
    """See the port."""
    return transaction.execute(_PRUNE, {"before_ms": before_ms, "keep": max(keep, 0)}).rowcount
