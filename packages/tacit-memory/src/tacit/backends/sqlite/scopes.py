"""Scopes as small numbers. In: a scope filter. Out: the scopes of the filter that the store holds, each with its change mark.

Every statement that reads memories takes these numbers; a filter that names no stored scope gives no numbers and so no rows.
Never widens a filter.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache

from tacit.backends.codec import clean_text, json_list, scope_named
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter

_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScope:
    """A scope as the store numbers it, with its change counters.

    Attributes:
        number: its row.
        change: the store's change counter when a memory of this scope was last written.
        moved: the counter when a memory last left this scope; what was derived earlier must be made again.
        active: how many active memories it holds.
    """

    number: int
    change: int
    moved: int
    active: int


@lru_cache(maxsize=64)
def _names_of(scope: ScopeFilter) -> tuple[str, ...]:
    """Return the names under which the scopes of a filter are stored. Cached, because a session asks with the same filter repeatedly."""
    return tuple(clean_text(str(name)) for name in scope.scopes)


def stored_scopes(connection: sqlite3.Connection, scope: ScopeFilter) -> tuple[StoredScope, ...]:
    """Return the stored scopes that `scope` shows and that hold memories, sorted by number."""
    if not scope.scopes and not scope.lent:
        return ()
    names = _names_of(scope)
    rows: list[tuple[int, int, int, int]] = []
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        rows += connection.execute(
            "SELECT number, change, moved, active FROM scopes"
            f" WHERE name IN ({','.join('?' * len(batch))}) AND total > 0",
            batch,
        )
    if scope.lent:
        rows += connection.execute(
            f"SELECT number, change, moved, active FROM scopes WHERE {_lent(scope)} AND total > 0"
        )
    rows = sorted(set(rows))
    return tuple(StoredScope(number=row[0], change=row[1], moved=row[2], active=row[3]) for row in rows)


def visible_numbers(connection: sqlite3.Connection, scope: ScopeFilter) -> str:
    """Return the numbers of all stored scopes that `scope` shows, as a JSON list for `json_each`; also of scopes without memories now."""
    rows = connection.execute(
        f"SELECT number FROM scopes WHERE name IN (SELECT value FROM json_each(?)) OR {_lent(scope)} ORDER BY number",
        (json_list(_names_of(scope)),),
    )
    return json_list([int(row[0]) for row in rows])


def _lent(scope: ScopeFilter) -> str:
    """Return the SQL condition for what other projects lend to `scope`; it holds for no row if that is nothing."""
    return f"lent IN ({','.join(repr(name) for name in scope.lent)})"


def scope_number(connection: sqlite3.Connection, memory: Memory) -> int:
    """Return the number of the memory's scope; a new one is inserted, so `connection` must be in a write transaction.

    What a project lends to others has a number of its own there, so that a search of another project reads no other row.
    """
    key = (clean_text(str(memory.scope)), memory.lent)
    row = connection.execute("SELECT number FROM scopes WHERE name = ? AND lent = ?", key).fetchone()
    if row is not None:
        return int(row[0])
    return int(
        connection.execute("INSERT INTO scopes (name, lent) VALUES (?, ?) RETURNING number", key).fetchone()[
            0
        ]
    )


def every_scope(connection: sqlite3.Connection) -> ScopeFilter:
    """Return a filter of all scopes that hold memories."""
    rows = connection.execute("SELECT DISTINCT name FROM scopes WHERE total > 0").fetchall()
    return ScopeFilter.of(*(scope_named(str(row[0])) for row in rows))
