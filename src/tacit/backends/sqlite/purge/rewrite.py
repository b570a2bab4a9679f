"""Rewrites every text of a database. In: a connection inside a transaction, a function that cleans. Out: rows changed.

Derived rows (text indexes, entities, triggers) are made again from what is left, and the vector of changed words goes. Pages
that held the old words are overwritten, not only freed; `compact` then makes the file anew. Never changes who or when.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from tacit.backends.purging import holds_text
from tacit.backends.sqlite.codec import decode_memory, json_list
from tacit.backends.sqlite.connection import connect, translate
from tacit.backends.sqlite.documents import index_memory
from tacit.backends.sqlite.purge.removal import remove
from tacit.backends.sqlite.schema import SCHEMA_VERSION, schema_version
from tacit.backends.sqlite.writing import next_change
from tacit.errors import StoreError
from tacit.model.changes import Gone
from tacit.safety.json_texts import cleaned_json

CleanAt = Callable[[str, str], str]
"""Cleans a text that belongs to a scope (its name, "" = the user's own)."""

_BODIES = (("traces", "id", "body"), ("handovers", "key", "payload"), ("named_values", "name", "value"))
_TEXTS = (("handovers", "key", "error"),)


def rewrite_texts(
    connection: sqlite3.Connection, clean: CleanAt, *, dry_run: bool, gone: Gone | None = None
) -> Mapping[str, int]:
    """Remove `gone` and clean every text of every table; with `dry_run` only count the rows that would change, by table."""
    if (
        gone is not None and dry_run
    ):  # done, counted and taken back: what hangs on what goes is not counted twice
        connection.execute("SAVEPOINT trial")
        tried = rewrite_texts(connection, clean, dry_run=False, gone=gone)
        connection.execute("ROLLBACK TO trial")
        connection.execute("RELEASE trial")
        return tried
    found: Counter[str] = Counter()
    connection.execute("PRAGMA secure_delete = ON")
    if gone is not None:
        remove(connection, gone, found)
    _memories(connection, clean, found, gone, dry_run=dry_run)
    _versions(connection, clean, found, gone, dry_run=dry_run)
    _sessions(connection, clean, found, dry_run=dry_run)

    def own(text: str) -> str:
        return clean(text, "")

    for table, key, column in (*_BODIES, *_TEXTS):
        for name, text in connection.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
            after = cleaned_json(text, own) if table != "named_values" or holds_text(name) else text
            if after != text:
                found[table] += 1
                if not dry_run:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (after, name))
    if found["memories"] and not dry_run:
        connection.execute("DELETE FROM entities WHERE number NOT IN (SELECT entity FROM memory_entities)")
        for index in ("text_words", "text_code"):  # merged terms are written anew, without what is gone
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    return {table: count for table, count in sorted(found.items()) if count}


def _concerned(gone: Gone | None) -> tuple[str, tuple[str, ...]]:
    """A condition on memories whose texts are cleaned: all, or notes that quote what is gone; and its values."""
    if gone is None:
        return "1", ()
    here = "m.kind IN (SELECT value FROM json_each(?)) AND m.id NOT IN (SELECT value FROM json_each(?))"
    return here, (json_list(gone.notes), json_list(gone.memories))


def _memories(
    connection: sqlite3.Connection, clean: CleanAt, found: Counter[str], gone: Gone | None, *, dry_run: bool
) -> None:
    where, values = _concerned(gone)
    rows = connection.execute(
        "SELECT m.number, m.scope, s.name, m.body, m.source, m.use_count FROM memories AS m"
        f" JOIN scopes AS s ON s.number = m.scope WHERE {where} ORDER BY m.number",
        values,
    ).fetchall()
    change = 0
    for number, scope, name, body, source, uses in rows:
        after = cleaned_json(body, lambda text, name=name: clean(text, name))
        if after == body:
            continue
        found["memories"] += 1
        if dry_run:
            continue
        change = change or next_change(connection)
        before, memory = decode_memory(body, uses), decode_memory(after, uses)
        # Readers keep what they decoded by its version: the newest one moves up, so that they all look again.
        connection.execute(
            "UPDATE versions SET version = version + 1 WHERE memory = ? AND version ="
            " (SELECT version FROM memories WHERE number = ?)",
            (number, number),
        )
        connection.execute(
            "UPDATE memories SET body = ?, source = ?, error_signature = ?, change = ?, version = version + 1 WHERE number = ?",
            (after, clean(source, name), memory.error_signature, change, number),
        )
        connection.execute("UPDATE scopes SET change = ? WHERE number = ?", (change, scope))
        index_memory(connection, number, scope, memory)
        if memory.content != before.content:
            connection.execute("DELETE FROM vectors WHERE memory = ?", (number,))


def _versions(
    connection: sqlite3.Connection, clean: CleanAt, found: Counter[str], gone: Gone | None, *, dry_run: bool
) -> None:
    """The reason of a version may quote another memory, so it is cleaned whatever its own memory is."""
    where, values = _concerned(gone)
    going = json_list(gone.memories if gone else ())
    rows = connection.execute(
        f"SELECT v.memory, v.version, s.name, v.body, v.reason, {where} FROM versions AS v"
        " JOIN scopes AS s ON s.number = v.scope JOIN memories AS m ON m.number = v.memory"
        " WHERE m.id NOT IN (SELECT value FROM json_each(?))",
        (*values, going),
    ).fetchall()
    for memory, version, name, body, reason, whole in rows:
        after = cleaned_json(body, lambda text, name=name: clean(text, name)) if whole else body
        why = clean(reason, name)
        if (after, why) != (body, reason):
            found["versions"] += 1
            if not dry_run:
                connection.execute(
                    "UPDATE versions SET body = ?, reason = ? WHERE memory = ? AND version = ?",
                    (after, why, memory, version),
                )


def _sessions(connection: sqlite3.Connection, clean: CleanAt, found: Counter[str], *, dry_run: bool) -> None:
    rows = connection.execute(
        "SELECT host, session_id, body, coalesce(json_extract(body, '$.project_id'), '') FROM sessions"
    ).fetchall()
    for host, session, body, project in rows:
        scope = f"project:{project}" if project else ""
        after = cleaned_json(body, lambda text, scope=scope: clean(text, scope))
        if after != body:
            found["sessions"] += 1
            if not dry_run:
                connection.execute(
                    "UPDATE sessions SET body = ? WHERE host = ? AND session_id = ?", (after, host, session)
                )


def compact(path: Path) -> bool:
    """Write the file anew without free pages and empty its log; False = a reader kept part of the log alive.

    Raises:
        StoreError: if the file cannot be written.
    """
    try:
        with closing(connect(path)) as connection:
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not busy
    except sqlite3.Error as error:
        raise translate(error, path) from error


def rewrite_copy(path: Path, clean: CleanAt, *, dry_run: bool, gone: Gone | None = None) -> Mapping[str, int]:
    """Clean a backup in place.

    Raises:
        StoreError: if it is no store of this version, or cannot be written; nothing is changed then.
    """
    try:
        with closing(connect(path)) as connection:
            version = schema_version(connection)
            if version != SCHEMA_VERSION:
                raise StoreError(
                    f"It has schema {version}, and this Tacit cleans schema {SCHEMA_VERSION} alone."
                )
            connection.execute("BEGIN IMMEDIATE")
            try:
                found = rewrite_texts(connection, clean, dry_run=dry_run, gone=gone)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            if found and not dry_run:
                connection.execute("VACUUM")
            return found
    except sqlite3.Error as error:
        raise translate(error, path) from error
