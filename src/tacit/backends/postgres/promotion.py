"""Moves a large tenant to partitions of its own while it reads and writes. In: the owner's connection, a tenant. Out: the number of memories moved.

The tenant's row in `tenants` lists the partitions that hold its rows. Each transaction moves some memories with all their rows. It holds the lock that
writers of the tenant take, so a writer waits for at most one such transaction, and a reader sees every row exactly once. Then HNSW indexes are built over
the tenant's vectors while it writes. After an interruption, the next call continues where the last one stopped. Never touches another tenant, and holds no
lock that another tenant waits for.
"""

from __future__ import annotations

from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql

from tacit.backends.postgres.failures import translate
from tacit.errors import NotFound
from tacit.ports.store import Step, no_step

BATCH_MEMORIES = 200
"""Number of memories that one transaction moves."""
PARTITIONED = ("memories", "versions", "vectors", "postings")
_STORAGE: dict[str, LiteralString] = {"vectors": " WITH (toast_tuple_target = 8160)"}
LOCK = 0x54414350
"""The advisory lock of promotions and of moves to another shard. Only one of them runs in a database at a time."""

_Connection = psycopg.Connection[tuple[Any, ...]]

_FIND = "SELECT tenant FROM tenants WHERE name = %(name)s"
_LOCK_TENANT = "SELECT placements FROM tenants WHERE tenant = %(tenant)s FOR NO KEY UPDATE"
_PLACE = "UPDATE tenants SET placements = %(placements)s WHERE tenant = %(tenant)s"
_NEXT = """
    SELECT number FROM memories WHERE tenant = %(tenant)s AND placement = 0 ORDER BY number LIMIT %(batch)s"""
_MOVE = """
    UPDATE {table} SET placement = %(tenant)s
    WHERE tenant = %(tenant)s AND placement = 0 AND number = ANY(%(numbers)s)"""
_IDENTITIES = "SELECT identity, dimensions FROM identities WHERE tenant = %(tenant)s ORDER BY identity"
_INDEXED = "UPDATE tenants SET indexed = %(indexed)s WHERE tenant = %(tenant)s"


def promote(
    owner_dsn: str, tenant: str, *, batch_memories: int = BATCH_MEMORIES, step: Step = no_step
) -> int:
    """Move a tenant to partitions of its own and index its vectors. Return the number of memories that were moved.

    If the tenant has its own partitions already, this only builds the indexes of new embedders.

    Args:
        owner_dsn: direct connection (no pooler in between) as the role that owns the tables.
        tenant: the name of the tenant.
        batch_memories: number of memories that one transaction moves.
        step: called after every transaction that moved memories.

    Raises:
        NotFound: there is no such tenant.
        StoreError: the database cannot be reached or written; call again to continue.
    """
    try:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
            number = _tenant_number(connection, tenant)
            make_partitions(connection, number)
            _place(connection, number, [0, number])
            moved = 0
            while memories := _move(connection, number, batch_memories):
                moved += memories
                step("moved")
            _place(connection, number, [number])
            index_vectors(connection, number)
            for table in PARTITIONED:
                connection.execute(sql.SQL("ANALYZE {}").format(partition_of(table, number)))
            return moved
    except psycopg.Error as error:
        raise translate(error) from error


def as_tenant(connection: _Connection, number: int) -> None:
    """Let the current transaction of the tables' owner see the rows of the tenant with this number."""
    connection.execute("SELECT set_config('tacit.tenant', %(tenant)s, true)", {"tenant": str(number)})


def _tenant_number(connection: _Connection, name: str) -> int:
    with connection.transaction():
        connection.execute("SELECT set_config('tacit.tenant_name', %(name)s, true)", {"name": name})
        row = connection.execute(_FIND, {"name": name}).fetchone()
    if row is None:
        raise NotFound(f"No tenant {name!r}.", hint="A tenant is added when its store is first opened.")
    return int(row[0])


def partition_of(table: str, number: int) -> sql.Identifier:
    """Return the name of the partition of `table` that holds only the tenant with this number."""
    return sql.Identifier(f"{table}_of_{number}")


def make_partitions(connection: _Connection, number: int) -> None:
    """Create the tenant's own partitions that do not exist yet."""
    # Creating a table and then attaching it takes a lock that neither readers nor writers wait for. There is no default partition, so
    # PostgreSQL scans nothing.
    for table in PARTITIONED:
        partition, whole = partition_of(table, number), sql.Identifier(table)
        storage = _STORAGE.get(table, "")
        with connection.transaction():
            exists = connection.execute("SELECT to_regclass(%s)", (f"{table}_of_{number}",)).fetchone()
            if exists is not None and exists[0] is not None:
                continue
            connection.execute(
                sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS)" + storage).format(partition, whole)
            )
            connection.execute(
                sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})").format(
                    whole, partition, sql.Literal(number)
                )
            )


def _place(connection: _Connection, number: int, placements: list[int]) -> None:
    """Store which partitions hold the rows of the tenant. Changes nothing if the tenant is only in its own partition already."""
    with connection.transaction():
        as_tenant(connection, number)
        row = connection.execute(_LOCK_TENANT, {"tenant": number}).fetchone()
        if row is None:  # without this row, the rows that are moved would not be found
            raise NotFound(f"The tenant {number} is gone.", hint="It was removed in the meantime.")
        if row[0] != [number]:
            connection.execute(_PLACE, {"tenant": number, "placements": placements})


def _move(connection: _Connection, number: int, batch: int) -> int:
    """Move the next memories with all their rows. Return the number of memories; 0 = all are moved."""
    with connection.transaction():
        as_tenant(connection, number)
        values: dict[str, object] = {"tenant": number, "batch": batch}
        connection.execute(_LOCK_TENANT, values)
        values["numbers"] = [row[0] for row in connection.execute(_NEXT, values)]
        for table in reversed(PARTITIONED):
            connection.execute(sql.SQL(_MOVE).format(table=sql.Identifier(table)), values)
        return len(cast("list[int]", values["numbers"]))


def index_vectors(connection: _Connection, number: int) -> None:
    """Build an HNSW index for each embedder while the tenant is read and written. Searches use the indexes once all of them are built."""
    with connection.transaction():
        as_tenant(connection, number)
        identities = cast(
            "list[tuple[int, int]]", connection.execute(_IDENTITIES, {"tenant": number}).fetchall()
        )
    table = partition_of("vectors", number)
    for identity, dimensions in identities:
        name = f"vectors_of_{number}_near_{identity}"
        valid = connection.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%(name)s)", {"name": name}
        ).fetchone()
        if valid is not None and valid[0]:
            continue
        connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(
            sql.SQL(
                "CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops)"
                " WHERE identity = {identity} AND active"
            ).format(
                name=sql.Identifier(name),
                table=table,
                dimensions=sql.Literal(dimensions),
                identity=sql.Literal(identity),
            )
        )
    with connection.transaction():
        as_tenant(connection, number)
        indexed = [identity for identity, _ in identities]
        connection.execute(_INDEXED, {"tenant": number, "indexed": indexed})
