"""Moves a tenant to another shard while it is used. In: connections of owners, a tenant, a shard. Out: the tenant on that shard.

The mover copies the rows while the tenant is written, then the rows that changed in the meantime, until few are left. Then it takes the tenant's lock, so
that writers wait for a moment, copies the rest, and marks the tenant's row at the old shard as moved. With that commit, the tenant is on the new
shard. A transaction that begins at the old shard with an old route finds the mark before it reads or writes, and begins again at the new shard.

The route names the other shard as long as rows of the tenant may lie there. So the next mover can finish what a killed one began: if the mark is set, it
finishes the move; if not, it removes the copy. One move or promotion runs in a database at a time. Never touches another tenant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from psycopg import errors, sql

from tacit.backends.postgres.connection import WRITERS
from tacit.backends.postgres.failures import translate
from tacit.backends.postgres.promotion import LOCK, PARTITIONED, as_tenant, index_vectors, make_partitions
from tacit.backends.postgres.schema import refuse_other_schema
from tacit.backends.postgres.shards.copying import Copy, refuse_hidden_rows, remove_rows
from tacit.backends.postgres.shards.routing import HOME, refuse_other_database, unknown_shard
from tacit.errors import NotFound, StoreBusy, StoreError
from tacit.ports.store import Step, no_step

FEW_ROWS = 500
"""The writers are made to wait when a pass copied at most this many rows, or after `MAX_PASSES` passes."""
MAX_PASSES = 8
_STOPS = 20
"""The mover tries to get the lock of the tenant at most this many times."""
_STOP_WAIT_MS = 2_000
"""How long the mover waits for the writers that hold the lock, in milliseconds. Other writers queue behind the mover during this time."""
_STOP_MS = 20_000
"""How long a statement of the mover may take while writers wait, in milliseconds."""

OwnerUrl = Callable[[str], str]
"""Returns the connection string of a shard as the role that owns its tables."""
_Connection = psycopg.Connection[tuple[Any, ...]]

_IS_SHARD = "SELECT name FROM shards WHERE name = %(shard)s"
_READ_ROUTE = "SELECT shard, also_on FROM routes WHERE name = %(name)s"
_BEGIN_MOVE = "UPDATE routes SET also_on = %(other)s WHERE name = %(name)s AND shard = %(shard)s"
_SWITCH_ROUTE = "UPDATE routes SET shard = %(shard)s, also_on = %(other)s WHERE name = %(name)s AND shard = %(other)s RETURNING name"
_END_MOVE = "UPDATE routes SET also_on = NULL WHERE name = %(name)s"
_REMOVE_ROUTE = "DELETE FROM routes WHERE name = %(name)s RETURNING shard"
_ADD_TO_COUNT = "UPDATE shards SET tenants = tenants + %(more)s WHERE name = %(shard)s"
_SHOW_NAME = "SELECT set_config('tacit.tenant_name', %(name)s, false)"
_FIND_ROW = "SELECT tenant, placements, moved_to, stay FROM tenants WHERE name = %(name)s"
_ADD_ROW = """
    INSERT INTO tenants (name, moved_to, stay) VALUES (%(name)s, %(source)s, %(stay)s) RETURNING tenant"""
_PLACE_ROW = "UPDATE tenants SET placements = %(placements)s WHERE tenant = %(tenant)s"
_ARRIVE = "UPDATE tenants SET moved_to = NULL WHERE tenant = %(tenant)s"
_LEAVE = "UPDATE tenants SET moved_to = %(shard)s WHERE tenant = %(tenant)s AND moved_to IS NULL"
_REMOVE_ROW = "DELETE FROM tenants WHERE tenant = %(tenant)s"
_PARTITION_STATE = """
    SELECT i.inhdetachpending FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
    WHERE c.relname = %(partition)s AND c.relnamespace = 'public'::regnamespace"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The result of a move.

    Attributes:
        source: the shard that held the tenant before.
        rows: number of rows that were copied; rows that changed during the move count again.
        passes: number of passes over the changed rows.
        stopped_ms: how long the writers of the tenant waited, in milliseconds.
    """

    source: str
    rows: int = 0
    passes: int = 0
    stopped_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A tenant's row on a shard."""

    tenant: int
    placements: list[int]
    moved_to: str | None
    stay: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Route:
    """The route of a tenant: its shard, and the other shard that may hold rows of it."""

    shard: str
    also_on: str | None


