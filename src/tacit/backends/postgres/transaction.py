"""A transaction of one tenant, as the modules of the store use it. In: statements and values. Out: rows. Every statement gets the tenant's number."""

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
"""Told of every statement before it is carried out."""


@dataclass(slots=True)
class Transaction:
    """A transaction of one tenant.

    Attributes:
        tenant: its number.
        placements: where its rows lie; the last is where new ones go.
        change: its change counter as the transaction began.
        indexed: identities of embedders whose vectors have an HNSW index of their own.
        stay: how often the tenant moved to another shard.
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
        """Carry out a statement; `tenant`, `placements` and `placement` (for new rows) are known to it."""
        self._observe(statement)
        given = {
            "tenant": self.tenant,
            "placements": list(self.placements),
            "placement": self.placements[-1],
            **_cleaned(values or {}),
        }
        return self._connection.execute(statement.encode(), given)

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """All rows that a statement gives."""
        return self.execute(statement, values).fetchall()

    def row(self, statement: str, values: Mapping[str, object] | None = None) -> Row | None:
        """The first row that a statement gives."""
        return self.execute(statement, values).fetchone()

    def stream(self, statement: str, values: Mapping[str, object] | None = None) -> Generator[Row]:
        """Row after row, for more of them than should be held at once."""
        self._observe(statement)
        with self._connection.cursor(name="stream") as cursor:
            given = {"tenant": self.tenant, "placements": list(self.placements), **_cleaned(values or {})}
            yield from cursor.execute(statement.encode(), given)

    def number(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        """The number that a statement gives; 0 for none."""
        row = self.row(statement, values)
        return 0 if row is None or row[0] is None else int(row[0])

    def scopes(self, scope: ScopeFilter) -> tuple[StoredScope, ...]:
        """The stored scopes that `scope` shows; asked for once in a transaction that only reads."""
        known = self._scopes.get(scope)
        if known is None:
            known = self._scopes[scope] = stored_scopes(self, scope)
        return known

    def visible(self, scope: ScopeFilter) -> list[int]:
        """The numbers of those scopes."""
        return [stored.number for stored in self.scopes(scope)]


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Values with the texts that PostgreSQL takes: whoever asks for a name with a NUL finds nothing, and is told so."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()}
