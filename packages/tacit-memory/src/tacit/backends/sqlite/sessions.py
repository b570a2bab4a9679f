"""Session records, exposures and traces. In: a connection inside a transaction, values. Out: rows, or values.

Exposures and traces are kept when the live record goes: they are what statistics are made of. Never judges a session.

Handovers, projects and named values. In: a connection inside a transaction, values. Out: rows, or values.

A handover that is done keeps its key, so that it is not taken twice, and loses its payload.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tacit.backends.codec import clean_text, clean_value, decode, encode, json_list
from tacit.errors import NotFound
from tacit.model.pack import Surface
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import Handover, ProjectRecord, StoredExposure, TraceFilter, ValueChanges

_REMEMBERED_LEDGERS = 256
_REMEMBERED_RECORDS = 64


class Ledgers:
    """A cache of the ledgers that this process saved last, so that a save writes only new exposures. Thread-safe.

    It only saves time: exposures that are stored already are ignored when they are written again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._saved: OrderedDict[SessionKey, tuple[Exposure, ...]] = OrderedDict()

    def unsaved(self, state: SessionState) -> tuple[Exposure, ...]:
        """Return the exposures in the ledger of `state` that may not be stored yet; all of them if the cache does not know its beginning."""
        with self._lock:
            saved = self._saved.get(state.key, ())
        size = len(saved)
        return state.ledger[size:] if saved and state.ledger[:size] == saved else state.ledger

    def remember(self, state: SessionState) -> None:
        """Cache the ledger of `state` as stored. Call it after the commit."""
        with self._lock:
            self._saved[state.key] = state.ledger
            self._saved.move_to_end(state.key)
            while len(self._saved) > _REMEMBERED_LEDGERS:
                self._saved.popitem(last=False)


def load_session(connection: sqlite3.Connection, key: SessionKey) -> SessionState | None:
    """Return the stored record of a session, or None."""
    row = connection.execute(
        "SELECT body FROM sessions WHERE host = ? AND session_id = ?", _columns(key)
    ).fetchone()
    return None if row is None else decode(SessionState, row[0])


def save_session(
    connection: sqlite3.Connection, state: SessionState, body: str, exposures: tuple[Exposure, ...]
) -> None:
    """Write the session record, replacing the old one (`body` = its JSON), and insert those of `exposures` that are new."""
    key = _columns(state.key)
    connection.execute(
        "INSERT OR REPLACE INTO sessions (host, session_id, last_signal_at_ms, body) VALUES (?, ?, ?, ?)",
        (*key, state.last_signal_at_ms, body),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO exposures (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens,"
        " at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (*key, e.memory_id, e.content_hash, e.epoch, e.turn, e.surface.value, e.tokens, e.at_ms)
            for e in clean_value(exposures)
        ),
    )


def _columns(key: SessionKey) -> tuple[str, str]:
    return (clean_text(key.host), clean_text(key.session_id))


def delete_session(connection: sqlite3.Connection, key: SessionKey) -> None:
    """Delete the live record of a session; its traces and exposures stay for statistics."""
    connection.execute("DELETE FROM sessions WHERE host = ? AND session_id = ?", _columns(key))


def list_sessions(connection: sqlite3.Connection, limit: int) -> tuple[SessionState, ...]:
    """Return up to `limit` session records, the one with the newest signal first."""
    rows = connection.execute(
        "SELECT body FROM sessions ORDER BY last_signal_at_ms DESC, host, session_id LIMIT ?",
        (max(limit, 0),),
    )
    return tuple(_session_of(row[0]) for row in rows)


@lru_cache(maxsize=_REMEMBERED_RECORDS)
def _session_of(body: str) -> SessionState:
    """Return the session record decoded from its JSON. Cached by the text, because each prompt lists the newest records and few of them change."""
    return decode(SessionState, body)


TraceRow = tuple[str, str, str, int, str]


def trace_row(trace: Trace) -> TraceRow:
    """Return the columns of a trace for `put_trace`, so that it is encoded before the write lock is taken."""
    return (clean_text(trace.id), clean_text(trace.session), trace.surface.value, trace.at_ms, encode(trace))