def move_tenant(name: str, shard: str, *, owner_url: OwnerUrl, step: Step = no_step) -> Moved:
    """Move the tenant called `name` to `shard`. If an earlier move was interrupted, it is first finished or undone.

    Args:
        name: the name of the tenant.
        shard: the shard to move it to.
        owner_url: returns a direct connection string as the owner (no pooler in between), by shard; the directory is `main`.
        step: called with the name of every step.

    Raises:
        NotFound: there is no such tenant or shard.
        StoreBusy: the mover did not get the lock of the tenant, or too many rows changed for a short stop. The tenant stays on its shard.
        StoreError: a database cannot be reached or written; call again.
    """
    try:
        with ExitStack() as opened:
            return _Mover(opened, name, owner_url, step).move(shard)
    except psycopg.Error as error:
        raise translate(error) from error


def move_to_end(name: str, *, owner_url: OwnerUrl, step: Step = no_step) -> str:
    """Finish or undo a move that was interrupted. Return the shard that then holds the tenant.

    Raises:
        NotFound: there is no such tenant.
        StoreError: a database cannot be reached or written; call again.
    """
    try:
        with ExitStack() as opened:
            return _Mover(opened, name, owner_url, step).settle()
    except psycopg.Error as error:
        raise translate(error) from error


class _Mover:
    """Moves one tenant, with connections to the directory and to both shards."""

    def __init__(self, opened: ExitStack, name: str, owner_url: OwnerUrl, step: Step) -> None:
        self._opened, self._name, self._owner_url, self._step = opened, name, owner_url, step
        self._directory_id = ""
        self._directory = self._connect(HOME)
        self._shards: dict[str, _Connection] = {}

    def move(self, shard: str) -> Moved:
        """Move the tenant to `shard`, unless it is there already."""
        if self._directory.execute(_IS_SHARD, {"shard": shard}).fetchone() is None:
            raise unknown_shard(self._directory, shard)
        route = self._held_route(shard)
        source = self._settled(route)
        if source == shard:
            return Moved(source=source)
        try:
            moved = self._carry(source, shard)
        except NotFound:  # the tenant was removed in the meantime
            self._settled(self._route())
            raise
        self._end(_Route(shard=shard, also_on=source))
        return moved

    def settle(self) -> str:
        """Finish or undo an interrupted move. Return the shard that then holds the tenant."""
        return self._settled(self._held_route())

    # --- the directory

    def _route(self) -> _Route:
        row = self._directory.execute(_READ_ROUTE, {"name": self._name}).fetchone()
        if row is None:
            raise NotFound(
                f"No tenant {self._name!r}.",
                hint="The tenant of an account is called account:NAME. A tenant is added when it is first used.",
            )
        return _Route(shard=str(row[0]), also_on=None if row[1] is None else str(row[1]))

    def _held_route(self, *further: str) -> _Route:
        """Return the route, and lock every database that it or `further` names. The order of names keeps two movers from blocking each other."""
        while True:
            route = self._route()
            names = {route.shard, route.also_on or route.shard, *further}
            with ExitStack() as opened:
                for name in sorted(names):
                    self._hold(opened, name)
                if self._route() == route:
                    self._opened.push(opened.pop_all())
                    return route
            self._shards.clear()

    def _hold(self, opened: ExitStack, shard: str) -> None:
        connection = self._connect(shard, opened)
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (LOCK,)).fetchone()
        if row is None or not row[0]:
            self._step(f"waiting for another move or promotion on {shard}")
            connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        connection.execute(_SHOW_NAME, {"name": self._name})
        self._shards[shard] = connection

    def _connect(self, shard: str, opened: ExitStack | None = None) -> _Connection:
        url = self._owner_url(shard)
        if not url:
            raise StoreError(
                f"The shard {shard} has no connection as the owner of its tables.",
                hint="`tacit-server shards` lists the variables to set.",
            )
        connection = psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor)
        (opened or self._opened).callback(connection.close)
        refuse_other_schema(connection)
        self._directory_id = refuse_other_database(connection, shard, self._directory_id)
        # These commits determine the shard of a tenant, so they must survive a crash of the server.
        connection.execute("SET synchronous_commit = on")
        # The planner has no statistics of temporary tables and of a tenant that was just filled. It would choose nested loops that take hours.
        connection.execute("SET enable_nestloop = off")
        connection.execute("SET work_mem = '64MB'")
        return connection

    # --- interrupted moves

    def _settled(self, route: _Route) -> str:
        """Finish or undo an interrupted move with this route. Return the shard that then holds the tenant."""
        row = self._row(route.shard)
        if row is not None and row.moved_to is not None and row.moved_to == route.also_on:
            route = self._switch(route.shard, row.moved_to)
            row = self._row(route.shard)
        self._end(route)
        if row is None:
            with self._directory.transaction():
                for (shard,) in self._directory.execute(_REMOVE_ROUTE, {"name": self._name}).fetchall():
                    self._directory.execute(_ADD_TO_COUNT, {"shard": shard, "more": -1})
            raise NotFound(f"The tenant {self._name!r} was removed or never added; there is nothing to move.")
        return route.shard

    def _switch(self, source: str, target: str) -> _Route:
        """Change the route to the shard that the mark at the source names. Return the new route."""
        values = {"name": self._name, "shard": target, "other": source}
        with self._directory.transaction():
            if self._directory.execute(_SWITCH_ROUTE, values).fetchone():
                self._directory.execute(_ADD_TO_COUNT, {"shard": source, "more": -1})
                self._directory.execute(_ADD_TO_COUNT, {"shard": target, "more": 1})
        self._step("routed")
        return _Route(shard=target, also_on=source)

    def _end(self, route: _Route) -> None:
        """Delete the tenant's rows on the other shard, and then remove that shard from the route."""
        if route.also_on is None:
            return
        row = self._row(route.also_on)
        if row is not None:
            self._remove(route.also_on, row.tenant)
        self._step("removed")
        self._directory.execute(_END_MOVE, {"name": self._name})
        self._step("ended")

    def _remove(self, shard: str, tenant: int) -> None:
        connection = self._shards[shard]
        partitions = {table: f"{table}_of_{tenant}" for table in PARTITIONED}
        if any(
            connection.execute(_PARTITION_STATE, {"partition": each}).fetchone()
            for each in partitions.values()
        ):
            # REINDEX CONCURRENTLY waits until every transaction that began before the mark has ended. Such a transaction still reads the partition: after
            # a DROP it would not find rows that its snapshot contains.
            connection.execute("REINDEX INDEX CONCURRENTLY this_database_pkey")
            for table, partition in partitions.items():
                _drop_partition(connection, table, partition)
        remove_rows(connection, tenant)
        with _showing(connection, tenant):
            connection.execute(_REMOVE_ROW, {"tenant": tenant})

    # --- the move

    def _row(self, shard: str) -> _Row | None:
        row = self._shards[shard].execute(_FIND_ROW, {"name": self._name}).fetchone()
        return None if row is None else _Row(tenant=row[0], placements=row[1], moved_to=row[2], stay=row[3])

    def _carry(self, source: str, target: str) -> Moved:
        here, there = self._shards[source], self._shards[target]
        for connection in (here, there):
            refuse_hidden_rows(connection)
        row = self._row(source)
        assert row is not None
        self._directory.execute(_BEGIN_MOVE, {"name": self._name, "shard": source, "other": target})
        self._step("begun")
        leftover = self._row(target)
        if leftover is not None:  # rows of an earlier tenant with this name
            self._remove(target, leftover.tenant)
        new, placement = self._make_row(there, source, row)
        copy = Copy(here, there, old=row.tenant, new=new, placement=placement)
        copy.prepare()
        self._step("made")
        rows, passes = self._pass(copy, row.tenant, new), 1
        self._step("copied")
        if placement:
            index_vectors(there, new)
        while passes < MAX_PASSES:
            changed = self._pass(copy, row.tenant, new)
            rows, passes = rows + changed, passes + 1
            if changed <= FEW_ROWS:
                break
        self._step("caught up")
        for _ in range(_STOPS):
            with suppress(errors.LockNotAvailable), _alone(here, row.tenant):
                began = time.monotonic()
                self._step("stopped")
                rows += self._last_pass(copy, row.tenant, new, target)
                stopped_ms = int((time.monotonic() - began) * 1000)
                break
            rows, passes = rows + self._pass(copy, row.tenant, new), passes + 1
        else:
            raise StoreBusy(
                f"The transactions of {self._name} left no gap to move it; it stays on {source}.",
                hint="Try again. `SELECT * FROM pg_stat_activity` shows transactions that last long.",
            )
        self._step("switched")
        self._switch(source, target)
        return Moved(source=source, rows=rows, passes=passes, stopped_ms=stopped_ms)

    def _make_row(self, there: _Connection, source: str, row: _Row) -> tuple[int, int]:
        """Add the tenant's row at the target. Until the move it names the source as the tenant's shard. Return the number and the placement at the target."""
        values = {"name": self._name, "source": source, "stay": row.stay + 1}
        made = there.execute(_ADD_ROW, values).fetchone()
        assert made is not None
        new = int(made[0])
        if row.placements == [0]:
            return new, 0
        make_partitions(there, new)
        with _showing(there, new):
            there.execute(_PLACE_ROW, {"placements": [new], "tenant": new})
        return new, new

    def _pass(self, copy: Copy, old: int, new: int) -> int:
        """Copy the present state of the source to the target, while writers continue."""
        here, there = copy.connections
        with _showing(there, new), _snapshot(here, old):
            copy.advance_sequences()
            return copy.bring_up()

    def _last_pass(self, copy: Copy, old: int, new: int, target: str) -> int:
        """Copy the last state of the source to the target, and set the mark. Writers of the tenant wait until this ends."""
        here, there = copy.connections
        try:
            with _snapshot(here, old):
                here.execute(f"SET LOCAL statement_timeout = {_STOP_MS}".encode())
                with _showing(there, new):
                    there.execute(f"SET LOCAL statement_timeout = {_STOP_MS}".encode())
                    copy.advance_sequences()
                    changed = copy.bring_up()
                    copy.copy_tenant_row()
                    copy.compare()
                    there.execute(_ARRIVE, {"tenant": new})
                self._step("stored")
                here.execute(_LEAVE, {"shard": target, "tenant": old})
        except errors.QueryCanceled as error:
            raise StoreBusy(
                f"The changes of {self._name} could not be copied within a short stop; it stays where it is.",
                hint="Move it while it writes less.",
            ) from error
        return changed


