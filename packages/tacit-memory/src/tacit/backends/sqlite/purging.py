"""Removes rows for good. In: a connection inside a transaction, what is to be gone. Out: how many rows, by table.

What hangs on a memory goes with it; the counts of its scope follow, and readers are told that something left it, so that they make
what they derived anew. Never begins or ends a transaction; cleans no text (`rewrite_texts` does).

Rewrites every text of a database. In: a connection inside a transaction, a function that cleans. Out: rows changed.

Derived rows (text indexes, entities, triggers) are made again from what is left, and the vector of changed words goes. Pages
that held the old words are overwritten, not only freed (`Database.compact` then makes the file anew). Never changes who or when. Looking
reads alone, and what it worked out is not worked out again while the writer is held.

The log of purges, kept beside the store: a backup or damaged file that comes back must not bring back what was purged.

In: what a purge removes. Out: one JSON line a purge, with ids and names of values, no words; and a database without it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from tacit.backends.codec import clean_text, decode, decode_memory, decode_reason, encode_reason, json_list
from tacit.backends.sqlite.connection import connect, translate, write_error
from tacit.backends.sqlite.writing import TEXT_INDEXES, index_memory, next_change
from tacit.errors import StoreError
from tacit.frozen import frozen
from tacit.model.changes import Removal
from tacit.model.memory import Memory
from tacit.model.session import SessionKey
from tacit.safety.forgotten_words import ForgottenWords, words_to_forget
from tacit.safety.json_texts import cleaned_json
from tacit.session.transitions import with_descendants
from tacit.state.registry import may_hold_words
from tacit.system.files import open_handle

_OF_MEMORY = ("documents", "memory_entities", "intents", "vectors")
_NUMBERS = "(SELECT number FROM memories WHERE id IN (SELECT value FROM json_each(:ids)))"
_IN_SESSIONS = "(host, session_id) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:sessions))"
_PROJECT = "coalesce(json_extract(body, '$.project_id'), '')"
_OF_PROJECTS = f"""
    OR {_PROJECT} IN (SELECT value FROM json_each(:projects))
    OR ({_PROJECT} = '' AND session NOT IN (SELECT host || '/' || session_id FROM sessions)
        AND json_array_length(body, '$.candidates') > 0
        AND NOT EXISTS (SELECT 1 FROM json_each(body, '$.candidates') AS seen
            WHERE json_extract(seen.value, '$.memory_id') NOT IN (SELECT value FROM json_each(:ids))))"""
"""Condition for the traces of a project: those that name it, and those without project and session whose candidates are all removed memories."""


class RowRemoval:
    """The rows of one database that a `Removal` removes.

    Attributes:
        where: by table, the SQL condition that such a row meets; its parameters are `values`. Other tables keep their rows.
        values: the parameters by name.
        ids: ids of the removed memories.
        notes: see `Removal`.
    """

    def __init__(self, connection: sqlite3.Connection, gone: Removal) -> None:
        """Look up which sessions `gone` means in this file: a backup may hold sessions that the store no longer has."""
        keys = _sessions_of(connection, gone)
        self.ids = frozenset(map(clean_text, gone.memories))
        self.notes = gone.notes
        self.values = {
            "ids": json_list(sorted(self.ids)),
            "sessions": json.dumps([(clean_text(key.host), clean_text(key.session_id)) for key in keys]),
            "keys": _names(map(str, keys)),
            "projects": _names(gone.projects),
            "named": _names(gone.values),
            "notes": json_list(gone.notes),
        }
        of_projects = _OF_PROJECTS if gone.projects else ""
        self.where = {
            "traces": f"(session IN (SELECT value FROM json_each(:keys)) {of_projects})",
            "sessions": f"({_IN_SESSIONS})",
            "handovers": f"({_IN_SESSIONS})",
            "exposures": f"({_IN_SESSIONS} OR memory_id IN (SELECT value FROM json_each(:ids)))",
            "projects": "(id IN (SELECT value FROM json_each(:projects)))",
            "named_values": "(name IN (SELECT value FROM json_each(:named)))",
            "relations": f"(source IN {_NUMBERS} OR target IN {_NUMBERS})",
            "versions": f"(memory IN {_NUMBERS})",
            "memories": "(id IN (SELECT value FROM json_each(:ids)))",
        }

    def count(self, connection: sqlite3.Connection, counts: Counter[str]) -> None:
        """Add to `counts` the number of rows that would be removed, by table; remove nothing."""
        for table, condition in self.where.items():
            sql = f"SELECT count(*) FROM {table} WHERE {condition}"
            counts[table] += connection.execute(sql, self.values).fetchone()[0]

    def remove(self, connection: sqlite3.Connection, counts: Counter[str]) -> None:
        """Delete the rows, add their numbers to `counts` by table, and correct the counts of their scopes."""
        rows = connection.execute(
            f"SELECT scope, status FROM memories WHERE {self.where['memories']}", self.values
        ).fetchall()
        for table in _OF_MEMORY:
            connection.execute(f"DELETE FROM {table} WHERE memory IN {_NUMBERS}", self.values)
        for table, condition in self.where.items():
            counts[table] += connection.execute(
                f"DELETE FROM {table} WHERE {condition}", self.values
            ).rowcount
        if rows:
            _mark_scopes_changed(connection, rows)


def _mark_scopes_changed(connection: sqlite3.Connection, rows: list[tuple[int, str]]) -> None:
    change = next_change(connection)
    active = Counter(scope for scope, status in rows if status == "active")
    for scope, total in Counter(scope for scope, _ in rows).items():
        connection.execute(
            "UPDATE scopes SET total = total - ?, active = active - ?, change = ?, moved = ? WHERE number = ?",
            (total, active[scope], change, change, scope),
        )


def _sessions_of(connection: sqlite3.Connection, gone: Removal) -> tuple[SessionKey, ...]:
    if not (gone.sessions or gone.projects):
        return ()
    rows = connection.execute(
        f"SELECT host, session_id, {_PROJECT}, json_extract(body, '$.parent.host'),"
        " json_extract(body, '$.parent.session_id') FROM sessions ORDER BY host, session_id"
    ).fetchall()
    return _removed_sessions(rows, gone)


def _names(names: Iterable[str]) -> str:
    return json_list([clean_text(name) for name in names])


def _removed_sessions(rows: Iterable[Sequence[Any]], gone: Removal) -> tuple[SessionKey, ...]:
    """Return the sessions that `gone` removes: those it names, those of its projects, and all that descend from them.

    Args:
        rows: (host, session_id, project_id, parent's host, parent's session_id) of every session.
        gone: what is removed.
    """
    parents: dict[SessionKey, SessionKey | None] = {}
    of_projects: list[SessionKey] = []
    for host, name, project, parent_host, parent_name in rows:
        key = SessionKey(host=host, session_id=name)
        parents[key] = SessionKey(host=parent_host, session_id=parent_name) if parent_name else None
        if project in gone.projects:
            of_projects.append(key)
    return with_descendants((*gone.sessions, *of_projects), parents)


CleanInScope = Callable[[str, str], str]
"""A function that returns the cleaned form of a text. Its second argument is the name of the text's scope, "" = the user's own."""

_BODIES = (("traces", "id", "body"), ("handovers", "key", "payload"), ("named_values", "name", "value"))
_TEXTS = (("handovers", "key", "error"),)
_MARK_BYTES = 16


class Cleaning:
    """Cleans stored texts, and remembers the result of each by its hash, so that a second pass is cheap."""

    def __init__(self, clean: CleanInScope, gone: Removal | None = None) -> None:
        """Clean with `clean`, which must be deterministic. The memories of `gone` are also removed from the ledgers of sessions."""
        self.gone = gone
        self._clean = clean
        self._ids = frozenset(gone.memories if gone else ())
        self._same: set[bytes] = set()
        self._other: dict[bytes, str] = {}

    def json_text(self, body: str, scope: str = "") -> str:
        """Return a JSON text with `clean` applied to every text in it; one that is not JSON is cleaned as a whole. `scope` = name of its scope, "" = the user's own."""
        return self._kept("body", body, scope, self._cleaned)

    def session(self, body: str, scope: str) -> str:
        """Return a session's record (JSON) with its texts cleaned, and without ledger entries of removed memories, which hold their hashes."""
        return self._kept("session", body, scope, self._of_session)

    def text(self, text: str, scope: str) -> str:
        """Return a plain text cleaned."""
        return self._kept("text", text, scope, self._clean)

    def holds(self, content: bytes) -> bool:
        """Whether these bytes, read as text, contain the id of a removed memory or anything that `clean` would change."""
        text = content.decode("utf-8", "ignore")
        return any(name in text for name in self._ids) or self._clean(text, "") != text

    def _kept(self, form: str, text: str, scope: str, work: CleanInScope) -> str:
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
    """Delete the rows of `cleaning.gone` and clean every text of every table; return table -> number of changed rows. `dry_run` = only count.

    The caller begins and commits the transaction.
    """
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
    """Cleans the texts of the rows that stay, table by table, and counts the changed rows; with `dry_run` it only counts."""

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
        """Count a row that changes; return whether to write it (False with `dry_run`)."""
        self._found[table] += 1
        return not self._dry_run

    def memories(self) -> None:
        """Clean the memories; rewrite their derived index rows, and delete the vectors of changed words."""
        rows = self._connection.execute(
            "SELECT m.number, m.scope, s.name, m.body, m.source, m.use_count FROM memories AS m"
            f" JOIN scopes AS s ON s.number = m.scope WHERE {self._concerned} AND {self._stays('memories')}"
            " ORDER BY m.number",
            self._values,
        ).fetchall()
        change = 0
        for number, scope, name, body, source, uses in rows:
            after = self._cleaning.json_text(body, name)
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
        """Clean the bodies of versions and, of all versions, the reasons, because a reason may quote another memory."""
        rows = self._connection.execute(
            f"SELECT v.memory, v.version, s.name, v.body, v.reason, {self._concerned} FROM versions AS v"
            " JOIN scopes AS s ON s.number = v.scope JOIN memories AS m ON m.number = v.memory"
            f" WHERE {self._stays('versions')}",
            self._values,
        ).fetchall()
        for memory, version, name, body, reason, whole in rows:
            after = self._cleaning.json_text(body, name) if whole else body
            recorded = decode_reason(reason)
            cleaned = recorded.cleaned(lambda text, name=name: self._cleaning.text(text, name))
            why = reason if cleaned == recorded else encode_reason(cleaned)
            if (after, why) != (body, reason) and self._changes("versions"):
                self._connection.execute(
                    "UPDATE versions SET body = ?, reason = ? WHERE memory = ? AND version = ?",
                    (after, why, memory, version),
                )

    def sessions(self) -> None:
        """Clean the session records."""
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
        """Clean the column `column` of a table whose rows belong to no scope; `key` = its key column."""
        rows = self._connection.execute(
            f"SELECT {key}, {column} FROM {table} WHERE {self._stays(table)}", self._values
        ).fetchall()
        for name, text in rows:
            after = (
                self._cleaning.json_text(text) if table != "named_values" or may_hold_words(name) else text
            )
            if after != text and self._changes(table):
                self._connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (after, name))


