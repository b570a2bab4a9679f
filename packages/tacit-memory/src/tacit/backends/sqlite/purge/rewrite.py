"""Rewrites every text of a database. In: a connection inside a transaction, a function that cleans. Out: rows changed.

Derived rows (text indexes, entities, triggers) are made again from what is left, and the vector of changed words goes. Pages
that held the old words are overwritten, not only freed (`Database.compact` then makes the file anew). Never changes who or when. Looking
reads alone, and what it worked out is not worked out again while the writer is held.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from tacit.backends.codec import decode_memory, decode_reason, encode_reason
from tacit.backends.sqlite.documents import TEXT_INDEXES, index_memory
from tacit.backends.sqlite.purge.removal import RowRemoval
from tacit.backends.sqlite.writing import next_change
from tacit.model.changes import Removal
from tacit.safety.json_texts import cleaned_json
from tacit.state.registry import may_hold_words

CleanAt = Callable[[str, str], str]
"""Cleans a text that belongs to a scope (its name, "" = the user's own)."""

_BODIES = (("traces", "id", "body"), ("handovers", "key", "payload"), ("named_values", "name", "value"))
_TEXTS = (("handovers", "key", "error"),)
_MARK_BYTES = 16


class Cleaning:
    """The cleaned form of stored texts; remembered by a mark of each, so that a second look costs next to nothing."""

    def __init__(self, clean: CleanAt, gone: Removal | None = None) -> None:
        """Clean with `clean`, which always says the same of a text; `gone` goes out of the ledgers of sessions."""
        self.gone = gone
        self._clean = clean
        self._ids = frozenset(gone.memories if gone else ())
        self._same: set[bytes] = set()
        self._other: dict[bytes, str] = {}

    def body(self, body: str, scope: str = "") -> str:
        """A value's JSON without it."""
        return self._kept("body", body, scope, self._cleaned)

    def session(self, body: str, scope: str) -> str:
        """A session's record without it; an entry of the ledger holds a hash of what was said."""
        return self._kept("session", body, scope, self._of_session)

    def text(self, text: str, scope: str) -> str:
        """A text without it."""
        return self._kept("text", text, scope, self._clean)

    def holds(self, content: bytes) -> bool:
        """Whether these bytes of a damaged file hold it, as far as they are text."""
        text = content.decode("utf-8", "ignore")
        return any(name in text for name in self._ids) or self._clean(text, "") != text

    def _kept(self, form: str, text: str, scope: str, work: CleanAt) -> str:
        content = f"{form}\0{scope}\0{text}".encode("utf-8", "surrogatepass")
        mark = blake2b(content, digest_size=_MARK_BYTES).digest()
        if mark in self._same:
            return text
        after = self._other.get(mark)
        if after is None:
            after = work(text, scope)
            if after == text:
                self._same.add(mark)
            else:
                self._other[mark] = after
        return after

    def _cleaned(self, body: str, scope: str) -> str:
        return cleaned_json(body, lambda text: self._clean(text, scope))

    def _of_session(self, body: str, scope: str) -> str:
        value: dict[str, Any] = json.loads(body) if self._ids else {}
        ledger: list[dict[str, str]] = value.get("ledger") or []
        remaining = [entry for entry in ledger if entry["memory_id"] not in self._ids]
        if len(remaining) < len(ledger):
            body = json.dumps({**value, "ledger": remaining}, ensure_ascii=False, separators=(",", ":"))
        return self._cleaned(body, scope)


def rewrite_texts(connection: sqlite3.Connection, cleaning: Cleaning, *, dry_run: bool) -> Mapping[str, int]:
    """Remove what is gone and clean every text of every table; with `dry_run` only read, and count the rows that would change."""
    counts: Counter[str] = Counter()
    if not dry_run:
        connection.execute("PRAGMA secure_delete = ON")
    going = None
    if cleaning.gone is not None:
        going = RowRemoval(connection, cleaning.gone)
        (going.count if dry_run else going.remove)(connection, counts)
    rewriting = _Rewriting(connection, cleaning, going, counts, dry_run=dry_run)
    rewriting.memories()
    rewriting.versions()
    rewriting.sessions()
    for table, key, column in (*_BODIES, *_TEXTS):
        rewriting.texts(table, key, column)
    if counts["memories"] and not dry_run:
        connection.execute("DELETE FROM entities WHERE number NOT IN (SELECT entity FROM memory_entities)")
        for index in TEXT_INDEXES:  # merged terms are written anew, without what is gone
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    return {table: count for table, count in sorted(counts.items()) if count}


class _Rewriting:
    """Cleans what stays, table by table, and counts it; with `dry_run` only counts."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        cleaning: Cleaning,
        going: RowRemoval | None,
        counts: Counter[str],
        *,
        dry_run: bool,
    ) -> None:
        self._connection = connection
        self._cleaning = cleaning
        self._going = going
        self._found = counts
        self._dry_run = dry_run
        self._values = going.values if going else {}
        # With something gone the texts of notes alone are cleaned: what else says the same is another memory.
        self._concerned = "m.kind IN (SELECT value FROM json_each(:notes))" if going else "1"

    def _stays(self, table: str) -> str:
        return f"NOT {self._going.where[table]}" if self._going else "1"

    def _changes(self, table: str) -> bool:
        """Count a row that changes; whether to change it."""
        self._found[table] += 1
        return not self._dry_run

    def memories(self) -> None:
        """Bodies and what is made of them."""
        rows = self._connection.execute(
            "SELECT m.number, m.scope, s.name, m.body, m.source, m.use_count FROM memories AS m"
            f" JOIN scopes AS s ON s.number = m.scope WHERE {self._concerned} AND {self._stays('memories')}"
            " ORDER BY m.number",
            self._values,
        ).fetchall()
        change = 0
        for number, scope, name, body, source, uses in rows:
            after = self._cleaning.body(body, name)
            if after == body:
                continue
            source_after = self._cleaning.text(source, name)
            if self._changes("memories"):
                change = change or next_change(self._connection)
                self._put_memory(number, scope, change, (body, after, source_after, uses))

    def _put_memory(self, number: int, scope: int, change: int, row: tuple[str, str, str, int]) -> None:
        body, after, source, uses = row
        before, memory = decode_memory(body, uses), decode_memory(after, uses)
        execute = self._connection.execute
        # Readers keep what they decoded by its version: the newest one moves up, so that they all look again.
        execute(
            "UPDATE versions SET version = version + 1 WHERE memory = ? AND version ="
            " (SELECT version FROM memories WHERE number = ?)",
            (number, number),
        )
        execute(
            "UPDATE memories SET body = ?, source = ?, error_signature = ?, change = ?, version = version + 1 WHERE number = ?",
            (after, source, memory.error_signature, change, number),
        )
        execute("UPDATE scopes SET change = ? WHERE number = ?", (change, scope))
        index_memory(self._connection, number, scope, memory)
        if memory.content != before.content:
            execute("DELETE FROM vectors WHERE memory = ?", (number,))

    def versions(self) -> None:
        """The reason of a version may quote another memory, so it is cleaned whatever its own memory is."""
        rows = self._connection.execute(
            f"SELECT v.memory, v.version, s.name, v.body, v.reason, {self._concerned} FROM versions AS v"
            " JOIN scopes AS s ON s.number = v.scope JOIN memories AS m ON m.number = v.memory"
            f" WHERE {self._stays('versions')}",
            self._values,
        ).fetchall()
        for memory, version, name, body, reason, whole in rows:
            after = self._cleaning.body(body, name) if whole else body
            recorded = decode_reason(reason)
            cleaned = recorded.cleaned(lambda text, name=name: self._cleaning.text(text, name))
            why = reason if cleaned == recorded else encode_reason(cleaned)
            if (after, why) != (body, reason) and self._changes("versions"):
                self._connection.execute(
                    "UPDATE versions SET body = ?, reason = ? WHERE memory = ? AND version = ?",
                    (after, why, memory, version),
                )

    def sessions(self) -> None:
        """Records of sessions."""
        rows = self._connection.execute(
            "SELECT host, session_id, body, coalesce(json_extract(body, '$.project_id'), '') FROM sessions"
            f" WHERE {self._stays('sessions')}",
            self._values,
        ).fetchall()
        for host, session, body, project in rows:
            after = self._cleaning.session(body, f"project:{project}" if project else "")
            if after != body and self._changes("sessions"):
                self._connection.execute(
                    "UPDATE sessions SET body = ? WHERE host = ? AND session_id = ?", (after, host, session)
                )

    def texts(self, table: str, key: str, column: str) -> None:
        """A column of a table that belongs to no scope."""
        rows = self._connection.execute(
            f"SELECT {key}, {column} FROM {table} WHERE {self._stays(table)}", self._values
        ).fetchall()
        for name, text in rows:
            after = self._cleaning.body(text) if table != "named_values" or may_hold_words(name) else text
            if after != text and self._changes(table):
                self._connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (after, name))
