"""A transaction of one tenant, as the modules of the store use it. In: statements and values. Out: rows. Every statement gets the number of the tenant."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from tacit.backends.postgres.scopes import StoredScope, stored_scopes
from tacit.backends.text import clean_text
from tacit.model.scope import ScopeFilter

_Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]
Observe = Callable[[str], None]
"""Called with every statement before it is executed."""


@dataclass(slots=True)
class Transaction:
    """A transaction of one tenant.

    Attributes:
        tenant: the number of the tenant.
        placements: the partitions that hold its rows; new rows go to the last one.
        change: its change counter at the beginning of the transaction.
        indexed: identities of embedders whose vectors have their own HNSW index.
        stay: number of times the tenant has moved to another shard.
    """

    tenant: int
    placements: tuple[int, ...]
    change: int
    indexed: tuple[int, ...]
    _connection: _Connection
    _observe: Observe
    _scopes: dict[ScopeFilter, tuple[StoredScope, ...]]
    stay: int = 0

    def execute(self, statement: str, values: Mapping[str, object] | None = None) -> psycopg.Cursor[Row]:
        """Execute a statement. Besides `values` it may use `tenant`, `placements` and `placement` (for new rows)."""
        self._observe(statement)
        given = {
            "tenant": self.tenant,
            "placements": list(self.placements),
            "placement": self.placements[-1],
            **_cleaned(values or {}),
        }
        return self._connection.execute(statement.encode(), given)

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """Return all rows of a statement."""
        return self.execute(statement, values).fetchall()

    def row(self, statement: str, values: Mapping[str, object] | None = None) -> Row | None:
        """Return the first row of a statement; None = it has none."""
        return self.execute(statement, values).fetchone()

    def stream(self, statement: str, values: Mapping[str, object] | None = None) -> Generator[Row]:
        """Yield the rows of a statement one by one, without holding all of them in memory."""
        self._observe(statement)
        with self._connection.cursor(name="stream") as cursor:
            given = {"tenant": self.tenant, "placements": list(self.placements), **_cleaned(values or {})}
            yield from cursor.execute(statement.encode(), given)

    def number(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        """Return the number in the first row of a statement; 0 = there is no row, or it is NULL."""
        row = self.row(statement, values)
        return 0 if row is None or row[0] is None else int(row[0])

    def scopes(self, scope: ScopeFilter) -> tuple[StoredScope, ...]:
        """Return the stored scopes that `scope` shows. They are read once in a transaction."""
        known = self._scopes.get(scope)
        if known is None:
            known = self._scopes[scope] = stored_scopes(self, scope)
        return known

    def visible(self, scope: ScopeFilter) -> list[int]:
        """Return the numbers of the stored scopes that `scope` shows."""
        return [stored.number for stored in self.scopes(scope)]


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values` with texts that PostgreSQL accepts. So a search for a name with a NUL finds nothing and raises no error."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()}
