"""A transaction of one tenant, as the modules of the store use it. In: statements and values. Out: rows. Every statement gets the number of the tenant."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from tacit.backends.postgres.scopes import StoredScope, stored_scopes
from tacit.backends.text import clean_text
from tacit.model.scope import ScopeFilter

_Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]
Observe = Callable[[str], None]
"""Called with every statement before it is executed."""

_HEADER = 20
_TYPES = {20: ">i8", 23: ">i4", 701: ">f8"}
"""How PostgreSQL sends `int8`, `int4` and `float8`, by the number of the type."""


@dataclass(slots=True)
class Transaction:
    """A transaction of one tenant.

    Attributes:
        tenant: the number of the tenant.
        change: its change counter at the beginning of the transaction.
    """

    tenant: int
    change: int
    _connection: _Connection
    _observe: Observe
    _scopes: dict[ScopeFilter, tuple[StoredScope, ...]]

    def execute(
        self, statement: str, values: Mapping[str, object] | None = None, *, binary: bool = False
    ) -> psycopg.Cursor[Row]:
        """Execute a statement. Besides `values` it may use `tenant`. `binary` = results are sent in binary form."""
        self._observe(statement)
        return self._connection.execute(statement.encode(), self._given(values), binary=binary)

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
            yield from cursor.execute(statement.encode(), self._given(values))

    def arrays(
        self, statement: str, values: Mapping[str, object] | None = None
    ) -> list[tuple[NDArray[Any], ...]]:
        """Return all rows of a statement whose columns are arrays of `int4`, `int8` or `float8` without NULL. NULL is returned as an empty array."""
        result = self.execute(statement, values, binary=True).pgresult
        assert result is not None
        return [
            tuple(_array(result.get_value(row, column)) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

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

    def _given(self, values: Mapping[str, object] | None) -> dict[str, object]:
        return {"tenant": self.tenant, **_cleaned(values or {})}


def _array(sent: bytes | None) -> NDArray[Any]:
    """Return an array that PostgreSQL sent in binary form: a header of 20 bytes, then the length and the value of each element."""
    if sent is None:
        return np.empty(0, np.int64)
    element = int.from_bytes(sent[8:12])
    return np.frombuffer(sent, np.dtype([("length", ">i4"), ("value", _TYPES[element])]), offset=_HEADER)[
        "value"
    ].astype(_TYPES[element][1:])


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Return `values` with texts that PostgreSQL accepts. So a search for a name with a NUL finds nothing and raises no error."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()}
