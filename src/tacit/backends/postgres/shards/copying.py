"""Copies the rows of a tenant from one database to another, pass by pass. In: two connections of owners, the numbers of the tenant. Out: rows.

A pass reads one state of the source and brings the target to that state. A row has changed since the last pass if another transaction wrote it (`xmin`):
two versions of a row never have the same `xmin`. Columns and keys of every table are read from the catalog, so that a new table needs no code here. Rows
that are numbered by their transaction get new numbers at the target, in the old order. Never commits, and never decides when a tenant has moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg import sql

from tacit.backends.postgres.promotion import as_tenant
from tacit.backends.postgres.roles import SEQUENCES, TENANT_TABLES
from tacit.errors import NotFound, StoreError

_Connection = psycopg.Connection[tuple[Any, ...]]
_ORDER = ("xid", "seq")
"""Columns that number a row by its transaction. A table with both is copied in their order, and the rows get new numbers."""
_GIVEN = ("tenant", "placement")
"""Columns that get new values at the target."""
AHEAD = 1_000_000
"""How far a sequence of the target is set ahead of the source, so that numbers that the source takes during the move stay below it."""

_COLUMNS = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    WHERE c.relname = ANY(%(tables)s) AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname"""
_KEYS = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY k.place) FROM pg_class AS c
    JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
    CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (number, place)
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.number
    WHERE c.relname = ANY(%(tables)s) AND c.relnamespace = 'public'::regnamespace AND k.place <= i.indnkeyatts
    GROUP BY c.relname"""
_NUMBERED_COLUMNS = """
    SELECT pg_get_serial_sequence(c.relname, a.attname) FROM pg_class AS c
    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attidentity <> ''
    WHERE c.relname = ANY(%(tables)s) AND c.relname <> 'tenants' AND c.relnamespace = 'public'::regnamespace"""
_POLICIES = """
    SELECT c.relname, p.polpermissive, pg_get_expr(p.polqual, p.polrelid) FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid
    WHERE c.relname = ANY(%(tables)s) AND p.polcmd IN ('*', 'r')
        AND (p.polroles = '{0}' OR EXISTS (SELECT 1 FROM pg_roles WHERE oid = ANY(p.polroles) AND rolname = current_user))"""
_WHOLE_TENANT = "tenant = (NULLIF(current_setting('tacit.tenant'::text, true), ''::text))::bigint"
_LAST = "SELECT last_value FROM {sequence}"
_ADVANCE = "SELECT setval(%(name)s, %(least)s) FROM {sequence} WHERE last_value < %(least)s"

_MAKE_COPIED = "CREATE TEMP TABLE {copied} AS SELECT {key}, xmin AS written FROM {table} WHERE tenant = %(tenant)s LIMIT 0"
_MAKE_STALE = "CREATE TEMP TABLE {stale} AS SELECT {key} FROM {table} WHERE tenant = %(tenant)s LIMIT 0"
_MAKE_INCOMING = (
    "CREATE TEMP TABLE {incoming} AS SELECT {columns} FROM {table} WHERE tenant = %(tenant)s LIMIT 0"
)
_FIND_CHANGED = """
    INSERT INTO {changed} SELECT {own_key}, t.xmin FROM {table} AS t LEFT JOIN {copied} AS o ON {same}
    WHERE t.tenant = %(tenant)s AND o.written IS DISTINCT FROM t.xmin"""
_FIND_STALE = """
    INSERT INTO {stale} SELECT {other_key} FROM {copied} AS o LEFT JOIN {table} AS t ON t.tenant = %(tenant)s AND {same}
    WHERE t.xmin IS DISTINCT FROM o.written"""
_READ_STALE = "COPY {stale} TO STDOUT (FORMAT binary)"
_WRITE_STALE = "COPY {stale} FROM STDIN (FORMAT binary)"
_REMOVE_STALE = "DELETE FROM {table} AS t USING {stale} AS o WHERE t.tenant = %(tenant)s{beyond}"
_READ_CHANGED = """
    COPY (SELECT {own_columns} FROM {table} AS t JOIN {changed} AS o ON {same} WHERE t.tenant = %(tenant)s{order})
    TO STDOUT (FORMAT binary)"""
_WRITE_INCOMING = "COPY {incoming} FROM STDIN (FORMAT binary)"
_ADD = """
    INSERT INTO {table} (tenant{names}) OVERRIDING SYSTEM VALUE SELECT %(tenant)s{values} FROM {incoming}{order}"""
_FORGET_STALE = "DELETE FROM {copied} AS t USING {stale} AS o WHERE {same}"
_NOTE_CHANGED = "INSERT INTO {copied} SELECT * FROM {changed}"
_COUNT_COPIED = "SELECT count(*) FROM {copied}"
_COUNT = "SELECT count(*) FROM {table} WHERE tenant = %(tenant)s"
_DELETE = "DELETE FROM {table} WHERE tenant = %(tenant)s"
_READ_TENANT = "SELECT {columns} FROM tenants WHERE tenant = %(tenant)s"
_SET_TENANT = "UPDATE tenants SET {values} WHERE tenant = %(tenant)s"
_TENANTS_OWN = ("tenant", "name", "placements", "indexed", "moved_to", "stay")
"""Columns of the tenant's row that describe its location. They are not copied; all others are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of tenants.

    Attributes:
        name: the name of the table.
        columns: all stored columns.
        key: the columns of the primary key without the placement; the tenant comes first.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]

    @property
    def ordered(self) -> bool:
        """Return whether the rows are numbered by their transactions."""
        return all(name in self.columns for name in _ORDER)