@contextmanager
def _showing(connection: _Connection, tenant: int) -> Generator[None]:
    """Run a transaction that sees the rows of a tenant."""
    with connection.transaction():
        as_tenant(connection, tenant)
        yield


@contextmanager
def _snapshot(connection: _Connection, tenant: int) -> Generator[None]:
    """Run a transaction that sees the rows of a tenant in one state."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        as_tenant(connection, tenant)
        yield


@contextmanager
def _alone(connection: _Connection, tenant: int) -> Generator[None]:
    """Make all writers of the tenant wait until the end of the block.

    Raises:
        LockNotAvailable: writers held the lock for longer than `_STOP_WAIT_MS`.
    """
    values = {"kind": WRITERS, "tenant": tenant % 2**31}
    connection.execute(f"SET lock_timeout = {_STOP_WAIT_MS}".encode())
    try:
        connection.execute("SELECT pg_advisory_lock(%(kind)s, %(tenant)s)", values)
    finally:
        connection.execute("SET lock_timeout = 0")
    try:
        yield
    finally:
        connection.execute("SELECT pg_advisory_unlock(%(kind)s, %(tenant)s)", values)


def _drop_partition(connection: _Connection, table: str, partition: str) -> None:
    """Drop a partition without a lock that other tenants wait for."""
    row = connection.execute(_PARTITION_STATE, {"partition": partition}).fetchone()
    if row is None:
        return
    names = {"table": sql.Identifier(table), "partition": sql.Identifier(partition)}
    if row[0] is not None:
        way = "FINALIZE" if row[0] else "CONCURRENTLY"
        detach = f"ALTER TABLE {{table}} DETACH PARTITION {{partition}} {way}"
        connection.execute(sql.SQL(cast("Any", detach)).format(**names))
    connection.execute(sql.SQL("DROP TABLE {partition}").format(**names))
