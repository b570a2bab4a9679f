"""Removes rows for good. In: a connection inside a transaction, what is to be gone. Out: how many rows, by table.

What hangs on a memory goes with it; the counts of its scope follow, and readers are told that something left it, so that they make
what they derived anew. Never begins or ends a transaction; cleans no text (see `rewrite`).
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter

from tacit.backends.sqlite.codec import json_list
from tacit.backends.sqlite.writing import next_change
from tacit.backends.text import clean_text
from tacit.model.changes import Gone

_OF_MEMORY = ("documents", "memory_entities", "intents", "vectors")
_GONE = "(SELECT number FROM memories WHERE id IN (SELECT value FROM json_each(:ids)))"
_OF_SESSION = (
    ("sessions", "host = :host AND session_id = :session"),
    ("exposures", "host = :host AND session_id = :session"),
    ("handovers", "host = :host AND session_id = :session"),
    ("traces", "session = :key"),
)


def remove(connection: sqlite3.Connection, gone: Gone, found: Counter[str]) -> None:
    """Remove what `gone` names and count it into `found`."""
    for key in gone.sessions:
        values = {
            "host": clean_text(key.host),
            "session": clean_text(key.session_id),
            "key": clean_text(str(key)),
        }
        for table, where in _OF_SESSION:
            _delete(connection, table, where, values, found)
    ids = {"ids": json_list([clean_text(name) for name in gone.memories])}
    _delete(
        connection,
        "exposures",
        "memory_id IN (SELECT value FROM json_each(:ids))",
        ids,
        found,
    )
    _remove_memories(connection, ids, found)
    _remove_entries(connection, frozenset(gone.memories), found)
    for table, column, names in (
        ("projects", "id", gone.projects),
        ("named_values", "name", gone.values),
    ):
        asked = {"names": json_list([clean_text(name) for name in names])}
        where = f"{column} IN (SELECT value FROM json_each(:names))"
        _delete(connection, table, where, asked, found)


def _remove_memories(connection: sqlite3.Connection, ids: dict[str, str], found: Counter[str]) -> None:
    rows = connection.execute(f"SELECT scope, status FROM memories WHERE number IN {_GONE}", ids).fetchall()
    if not rows:
        return
    ends = f"source IN {_GONE} OR target IN {_GONE}"
    _delete(connection, "relations", ends, ids, found)
    _delete(connection, "versions", f"memory IN {_GONE}", ids, found)
    found["memories"] += len(rows)
    for table in _OF_MEMORY:
        connection.execute(f"DELETE FROM {table} WHERE memory IN {_GONE}", ids)
    connection.execute(f"DELETE FROM memories WHERE number IN {_GONE}", ids)
    change = next_change(connection)
    active = Counter(scope for scope, status in rows if status == "active")
    for scope, total in Counter(scope for scope, _ in rows).items():
        connection.execute(
            "UPDATE scopes SET total = total - ?, active = active - ?, change = ?, moved = ? WHERE number = ?",
            (total, active[scope], change, change, scope),
        )


def _remove_entries(connection: sqlite3.Connection, ids: frozenset[str], found: Counter[str]) -> None:
    """Take the memories out of the ledgers of session records: an entry holds a hash of what was said."""
    rows = connection.execute("SELECT host, session_id, body FROM sessions").fetchall() if ids else ()
    for host, session, body in rows:
        value = json.loads(body)
        kept = [entry for entry in value.get("ledger", ()) if entry["memory_id"] not in ids]
        if len(kept) == len(value.get("ledger", ())):
            continue
        found["sessions"] += 1
        again = json.dumps({**value, "ledger": kept}, ensure_ascii=False, separators=(",", ":"))
        connection.execute(
            "UPDATE sessions SET body = ? WHERE host = ? AND session_id = ?", (again, host, session)
        )


def _delete(
    connection: sqlite3.Connection, table: str, where: str, values: dict[str, str], found: Counter[str]
) -> None:
    found[table] += connection.execute(f"DELETE FROM {table} WHERE {where}", values).rowcount