def read_tables(connection: _Connection) -> tuple[Table, ...]:
    """Return every table with rows of tenants, except `tenants` itself. `purges` comes first, so that purges get lower numbers than versions.

    Raises:
        StoreError: the primary key of a table does not begin with the tenant.
    """
    values = {"tables": [name for name in TENANT_TABLES if name != "tenants"]}
    columns = dict(cast("list[tuple[str, list[str]]]", connection.execute(_COLUMNS, values).fetchall()))
    keys = dict(cast("list[tuple[str, list[str]]]", connection.execute(_KEYS, values).fetchall()))
    for name in values["tables"]:
        if keys.get(name, [""])[0] != "tenant":
            raise StoreError(
                f"The primary key of the table {name} does not begin with the tenant; nothing was moved.",
                hint="Run `tacit-server migrate` on both shards.",
            )
    return tuple(
        Table(
            name=name,
            columns=tuple(columns[name]),
            key=tuple(part for part in keys[name] if part != "placement"),
        )
        for name in sorted(values["tables"], key=lambda name: (name != "purges", name))
    )


def refuse_hidden_rows(connection: _Connection) -> None:
    """Refuse to copy if a policy may hide rows of the tenant from the owner of the tables.

    Raises:
        StoreError: a policy may do so; the message names the tables.
    """
    rows = connection.execute(_POLICIES, {"tables": list(TENANT_TABLES)}).fetchall()
    whole = {str(name) for name, permissive, shown in rows if permissive and _shows_whole_tenant(shown)}
    narrowed = {
        str(name) for name, permissive, shown in rows if not (permissive or _shows_whole_tenant(shown))
    }
    if hidden := sorted((set(TENANT_TABLES) - whole) | narrowed):
        raise StoreError(
            f"Policies may hide rows of {', '.join(hidden)} from the role that owns the tables; nothing was moved.",
            hint="Give that role a policy that shows it every row of the tenant in `tacit.tenant`.",
        )


def _shows_whole_tenant(condition: str) -> bool:
    """Return whether the condition of a policy is true for every row of the tenant."""
    first = _without_parentheses(condition).split(" OR ")[0]
    return _without_parentheses(first) == _WHOLE_TENANT


def _without_parentheses(text: str) -> str:
    """Return `text` without the parentheses that enclose all of it."""
    while text.startswith("(") and text.endswith(")") and _closes_at_end(text):
        text = text[1:-1]
    return text


