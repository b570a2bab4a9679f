"""Removes rows for good. In: a connection inside a transaction, what is to be gone. Out: how many rows, by table.

What hangs on a memory goes with it; the counts of its scope follow, and readers are told that something left it, so that they make
what they derived anew. Never begins or ends a transaction; cleans no text (see `rewrite`).
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tacit.backends.codec import json_list
from tacit.backends.sqlite.writing import next_change
from tacit.backends.text import clean_text
from tacit.model.changes import Removal
from tacit.model.session import SessionKey
from tacit.session.family import with_descendants

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
"""Traces of a project: those that name it, and of those that name none and belong to no session those that saw its memories alone."""


class RowRemoval:
    """The rows to remove: a condition for each table, over `values`. A table that is not named keeps its rows."""

    def __init__(self, connection: sqlite3.Connection, gone: Removal) -> None:
        """Look up what `gone` means in this file: a backup may hold sessions that the store has let go."""
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
        """Count what goes, without taking it."""
        for table, condition in self.where.items():
            sql = f"SELECT count(*) FROM {table} WHERE {condition}"
            counts[table] += connection.execute(sql, self.values).fetchone()[0]

    def remove(self, connection: sqlite3.Connection, counts: Counter[str]) -> None:
        """Remove the rows, and count them into `counts`."""
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
    """The sessions that `gone` removes: those it names, those of its projects, and all that descend from them.

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