def put_trace(connection: sqlite3.Connection, row: TraceRow) -> None:
    """Write a trace, replacing one with the same id; `row` is from `trace_row`."""
    connection.execute(
        "INSERT OR REPLACE INTO traces (id, session, surface, at_ms, body) VALUES (?, ?, ?, ?, ?)", row
    )


def list_traces(
    connection: sqlite3.Connection, *, session: str | None, surface: Surface | None, limit: int
) -> tuple[Trace, ...]:
    """Return up to `limit` traces of all sessions or one (`host/id`), and of all surfaces or one, newest first."""
    tests = ["1"]
    values: list[object] = []
    if session is not None:
        tests.append("session = ?")
        values.append(clean_text(session))
    if surface is not None:
        tests.append("surface = ?")
        values.append(surface.value)
    rows = connection.execute(
        f"SELECT body FROM traces WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, id DESC LIMIT ?",
        (*values, max(limit, 0)),
    )
    return tuple(decode(Trace, row[0]) for row in rows)


def find_traces(connection: sqlite3.Connection, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
    """Return up to `limit` traces that meet `where`, newest first (at_ms, then id)."""
    tests: list[str] = ["1"]
    values: list[object] = []

    def test(words: str, *parameters: object) -> None:
        tests.append(words)
        values.extend(parameters)

    if where.sessions is not None:
        test(
            "session IN (SELECT value FROM json_each(?))", json_list([clean_text(s) for s in where.sessions])
        )
    if where.surface is not None:
        test("surface = ?", where.surface.value)
    if where.injected is not None:
        test("(json_array_length(body, '$.injected') > 0) = ?", int(where.injected))
    if where.text is not None:
        test("text_holds(json_extract(body, '$.text'), ?)", clean_text(where.text).casefold())
    if where.memory_id is not None:
        test(
            "EXISTS (SELECT 1 FROM json_each(body, '$.candidates') WHERE json_extract(value, '$.memory_id') = ?)",
            clean_text(where.memory_id),
        )
    if where.since_ms is not None:
        test("at_ms >= ?", where.since_ms)
    if where.until_ms is not None:
        test("at_ms < ?", where.until_ms)
    if where.after is not None:
        test("(at_ms, id) < (?, ?)", where.after[0], clean_text(where.after[1]))
    rows = connection.execute(
        f"SELECT body FROM traces WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, id DESC LIMIT ?",
        (*values, max(limit, 0)),
    )
    return tuple(decode(Trace, row[0]) for row in rows)


def exposures(
    connection: sqlite3.Connection,
    *,
    session: SessionKey | None,
    memory_id: str | None,
    limit: int,
    offset: int,
) -> tuple[StoredExposure, ...]:
    """Return what was injected, newest first; of all sessions and memories, or of the given ones. Deleted sessions are included."""
    tests: list[str] = ["1"]
    values: list[object] = []
    if session is not None:
        tests.append("host = ? AND session_id = ?")
        values.extend(_columns(session))
    if memory_id is not None:
        tests.append("memory_id = ?")
        values.append(clean_text(memory_id))
    rows = connection.execute(
        "SELECT host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms FROM exposures"
        f" WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, host, session_id, memory_id, surface, content_hash, epoch,"
        " turn, tokens LIMIT ? OFFSET ?",
        (*values, max(limit, 0), max(offset, 0)),
    )
    return tuple(map(_exposure_of, rows))


def get_trace(connection: sqlite3.Connection, trace_id: str) -> Trace:
    """Return the trace with the id `trace_id`; raise NotFound if there is none."""
    row = connection.execute("SELECT body FROM traces WHERE id = ?", (clean_text(trace_id),)).fetchone()
    if row is None:
        raise NotFound(f"No trace {trace_id!r}.", hint="`tacit why` lists the newest.")
    return decode(Trace, row[0])


def prune_traces(connection: sqlite3.Connection, *, before_ms: int, keep: int) -> int:
    """Delete all traces older than `before_ms`, and all but the newest `keep`; return how many were deleted."""
    return connection.execute(
        "DELETE FROM traces WHERE at_ms < ?"
        " OR id NOT IN (SELECT id FROM traces ORDER BY at_ms DESC, id DESC LIMIT ?)",
        (before_ms, max(keep, 0)),
    ).rowcount


def _exposure_of(row: Sequence[Any]) -> StoredExposure:
    """Return the exposure that a row holds: (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms)."""
    return StoredExposure(
        session=SessionKey(host=row[0], session_id=row[1]),
        exposure=Exposure(
            memory_id=row[2],
            content_hash=row[3],
            epoch=row[4],
            turn=row[5],
            surface=Surface(row[6]),
            tokens=row[7],
            at_ms=row[8],
        ),
    )


def hand_over(connection: sqlite3.Connection, handover: Handover) -> bool:
    """Store a handover durably; return False, storing nothing, when its key is known already (pending or done)."""
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
    """Return up to `limit` handovers that wait for capture, oldest first."""
    rows = connection.execute(
        "SELECT key, host, session_id, payload, at_ms, attempts, error FROM handovers"
        " WHERE done_at_ms IS NULL ORDER BY at_ms, key LIMIT ?",
        (max(limit, 0),),
    )
    return tuple(map(_handover_of, rows))


def is_done(connection: sqlite3.Connection, key: str) -> bool:
    """Whether the handover with this key is done.

    Raises:
        NotFound: if the key is unknown.
    """
    row = connection.execute("SELECT done_at_ms FROM handovers WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise NotFound(f"No handover {key!r}.")
    return row[0] is not None


def mark_done(connection: sqlite3.Connection, key: str, now_ms: int) -> None:
    """Mark a handover as done at `now_ms`, and delete its payload and error."""
    connection.execute(
        "UPDATE handovers SET done_at_ms = ?, payload = '', error = '' WHERE key = ?", (now_ms, key)
    )


def mark_failed(connection: sqlite3.Connection, key: str, error: str) -> None:
    """Add one to a handover's attempts and store the error."""
    connection.execute(
        "UPDATE handovers SET attempts = attempts + 1, error = ? WHERE key = ?", (clean_text(error), key)
    )


def put_project(connection: sqlite3.Connection, project: ProjectRecord) -> None:
    """Write a project record, replacing the one with the same id."""
    connection.execute(
        "INSERT OR REPLACE INTO projects (id, body) VALUES (?, ?)", (clean_text(project.id), encode(project))
    )


def projects(connection: sqlite3.Connection) -> tuple[ProjectRecord, ...]:
    """Return all projects, sorted by id."""
    rows = connection.execute("SELECT body FROM projects ORDER BY id")
    return tuple(_project(row[0]) for row in rows)


@lru_cache(maxsize=512)
def _project(body: str) -> ProjectRecord:
    """Return the project record decoded from its JSON. Cached, because projects are read often and hardly ever change."""
    return decode(ProjectRecord, body)


def get_value(connection: sqlite3.Connection, name: str) -> str | None:
    """Return a named value, a small text such as a checkpoint or a counter, or None."""
    row = connection.execute("SELECT value FROM named_values WHERE name = ?", (clean_text(name),)).fetchone()
    return None if row is None else str(row[0])


def value_names(connection: sqlite3.Connection, prefix: str) -> tuple[str, ...]:
    """Return the names of all named values that begin with `prefix`, sorted."""
    rows = connection.execute(
        "SELECT name FROM named_values WHERE name >= ? AND substr(name, 1, ?) = ? ORDER BY name",
        (prefix, len(prefix), prefix),
    )
    return tuple(str(row[0]) for row in rows)


def put_values(connection: sqlite3.Connection, values: ValueChanges) -> None:
    """Store named values (name -> value); None deletes."""
    for name, value in values.items():
        if value is None:
            connection.execute("DELETE FROM named_values WHERE name = ?", (clean_text(name),))
        else:
            connection.execute(
                "INSERT OR REPLACE INTO named_values (name, value) VALUES (?, ?)",
                (clean_text(name), clean_text(value)),
            )


def _handover_of(row: Sequence[Any]) -> Handover:
    """Return the handover that a row holds: (key, host, session_id, payload, at_ms, attempts, error)."""
    return Handover(
        key=row[0],
        session=SessionKey(host=row[1], session_id=row[2]),
        payload=row[3],
        at_ms=row[4],
        attempts=row[5],
        error=row[6],
    )