def _closes_at_end(text: str) -> bool:
    """Return whether the last character closes the parenthesis at the beginning."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


class Copy:
    """Copies one tenant. Every method needs transactions on both connections, which its caller begins and ends."""

    def __init__(
        self, source: _Connection, target: _Connection, *, old: int, new: int, placement: int
    ) -> None:
        """Compare the tables of both databases. Nothing is copied yet.

        Args:
            source: connection whose transactions see the tenant `old`.
            target: connection whose transactions see the tenant `new`.
            old: the number of the tenant at the source.
            new: the number of the tenant at the target.
            placement: the partition for its rows at the target.

        Raises:
            StoreError: the databases have different tables.
        """
        self.connections = (source, target)
        self._source, self._target = source, target
        self._old, self._new = {"tenant": old}, {"tenant": new, "placement": placement}
        self._tables = read_tables(source)
        other = {table.name: set(table.columns) for table in read_tables(target)}
        if any(set(table.columns) != other[table.name] for table in self._tables):
            raise StoreError(
                "The two shards have different tables; nothing was moved.",
                hint="Run `tacit-server migrate`: it migrates every shard.",
            )

    def prepare(self) -> None:
        """Create the temporary tables. They end with the connections."""
        for table in self._tables:
            names = _names(table)
            for statement in (_MAKE_COPIED, _MAKE_COPIED.replace("{copied}", "{changed}"), _MAKE_STALE):
                _run(self._source, statement, names, self._old)
            for statement in (_MAKE_STALE, _MAKE_INCOMING):
                _run(self._target, statement, names, self._new)

    def bring_up(self) -> int:
        """Copy and remove rows until the target has the state that the source's transaction sees. Return the number of these rows."""
        return sum(self._bring_up(table) for table in self._tables)

    def _bring_up(self, table: Table) -> int:
        names = _names(table)
        stale = _run(self._source, _FIND_STALE, names, self._old).rowcount
        changed = _run(self._source, _FIND_CHANGED, names, self._old).rowcount
        if stale:
            self._carry(_READ_STALE, _WRITE_STALE, names)
            _run(self._target, _REMOVE_STALE, names, self._new)
            _run(self._source, _FORGET_STALE, names, self._old)
            for connection in (self._source, self._target):
                _run(connection, "TRUNCATE {stale}", names, {})
        if changed:
            self._carry(_READ_CHANGED, _WRITE_INCOMING, names)
            _run(self._target, _ADD, names, self._new)
            _run(self._source, _NOTE_CHANGED, names, {})
            _run(self._source, "TRUNCATE {changed}", names, {})
            _run(self._target, "TRUNCATE {incoming}", names, {})
            _run(self._source, "ANALYZE {copied}", names, {})
        return stale + changed

    def _carry(self, read: str, write: str, names: dict[str, sql.Composable]) -> None:
        with (
            self._source.cursor().copy(_composed(read, names), self._old) as out,
            self._target.cursor().copy(_composed(write, names)) as into,
        ):
            for part in out:
                into.write(part)

    def copy_tenant_row(self) -> None:
        """Copy the tenant's row in `tenants`, except the columns that describe its location.

        Raises:
            NotFound: the row is gone from the source.
        """
        values = {"tables": ["tenants"]}
        row = self._source.execute(_COLUMNS, values).fetchone()
        assert row is not None
        columns = [str(name) for name in row[1] if name not in _TENANTS_OWN]
        told = sql.SQL(", ").join(map(sql.Identifier, columns))
        held = _run(self._source, _READ_TENANT, {"columns": told}, self._old).fetchone()
        if held is None:
            raise NotFound("The tenant was removed while it moved.")
        setting = sql.SQL(", ").join(
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name)) for name in columns
        )
        _run(
            self._target,
            _SET_TENANT,
            {"values": setting},
            {**dict(zip(columns, held, strict=True)), **self._new},
        )

    def compare(self) -> None:
        """Compare the number of rows in both databases.

        Raises:
            StoreError: the numbers of a table differ.
        """
        for table in self._tables:
            names = _names(table)
            here = _number(_run(self._source, _COUNT_COPIED, names, {}))
            there = _number(_run(self._target, _COUNT, names, self._new))
            if here != there:
                raise StoreError(
                    f"{here} rows of {table.name} were sent, but {there} arrived; the tenant stays where it is.",
                    hint="Run the command again. If it fails again, look at the logs of both PostgreSQL servers.",
                )

    def advance_sequences(self) -> None:
        """Advance the sequences of the target beyond all numbers in rows of the tenant."""
        tables = {"tables": list(TENANT_TABLES)}
        identities = [str(row[0]) for row in self._source.execute(_NUMBERED_COLUMNS, tables)]
        for name in (*SEQUENCES, *identities):
            names: dict[str, sql.Composable] = {
                "sequence": sql.SQL(".").join(map(sql.Identifier, name.split(".")))
            }
            last = _number(_run(self._source, _LAST, names, {}))
            # Also advance an equal sequence: the next number of a sequence that was never used is its `last_value`.
            if _number(_run(self._target, _LAST, names, {})) <= last:
                _run(self._target, _ADVANCE, names, {"name": name, "least": last + AHEAD})