@frozen
class LoggedPurge:
    """An entry of the purge log: the time of a purge, and what it removed."""

    at_ms: int
    gone: Removal


_NEWEST = (
    "SELECT max(coalesce((SELECT max(recorded_at_ms) FROM versions), 0),"
    " coalesce((SELECT max(last_signal_at_ms) FROM sessions), 0), coalesce((SELECT max(at_ms) FROM traces), 0),"
    " coalesce((SELECT max(max(at_ms, coalesce(done_at_ms, 0))) FROM handovers), 0))"
)


def note_purge(path: Path, gone: Removal, *, at_ms: int) -> None:
    """Append a purge to the log file `path`, durably, unless it removes the same as the last one there.

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
        raise write_error(error, path) from error


def read_purges(path: Path) -> tuple[LoggedPurge, ...]:
    """Return the purges in the log file `path`, oldest first; a line that cannot be decoded is skipped, and a missing file has none.

    Raises:
        StoreError: if the file is there but cannot be read: nobody may bring back what it names.
    """
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StoreError(
            f"{path}, which names what was purged, cannot be read: {error.strerror or error}.",
            hint="Make the file readable, then try again.",
        ) from error
    purges: list[LoggedPurge] = []
    for line in lines:
        with suppress(msgspec.MsgspecError, ValueError):
            purges.append(msgspec.json.decode(line, type=LoggedPurge))
    return tuple(purges)


def apply_purges(path: Path, purges: Sequence[LoggedPurge]) -> int:
    """Remove what was purged from the database `path`, which nobody may have open, and what quotes it; return how many rows changed.

    Purged memories are always removed, because their ids are never used again. Sessions, projects and values may exist again under their
    old names: they are removed only if everything in the file is older than the purge.

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
