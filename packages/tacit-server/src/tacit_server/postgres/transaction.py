"""A transaction of one tenant. In: statements and values. Out: rows. Every statement gets the number of the tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from tacit.backends.codec import clean_text

Row = tuple[Any, ...]
CHANNEL = "tacit_news"
"""The channel of notifications about tenants that changed; see `news`."""
Observe = Callable[[str], None]
"""Called with every statement before it is executed."""


@dataclass(slots=True)
class Transaction:
    """A transaction of the tenant with the number `tenant`."""

    tenant: int
    _connection: psycopg.Connection[Row]
    _observe: Observe

    def execute(self, statement: str, values: Mapping[str, object] | None = None) -> psycopg.Cursor[Row]:
        """Execute a statement. Besides `values` it may use `tenant`."""
        self._observe(statement)
        given = {"tenant": self.tenant, **_cleaned(values or {})}
        return self._connection.execute(statement.encode(), given)

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """Return all rows of a statement."""
        return self.execute(statement, values).fetchall()

    def row(self, statement: str, values: Mapping[str, object] | None = None) -> Row | None:
        """Return the first row of a statement; None = it has none."""
        return self.execute(statement, values).fetchone()

    def number(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        """Return the number in the first row of a statement; 0 = there is no row, or it is NULL."""
        row = self.row(statement, values)
        return 0 if row is None or row[0] is None else int(row[0])

    def tell(self) -> None:
        """Notify all server processes that data of the tenant changed. PostgreSQL sends it when the transaction is committed."""
        self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(self.tenant)))


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values` with texts that PostgreSQL accepts. So a search for a name with a NUL finds nothing and raises no error."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()}