def remove_rows(connection: _Connection, tenant: int) -> None:
    """Remove every row of a tenant except its row in `tenants`, one transaction for each table. The caller must have dropped the partitions of the tenant."""
    for name in TENANT_TABLES:
        if name != "tenants":
            with connection.transaction():
                as_tenant(connection, tenant)
                _run(connection, _DELETE, {"table": sql.Identifier(name)}, {"tenant": tenant})


def _names(table: Table) -> dict[str, sql.Composable]:
    """Return the parts of the statements that depend on the table."""
    decided = (*_GIVEN, *_ORDER) if table.ordered else _GIVEN
    copied = [sql.SQL(", ") + sql.Identifier(name) for name in table.columns if name not in decided]
    beyond = [part for part in table.key if part != "tenant"]
    placed = "placement" in table.columns
    order = sql.SQL(" ORDER BY xid, seq") if table.ordered else sql.SQL("")
    return {
        "table": sql.Identifier(table.name),
        "copied": sql.Identifier(f"copied_{table.name}"),
        "changed": sql.Identifier(f"changed_{table.name}"),
        "stale": sql.Identifier(f"stale_{table.name}"),
        "incoming": sql.Identifier(f"incoming_{table.name}"),
        "key": sql.SQL(", ").join(map(sql.Identifier, table.key)),
        "own_key": sql.SQL(", ").join(sql.Identifier("t", part) for part in table.key),
        "other_key": sql.SQL(", ").join(sql.Identifier("o", part) for part in table.key),
        "same": sql.SQL(" AND ").join(map(_equal, table.key)),
        "beyond": sql.SQL("").join(
            [
                sql.SQL(" AND t.placement = %(placement)s") if placed else sql.SQL(""),
                *(sql.SQL(" AND ") + _equal(part) for part in beyond),
            ]
        ),
        "columns": sql.SQL(", ").join(map(sql.Identifier, table.columns)),
        "own_columns": sql.SQL(", ").join(sql.Identifier("t", name) for name in table.columns),
        "names": sql.SQL("").join([sql.SQL(", placement" if placed else ""), *copied]),
        "values": sql.SQL("").join([sql.SQL(", %(placement)s" if placed else ""), *copied]),
        "order": order,
    }


def _equal(part: str) -> sql.Composed:
    return sql.SQL("{} = {}").format(sql.Identifier("t", part), sql.Identifier("o", part))


def _composed(statement: str, names: dict[str, sql.Composable]) -> sql.Composed:
    return sql.SQL(cast("Any", statement)).format(**names)


def _run(
    connection: _Connection, statement: str, names: dict[str, sql.Composable], values: dict[str, Any]
) -> psycopg.Cursor[tuple[Any, ...]]:
    return connection.execute(_composed(statement, names), values or None)


def _number(cursor: psycopg.Cursor[tuple[Any, ...]]) -> int:
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
