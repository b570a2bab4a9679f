"""The tables, as numbered migrations. In: a connection inside a transaction. Out: the newest schema.

The number of the newest migration applied stands in the file (`PRAGMA user_version`). From the first release on, a migration is never
edited. Never runs outside a transaction of its caller, never reads a schema newer than it knows.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from importlib.resources import files

APPLICATION_ID = 0x54414349
"""`TACI`, written into the file's header, so that another program's database is not taken for ours."""

_STATEMENTS = files("tacit.backends.sqlite").joinpath("schema.sql").read_text("utf-8").split("\n\n")
"""The statements that make the tables, separated by empty lines."""


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _STATEMENTS:
        connection.execute(statement)


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_create]
"""Migration n (from 1) brings a file of version n - 1 to version n. Tests add one for as long as they run."""


MAX_VERSION = 9_999
"""The greatest schema version that any release can have; a greater number in a file means damage, not a newer schema."""


_TABLES = frozenset(re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", "\n".join(_STATEMENTS), re.MULTILINE))


def newest_version() -> int:
    """Return the schema version that this code reads and writes."""
    return len(MIGRATIONS)


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of the file; 0 = it is empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_possible_version(version: int) -> bool:
    """Whether a release can have this schema version; False means damage."""
    return 0 <= version <= MAX_VERSION


def missing_parts(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about what the file lacks: tables, or else the only row of `state`; [] for a complete file and for one without a schema version."""
    if schema_version(connection) < 1:
        return []
    if missing := sorted(_TABLES - _tables(connection)):
        return [f"the table {name} is missing" for name in missing]
    if connection.execute("SELECT change FROM state").fetchone() is None:
        return ["the row of the table state is missing"]
    return []


def is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether another program wrote the file: neither its header nor its tables are ours."""
    tables = _tables(connection)
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    return bool(tables) and owner != APPLICATION_ID and len(tables & _TABLES) < len(_TABLES) / 2


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def missing_columns(connection: sqlite3.Connection) -> list[str]:
    """Return sentences about the columns of the newest schema that the file lacks, sorted; [] = it has all. Makes an empty store in memory to compare with."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for version in range(1, newest_version() + 1):
            migrate_one(fresh, version)
        missing = _columns(fresh) - _columns(connection)
    return sorted(f"the column {table}.{column} is missing" for table, column in missing)


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    return {
        (table, column[1])
        for table in _TABLES
        for column in connection.execute(f"PRAGMA table_info({table})")
    }


@lru_cache(maxsize=1)
def empty_database() -> bytes:
    """Return the bytes of the database file of an empty store with the newest schema. Cached for the process."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        for version in range(1, newest_version() + 1):
            migrate_one(fresh, version)
        return fresh.serialize()


def migrate_one(connection: sqlite3.Connection, version: int) -> None:
    """Migrate the file from the schema version before to `version`, inside the caller's transaction."""
    MIGRATIONS[version - 1](connection)
    connection.execute(f"PRAGMA user_version = {version}")
