"""Rewrites every text of a tenant. In: a transaction, a function that cleans texts, what to remove. Out: number of changed rows, by table.

The search data is derived again from the remaining texts, and vectors of changed words are removed. Never changes authors or times. A dry run only reads; its
results are reused by the run that writes, so that other writers wait less. Old versions of rows stay on the server's disk until the next vacuum, and in its
write-ahead log and backups as long as the operator keeps them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from tacit.backends.codec import decode, decode_reason, encode_reason
from tacit.backends.postgres.sessions import put_traces, trace_values
from tacit.backends.postgres.writing import next_change, remove_memories, rewrite_memories
from tacit.backends.rows import removed_sessions
from tacit.backends.text import clean_text
from tacit.model.changes import Removal
from tacit.model.memory import Memory
from tacit.model.session import SessionKey
from tacit.model.trace import Trace
from tacit.safety.json_texts import cleaned_json
from tacit.state.registry import may_hold_words

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

CleanAt = Callable[[str, str], str]
"""Cleans a text that belongs to a scope (its name, "" = the user's own)."""

_OWN = "tenant = %(tenant)s"
_NUMBERS = f"SELECT number FROM memories WHERE {_OWN} AND id = ANY(%(ids)s)"
_SESSIONS = (
    "SELECT host, session_id, project_id, parent_host, parent_id FROM sessions WHERE tenant = %(tenant)s"
)
_IN_SESSIONS = "(host, session_id) IN (SELECT * FROM unnest(%(hosts)s::text[], %(session_ids)s::text[]))"
_OF_PROJECTS = """(project_id = ANY(%(projects)s) OR (cardinality(%(projects)s::text[]) > 0 AND project_id = ''
    AND cardinality(seen) > 0 AND seen <@ %(ids)s::text[] AND NOT EXISTS (SELECT 1 FROM sessions AS s
        WHERE s.tenant = %(tenant)s AND s.host || '/' || s.session_id = traces.session)))"""
"""Traces of a project: those that name it, and of those that name none and belong to no session those that saw its memories alone."""
_GONE = {
    "traces": f"traces.tenant = %(tenant)s AND (session = ANY(%(keys)s) OR {_OF_PROJECTS})",
    "sessions": f"tenant = %(tenant)s AND {_IN_SESSIONS}",
    "handovers": f"tenant = %(tenant)s AND {_IN_SESSIONS}",
    "exposures": f"tenant = %(tenant)s AND ({_IN_SESSIONS} OR memory_id = ANY(%(ids)s))",
    "projects": "tenant = %(tenant)s AND id = ANY(%(projects)s)",
    "named_values": "tenant = %(tenant)s AND name = ANY(%(named)s)",
    "relations": "tenant = %(tenant)s AND (source = ANY(%(numbers)s) OR target = ANY(%(numbers)s))",
    "versions": f"{_OWN} AND number = ANY(%(numbers)s)",
    "memories": f"{_OWN} AND number = ANY(%(numbers)s)",
}
"""What goes, table by table; memories last."""
_NOTE_PURGE = """
    INSERT INTO purges (tenant, id, at_ms, told)
    SELECT %(tenant)s, id, %(now_ms)s, %(before)s + place FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS gone (id, place)
    ON CONFLICT (tenant, id) DO NOTHING"""
_PURGED = "SELECT id FROM purges WHERE tenant = %(tenant)s"

_MEMORIES = """
    SELECT m.id, s.name, m.body FROM memories AS m
    JOIN scopes AS s ON s.tenant = %(tenant)s AND s.scope = m.scope
    WHERE m.tenant = %(tenant)s AND (%(all)s OR m.kind = ANY(%(notes)s))
        AND NOT m.number = ANY(%(numbers)s) ORDER BY m.number"""
_VERSIONS = """
    SELECT v.number, v.version, s.name, v.body, v.reason, %(all)s OR m.kind = ANY(%(notes)s) FROM versions AS v
    JOIN scopes AS s ON s.tenant = %(tenant)s AND s.scope = v.scope
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = v.number
    WHERE v.tenant = %(tenant)s AND NOT v.number = ANY(%(numbers)s)"""
_PUT_VERSION = f"""
    UPDATE versions SET body = %(body)s, reason = %(reason)s, told = %(told)s
    WHERE {_OWN} AND number = %(number)s AND version = %(version)s"""
_SESSION_BODIES = (
    "SELECT host, session_id, project_id, body FROM sessions WHERE tenant = %(tenant)s AND NOT ({gone})"
)
_PUT_SESSION = """
    UPDATE sessions SET body = %(body)s
    WHERE tenant = %(tenant)s AND host = %(host)s AND session_id = %(session_id)s"""
_TRACES = "SELECT body FROM traces WHERE tenant = %(tenant)s AND NOT ({gone})"
_HANDOVERS = "SELECT key, payload, error FROM handovers WHERE tenant = %(tenant)s AND NOT ({gone})"
_PUT_HANDOVER = """
    UPDATE handovers SET payload = %(payload)s, error = %(error)s WHERE tenant = %(tenant)s AND key = %(key)s"""
_VALUES = "SELECT name, value FROM named_values WHERE tenant = %(tenant)s AND NOT ({gone})"
_PUT_VALUE = "UPDATE named_values SET value = %(value)s WHERE tenant = %(tenant)s AND name = %(name)s"


class Cleaning:
    """Cleans stored texts. Results are cached by a hash of the text, so that a second run costs next to nothing."""

    def __init__(self, clean: CleanAt, gone: Removal | None) -> None:
        """Clean texts with `clean`, which must always return the same result for a text. The memories `gone` are also removed from the ledgers of sessions."""
        self.gone = gone
        self._clean = clean
        self._ids = frozenset(map(clean_text, gone.memories if gone else ()))
        self._known: dict[bytes, str | None] = {}

    def body(self, body: str, scope: str = "") -> str:
        """Return the cleaned form of a value in JSON."""
        return self._remembered(
            body, scope, lambda: cleaned_json(body, lambda text: self._clean(text, scope))
        )

    def session(self, body: str, scope: str) -> str:
        """Return the cleaned form of a session record. Entries of its ledger hold a hash of what was said."""
        value: dict[str, Any] = json.loads(body) if self._ids else {}
        ledger: list[dict[str, str]] = value.get("ledger") or []
        remaining = [entry for entry in ledger if entry["memory_id"] not in self._ids]
        if len(remaining) < len(ledger):
            body = json.dumps({**value, "ledger": remaining}, ensure_ascii=False, separators=(",", ":"))
        return self.body(body, scope)

    def text(self, text: str, scope: str) -> str:
        """Return the cleaned form of a text."""
        return self._clean(text, scope)

    def _remembered(self, text: str, scope: str, work: Callable[[], str]) -> str:
        mark = blake2b(f"{scope}\0{text}".encode(), digest_size=16).digest()
        if mark not in self._known:
            after = work()
            self._known[mark] = None if after == text else after
        after = self._known[mark]
        return text if after is None else after


def rewrite_texts(
    transaction: Transaction, cleaning: Cleaning, *, dry_run: bool, now_ms: int
) -> Mapping[str, int]:
    """Delete the given rows and clean every text. Return the number of changed rows by table. `dry_run` = only count the rows that would change."""
    rewriting = _Rewriting(transaction, cleaning, dry_run=dry_run)
    if cleaning.gone is not None:
        rewriting.remove(now_ms)
    rewriting.memories()
    rewriting.versions()
    rewriting.sessions()
    rewriting.traces()
    rewriting.handovers()
    rewriting.named_values()
    return {table: count for table, count in sorted(rewriting.counts.items()) if count}


def purged_memories(transaction: Transaction) -> frozenset[str]:
    """See the port."""
    return frozenset(str(row[0]) for row in transaction.rows(_PURGED))


class _Rewriting:
    """Cleans one table after another, and counts the changed rows. With `dry_run` it only counts."""

    def __init__(self, transaction: Transaction, cleaning: Cleaning, *, dry_run: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._transaction = transaction
        self._cleaning = cleaning
        self._dry_run = dry_run
        gone = cleaning.gone or Removal()
        self._ids = sorted(set(map(clean_text, gone.memories)))
        keys = _sessions_of(transaction, gone)
        self._values: dict[str, object] = {
            "ids": self._ids,
            "hosts": [clean_text(key.host) for key in keys],
            "session_ids": [clean_text(key.session_id) for key in keys],
            "keys": [clean_text(str(key)) for key in keys],
            "projects": [clean_text(name) for name in gone.projects],
            "named": [clean_text(name) for name in gone.values],
            "notes": list(gone.notes),
            # With something gone the texts of notes alone are cleaned: what else says the same is another memory.
            "all": cleaning.gone is None,
        }
        self._values["numbers"] = [row[0] for row in transaction.rows(_NUMBERS, self._values)]

    def _stays(self, statement: str, table: str) -> list[tuple[Any, ...]]:
        return self._transaction.rows(statement.format(gone=_GONE[table]), self._values)

    def _changes(self, table: str) -> bool:
        """Count a row that changes. Return whether to change it."""
        self.counts[table] += 1
        return not self._dry_run

    def remove(self, now_ms: int) -> None:
        """Delete the given rows, or count them."""
        for table, condition in _GONE.items():
            count = self._transaction.number(f"SELECT count(*) FROM {table} WHERE {condition}", self._values)
            self.counts[table] += count
            if count and not self._dry_run and table != "memories":
                self._transaction.execute(f"DELETE FROM {table} WHERE {condition}", self._values)
        if not self._dry_run:
            remove_memories(self._transaction, self._ids)
            before = next_change(self._transaction, len(self._ids)) - len(self._ids)
            values = {"ids": self._ids, "now_ms": now_ms, "before": before}
            self._transaction.execute(_NOTE_PURGE, values)

    def memories(self) -> None:
        """Clean the bodies of memories, and derive their search data again."""
        after: dict[str, Memory] = {}
        for name, scope, body in self._transaction.rows(_MEMORIES, self._values):
            cleaned = self._cleaning.body(body, scope)
            if cleaned != body and self._changes("memories"):
                after[name] = decode(Memory, cleaned)
        if after:
            rewrite_memories(self._transaction, after, next_change(self._transaction))

    def versions(self) -> None:
        """Clean all versions. The reason of a version may quote another memory, so every reason is cleaned."""
        for number, version, scope, body, reason, whole in self._transaction.rows(_VERSIONS, self._values):
            after = self._cleaning.body(body, scope) if whole else body
            recorded = decode_reason(reason)
            cleaned = recorded.cleaned(lambda text, scope=scope: self._cleaning.text(text, scope))
            why = reason if cleaned == recorded else encode_reason(cleaned)
            if (after, why) != (body, reason) and self._changes("versions"):
                values = {"body": after, "reason": why, "number": number, "version": version}
                values["told"] = next_change(self._transaction)
                self._transaction.execute(_PUT_VERSION, values)

    def sessions(self) -> None:
        """Clean the records of sessions."""
        for host, session_id, project, body in self._stays(_SESSION_BODIES, "sessions"):
            after = self._cleaning.session(body, f"project:{project}" if project else "")
            if after != body and self._changes("sessions"):
                values = {"body": after, "host": host, "session_id": session_id}
                self._transaction.execute(_PUT_SESSION, values)

    def traces(self) -> None:
        """Clean the traces."""
        for (body,) in self._stays(_TRACES, "traces"):
            after = self._cleaning.body(body)
            if after != body and self._changes("traces"):
                put_traces(self._transaction, [trace_values(decode(Trace, after))])

    def handovers(self) -> None:
        """Clean the transcripts that wait, and their error messages."""
        for key, payload, error in self._stays(_HANDOVERS, "handovers"):
            after = (self._cleaning.body(payload), self._cleaning.text(error, ""))
            if after != (payload, error) and self._changes("handovers"):
                values = {"key": key, "payload": after[0], "error": after[1]}
                self._transaction.execute(_PUT_HANDOVER, values)

    def named_values(self) -> None:
        """Clean the named values that may hold words."""
        for name, value in self._stays(_VALUES, "named_values"):
            after = self._cleaning.body(value) if may_hold_words(name) else value
            if after != value and self._changes("named_values"):
                self._transaction.execute(_PUT_VALUE, {"name": name, "value": after})


def _sessions_of(transaction: Transaction, gone: Removal) -> tuple[SessionKey, ...]:
    if not (gone.sessions or gone.projects):
        return ()
    rows = transaction.rows(f"{_SESSIONS} ORDER BY host, session_id")
    return removed_sessions(rows, gone)
