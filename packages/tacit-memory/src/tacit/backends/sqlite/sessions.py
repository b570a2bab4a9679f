"""Sessions, traces, handovers, projects and named values in SQLite. In: calls of the `Store` port. Out: one transaction each.

Exposures and traces are kept when the live record goes: they are what statistics are made of. A handover that is done keeps its
key, so that it is not taken twice, and loses its payload. Never judges a session.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tacit.backends.codec import clean_text, clean_value, decode, encode, json_list
from tacit.backends.sqlite.connection import Database
from tacit.errors import NotFound
from tacit.model.pack import Surface
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import Handover, ProjectRecord, StoredExposure, TraceFilter, ValueChanges, ValueName

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


class SessionTables:
    """The part of `SqliteStore` that holds sessions, traces, handovers, projects and named values; see the protocols in `ports/store.py`."""

    _database: Database

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ledgers = Ledgers()

    def load_session(self, key: SessionKey) -> SessionState | None:
        """Return the stored record of a session, or None."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT body FROM sessions WHERE host = ? AND session_id = ?", _columns(key)
            ).fetchone()
            return None if row is None else decode(SessionState, row[0])

    def save_session(self, state: SessionState, *, traces: Sequence[Trace] = ()) -> None:
        """Write the session record in place of the old one, add its new exposures, and store `traces`, all in one transaction."""
        # Encoded before the write lock is taken.
        key, body, rows = _columns(state.key), encode(state), [_trace_row(trace) for trace in traces]
        exposures = clean_value(self._ledgers.unsaved(state))
        with self._database.write(durable=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO sessions (host, session_id, last_signal_at_ms, body) VALUES (?, ?, ?, ?)",
                (*key, state.last_signal_at_ms, body),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO exposures (host, session_id, memory_id, content_hash, epoch, turn, surface, tokens,"
                " at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (*key, e.memory_id, e.content_hash, e.epoch, e.turn, e.surface.value, e.tokens, e.at_ms)
                    for e in exposures
                ),
            )
            connection.executemany(_PUT_TRACE, rows)
        self._ledgers.remember(state)

    def delete_session(self, key: SessionKey) -> None:
        """Delete the live record of a session; its traces and exposures stay for statistics."""
        with self._database.write(durable=False) as connection:
            connection.execute("DELETE FROM sessions WHERE host = ? AND session_id = ?", _columns(key))

    def list_sessions(self, *, limit: int) -> tuple[SessionState, ...]:
        """Return up to `limit` session records, the one with the newest signal first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT body FROM sessions ORDER BY last_signal_at_ms DESC, host, session_id LIMIT ?",
                (max(limit, 0),),
            )
            return tuple(_session_of(row[0]) for row in rows)

    def list_traces(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 20
    ) -> tuple[Trace, ...]:
        """Return up to `limit` traces of all sessions or one (`host/id`), and of all surfaces or one, newest first."""
        sessions = None if session is None else (session,)
        return self.find_traces(TraceFilter(sessions=sessions, surface=surface), limit=limit)

    def find_traces(self, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
        """Return up to `limit` traces that meet `where`, newest first (at_ms, then id)."""
        tests: list[str] = ["1"]
        values: list[object] = []

        def test(words: str, *parameters: object) -> None:
            tests.append(words)
            values.extend(parameters)

        if where.sessions is not None:
            names = json_list([clean_text(s) for s in where.sessions])
            test("session IN (SELECT value FROM json_each(?))", names)
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
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT body FROM traces WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, id DESC LIMIT ?",
                (*values, max(limit, 0)),
            )
            return tuple(decode(Trace, row[0]) for row in rows)

    def exposures(
        self, *, session: SessionKey | None = None, memory_id: str | None = None, limit: int, offset: int = 0
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
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms FROM exposures"
                f" WHERE {' AND '.join(tests)} ORDER BY at_ms DESC, host, session_id, memory_id, surface, content_hash, epoch,"
                " turn, tokens LIMIT ? OFFSET ?",
                (*values, max(limit, 0), max(offset, 0)),
            )
            return tuple(map(_exposure_of, rows))

    def save_trace(self, trace: Trace) -> None:
        """Store the trace of a recall that belongs to no session (on demand)."""
        row = _trace_row(trace)
        with self._database.write(durable=False) as connection:
            connection.execute(_PUT_TRACE, row)

    def get_trace(self, trace_id: str) -> Trace:
        """Return the trace with the id `trace_id`; raise NotFound if there is none."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT body FROM traces WHERE id = ?", (clean_text(trace_id),)
            ).fetchone()
            if row is None:
                raise NotFound(f"No trace {trace_id!r}.", hint="`tacit why` lists the newest.")
            return decode(Trace, row[0])

    def prune_traces(self, *, before_ms: int, keep: int) -> int:
        """Delete all traces older than `before_ms`, and all but the newest `keep`; return how many were deleted."""
        with self._database.write(durable=False) as connection:
            return connection.execute(
                "DELETE FROM traces WHERE at_ms < ?"
                " OR id NOT IN (SELECT id FROM traces ORDER BY at_ms DESC, id DESC LIMIT ?)",
                (before_ms, max(keep, 0)),
            ).rowcount

    def hand_over(self, handover: Handover) -> bool:
        """Store a handover durably; return False, storing nothing, when its key is known already (pending or done)."""
        with self._database.write(durable=True) as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO handovers (key, host, session_id, payload, at_ms, attempts, error)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    clean_text(handover.key),
                    *_columns(handover.session),
                    clean_text(handover.payload),
                    handover.at_ms,
                    handover.attempts,
                    clean_text(handover.error),
                ),
            )
            return cursor.rowcount == 1

    def pending_handovers(self, *, limit: int) -> tuple[Handover, ...]:
        """Return up to `limit` handovers that wait for capture, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT key, host, session_id, payload, at_ms, attempts, error FROM handovers"
                " WHERE done_at_ms IS NULL ORDER BY at_ms, key LIMIT ?",
                (max(limit, 0),),
            )
            return tuple(map(_handover_of, rows))

    def put_project(self, project: ProjectRecord) -> None:
        """Write a project record, replacing the one with the same id."""
        with self._database.write(durable=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO projects (id, body) VALUES (?, ?)",
                (clean_text(project.id), encode(project)),
            )

    def projects(self) -> tuple[ProjectRecord, ...]:
        """Return all projects, sorted by id."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT body FROM projects ORDER BY id")
            return tuple(_project(row[0]) for row in rows)

    def get_value(self, name: ValueName) -> str | None:
        """Return the text of a named value, such as a checkpoint or a counter; None = nothing is stored under `name`."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT value FROM named_values WHERE name = ?", (clean_text(name),)
            ).fetchone()
        return None if row is None else str(row[0])

    def put_value(self, name: ValueName, value: str | None) -> None:
        """Store a named value; None deletes it."""
        with self._database.write(durable=False) as connection:
            put_values(connection, {name: value})

    def value_names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of all named values that begin with `prefix`, sorted."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT name FROM named_values WHERE name >= ? AND substr(name, 1, ?) = ? ORDER BY name",
                (prefix, len(prefix), prefix),
            )
            return tuple(str(row[0]) for row in rows)


def _columns(key: SessionKey) -> tuple[str, str]:
    return (clean_text(key.host), clean_text(key.session_id))


@lru_cache(maxsize=_REMEMBERED_RECORDS)
def _session_of(body: str) -> SessionState:
    """Return the session record decoded from its JSON. Cached by the text, because each prompt lists the newest records and few of them change."""
    return decode(SessionState, body)


_PUT_TRACE = "INSERT OR REPLACE INTO traces (id, session, surface, at_ms, body) VALUES (?, ?, ?, ?, ?)"


def _trace_row(trace: Trace) -> tuple[str, str, str, int, str]:
    """Return the parameters of `_PUT_TRACE`."""
    return (clean_text(trace.id), clean_text(trace.session), trace.surface.value, trace.at_ms, encode(trace))


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


@lru_cache(maxsize=512)
def _project(body: str) -> ProjectRecord:
    """Return the project record decoded from its JSON. Cached, because projects are read often and hardly ever change."""
    return decode(ProjectRecord, body)


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
