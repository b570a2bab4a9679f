"""Connections, and how transactions begin and end. In: how to connect, a tenant, work to do. Out: what the work returns, in one transaction.

Every transaction begins by naming its tenant to row-level security, for itself alone, so that poolers in between may hand its
connection to anybody afterwards. Every statement names the tenant as well. A lost connection is replaced: a read is done once more,
a write only where it had not begun. A tenant that moved to another shard is followed there before the work begins. Never connects as a
role that row-level security does not bind.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from tacit.backends.postgres.failures import closed, is_lost, translate
from tacit.backends.postgres.replicas import LOOK_S, MAX_LAG_S, Replica
from tacit.backends.postgres.roles import refuse_unbound_role
from tacit.backends.postgres.schema import refuse_newer, refuse_other_schema
from tacit.backends.postgres.shards.routing import (
    HOME,
    Place,
    find_place,
    forget_place,
    make_place,
    refuse_other_database,
)
from tacit.backends.postgres.transaction import Observe, Transaction
from tacit.config.databases import shard_variable
from tacit.errors import StoreBusy, StoreError

_T = TypeVar("_T")
_Connection = psycopg.Connection[tuple[Any, ...]]
_State = tuple[list[int], int, list[int], str, str | None, int]
_STATE = "placements, change, indexed, (SELECT version_num FROM alembic_version), moved_to, stay"
"""What every transaction reads first: also whether somebody has migrated the database or moved the tenant meanwhile."""
WRITERS = 0x5441434D
"""Every writer shares the advisory lock of this class and its tenant's number; who moves the tenant has it alone for a moment."""
WAIT_S = 30.0
"""A writer waits so long for another writer of its tenant, and anybody for a connection."""

_PROBE_S = 1.0
"""Whoever waits so long for a connection looks whether there is a server."""

_MOVES = 6
"""A transaction follows its tenant so often from shard to shard."""

_ADD_TENANT = "INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING"
_NAME_TENANT = "SELECT set_config('tacit.tenant_name', %(name)s, true)"
_ADD_TEAM = """
    INSERT INTO tenants (name, organization) VALUES (%(name)s, %(organization)s) ON CONFLICT (name) DO NOTHING
    RETURNING set_config('tacit.tenant', tenant::text, true)"""
_ADD_MEMBER = """
    INSERT INTO members (tenant, principal, name, role, added_by, added_at_ms, joined_at_ms)
    VALUES (current_setting('tacit.tenant')::bigint, %(principal)s, %(name)s, 'admin', %(by)s, %(now_ms)s, %(now_ms)s)"""
SERVER = "@server"
"""The principal of what is done for a team by nobody of it; a member of every team."""
PRINCIPAL = re.compile(r"[a-z0-9@][a-z0-9/-]{0,99}")
"""What a transaction may name as the one it is done for."""


class TenantUnseen(StoreError):
    """The tenant is not there, or the principal of the transaction is not a member."""


def observe_nothing(_statement: str) -> None:
    """Look at no statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where other databases are.

    Attributes:
        primary: the connection to the shard of a name, as the application's role; "" = there is none.
        replica: the connection to a replica of that shard, or of the directory by the name `main`; "" = there is none.
    """

    primary: Callable[[str], str] = lambda _shard: ""
    replica: Callable[[str], str] = lambda _shard: ""


ALONE = Addresses()
"""One database, and nothing beside it."""


class Connections:
    """A pool of connections that the stores of any number of tenants share. Safe to share between threads.

    Where there are several shards it is the one to the directory, and opens those to the shards as they are asked for.
    """

    def __init__(
        self,
        dsn: str,
        *,
        min_size: int = 1,
        max_size: int = 8,
        wait_s: float = WAIT_S,
        prepare_threshold: int | None = None,
        observe: Observe = observe_nothing,
        addresses: Addresses = ALONE,
        max_lag_s: float = MAX_LAG_S,
        shard: str = HOME,
        directory: str = "",
    ) -> None:
        """Connect once, check that the role, the schema and the database are the expected ones, and open a pool of connections.

        Args:
            dsn: how to connect as the application's role.
            min_size: connections that stay open.
            max_size: connections at most.
            wait_s: how long to wait for a connection, and for another writer of the tenant.
            prepare_threshold: after so many uses a statement is prepared; None = never, which is right behind poolers
                and lets the planner see the tenant each time.
            observe: told of every statement.
            addresses: where shards and replicas are.
            max_lag_s: a replica that is further behind is not asked.
            shard: which shard the database is; the directory, unless something else is said.
            directory: the id of its directory; "" = any.

        Raises:
            StoreNewer: a newer Tacit wrote the schema.
            StoreError: the database cannot be reached, is not set up, is another shard, or row-level security does not bind the role.
        """
        self.dsn = dsn
        self.wait_s = wait_s
        self.observe = observe
        self._keywords: dict[str, Any] = {"autocommit": True, "prepare_threshold": prepare_threshold}
        self._shard, self._addresses = shard, addresses
        self._shards: dict[str, Connections] = {}
        self._places: dict[str, Place] = {}
        self._opening = threading.Lock()
        self._as_here: dict[str, Any] = {
            "min_size": min_size, "max_size": max_size, "wait_s": wait_s, "prepare_threshold": prepare_threshold,
            "observe": observe, "addresses": addresses, "max_lag_s": max_lag_s,
        }  # fmt: skip
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            dsn, min_size=min_size, max_size=max_size, timeout=wait_s, kwargs=self._keywords, open=False
        )
        # Once outside the pool: a wrong password or a server that is down says so now, and not by a timeout.
        try:
            with psycopg.connect(dsn, **self._keywords) as connection:
                refuse_other_schema(connection)
                refuse_unbound_role(connection)
                self._directory = refuse_other_database(connection, shard, directory)
        except psycopg.Error as error:
            raise translate(error) from error
        self._pool.open()
        self.replica: Replica | None = None
        if copy := addresses.replica(shard):
            self.replica = Replica(
                copy,
                keywords=self._keywords,
                shard=shard,
                directory=self._directory,
                max_size=max_size,
                max_lag_s=max_lag_s,
            )

    def borrow(self, *, extra: bool) -> _Connection:
        """A connection; an `extra` one is opened beside the pool, for a thread that holds one of the pool's already."""
        try:
            if extra:
                return psycopg.connect(self.dsn, **self._keywords)
            with suppress(PoolTimeout):
                return self._pool.getconn(timeout=min(_PROBE_S, self.wait_s))
            self._probe()
            return self._pool.getconn(timeout=self.wait_s)
        except psycopg.Error as error:
            raise translate(error) from error

    def _probe(self) -> None:
        """Connect once: without a server the pool would try for as long as anybody waits."""
        psycopg.connect(self.dsn, **self._keywords).close()

    def give_back(self, connection: _Connection, *, extra: bool) -> None:
        """Give back what was borrowed; what is broken is replaced."""
        if extra:
            connection.close()
        else:
            self._pool.putconn(connection)

    def replace_broken(self) -> None:
        """Look at every idle connection, and replace those that are gone.

        Raises:
            psycopg.Error: no connection can be made at all.
        """
        self._probe()
        self._pool.check()

    @contextmanager
    def named(self, name: str) -> Generator[_Connection]:
        """A transaction on this database that may see the tenant called `name`, its number and its route; a lost connection is replaced before."""
        try:
            connection = self._begun_for(name)
            try:
                yield connection
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                self.give_back(connection, extra=False)
        except psycopg.Error as error:
            raise translate(error) from error

    def _begun_for(self, name: str, *, again: bool = True) -> _Connection:
        connection = self.borrow(extra=False)
        try:
            connection.execute("BEGIN")
            connection.execute(_NAME_TENANT, {"name": name})
        except psycopg.Error as error:
            _abandon(self, connection, extra=False)
            if not (again and is_lost(error)):
                raise
            self.replace_broken()
            return self._begun_for(name, again=False)
        return connection

    def reaches(self, shard: str) -> bool:
        """Whether there is a connection to the shard."""
        return shard == self._shard or bool(self._addresses.primary(shard))

    def shard(self, name: str) -> Connections:
        """The connections to the shard called `name`, which are opened where nobody asked for them before.

        Raises:
            StoreError: it has no connection, cannot be reached, or is another database.
        """
        if name == self._shard:
            return self
        with self._opening:
            if name not in self._shards:
                dsn = self._addresses.primary(name)
                if not dsn:
                    raise StoreError(
                        f"The shard {name} has no connection here.",
                        hint=f"Set {shard_variable(name)} for every process of the server, and start it again.",
                    )
                self._shards[name] = Connections(dsn, shard=name, directory=self._directory, **self._as_here)
            return self._shards[name]

    def has_tenant(self, name: str) -> bool:
        """Whether there is a tenant called `name`; asking makes none."""
        return find_place(self, name) is not None

    def locate(self, name: str) -> Place:
        """Return where the tenant called `name` lies, and add a tenant that does not exist yet."""
        place = self._places[name] = make_place(self, name)
        return place

    def find(self, name: str, *, again: bool = False) -> Place | None:
        """Return where the tenant called `name` lies, or None if there is no such tenant.

        The answer may be an earlier one: `Database` notices that a tenant has left that place, and asks `again`.
        """
        place = None if again else self._places.get(name)
        if place is None:
            place = find_place(self, name)
            if place is None:
                self._places.pop(name, None)
            else:
                self._places[name] = place
        return place

    def forget(self, name: str) -> None:
        """Remove the route of a tenant that was removed."""
        self._places.pop(name, None)
        forget_place(self, name)

    def add_tenant(self, name: str) -> bool:
        """Add a tenant; False where there is one of that name already, even if somebody added it this very moment."""
        added = False

        def add(connection: _Connection) -> None:
            nonlocal added
            added = connection.execute(_ADD_TENANT, {"name": name}).rowcount > 0

        make_place(self, name, add=add)
        return added

    def add_team(self, name: str, *, organization: str, admins: Mapping[str, str], now_ms: int) -> bool:
        """Add the tenant of a team with its first administrators, names by principal; False where there is one already."""
        added = False

        def add(connection: _Connection) -> None:
            nonlocal added
            values = {"name": name, "organization": organization}
            added = connection.execute(_ADD_TEAM, values).fetchone() is not None
            for principal, called in admins.items() if added else ():
                values = {"principal": principal, "name": called, "by": "", "now_ms": now_ms}
                connection.execute(_ADD_MEMBER, values)

        make_place(self, name, add=add)
        return added

    def close(self) -> None:
        """Close every connection."""
        for shard in self._shards.values():
            shard.close()
        if self.replica is not None:
            self.replica.close()
        self._pool.close()


class _Here(threading.local):
    transaction: Transaction | None = None


class Database:
    """What one tenant stores. Safe to share between threads."""

    def __init__(self, connections: Connections, tenant: str, *, principal: str = "") -> None:
        """Open what `tenant` stores.

        Args:
            connections: to the directory.
            tenant: its name; it comes to be where it is new, but for a team.
            principal: whom the transactions are done for: the database shows a team to its members alone. "" = nobody in particular.

        Raises:
            TenantUnseen: if there is no such team.
        """
        self._directory = connections
        self._name = tenant
        self._principal = _named_for(principal)
        place = connections.find(tenant) if principal else connections.locate(tenant)
        if place is None:
            raise TenantUnseen("There is no such tenant.")
        self._place = place
        self._here = _Here()
        self._wrote_at = float("-inf")
        self._closed = False

    @property
    def tenant(self) -> int:
        """The tenant's number, on the shard where it was last seen."""
        return self._place.tenant

    def close(self) -> None:
        """Refuse later calls."""
        self._closed = True

    def reading(self, work: Callable[[Transaction], _T], *, stale: bool = False) -> _T:
        """What `work` returns, in a transaction that shows one state; done once more where the connection is lost.

        Inside `at_once` of the same thread it is that transaction, and is not repeated.

        Args:
            work: reads, and may be done twice.
            stale: a state of some seconds ago will do, so that a replica may serve it; what this object wrote is in it in any case.
        """
        outer = self._here.transaction
        if outer is not None and not self._closed:
            with _errors_of_the_store():
                return work(outer)
        if stale and (found := self._reading_replica(work)):
            return found[0]
        try:
            with self._transaction(self._begin_reading) as transaction:
                return work(transaction)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translate(error) from error
        with _errors_of_the_store():
            self._place.connections.replace_broken()
            with self._transaction(self._begin_reading) as transaction:
                return work(transaction)

    def writing(self, work: Callable[[Transaction], _T], *, durable: bool, alone: bool) -> _T:
        """What `work` returns, in a transaction that is committed at the end, or undone when anything is raised.

        Args:
            work: never done twice.
            durable: wait until it survives a crash of the server.
            alone: no other writer of the tenant at the same time; for all that counts as a change of a memory.

        Raises:
            StoreError: see `translate`; nothing was written, unless it says that this is not known.
        """

        def begin(tenant: int) -> str:
            return self._begin_writing(tenant, durable=durable, alone=alone)

        try:
            with _errors_of_the_store(), self._transaction(begin, again=True) as transaction:
                return work(transaction)
        finally:
            self._wrote_at = time.monotonic()

    @contextmanager
    def at_once(self) -> Generator[None]:
        """Inside, all that this thread reads shows one state."""
        if self._here.transaction is not None:
            yield
            return
        with _errors_of_the_store(), self._transaction(self._begin_reading, again=True) as transaction:
            self._here.transaction = transaction
            try:
                yield
            finally:
                self._here.transaction = None

    def _begin_reading(self, tenant: int) -> str:
        return (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            # Workers would take the processors of other tenants for a search that lasts some milliseconds.
            f" SELECT set_config('tacit.tenant', '{tenant}', true), set_config('max_parallel_workers_per_gather', '0', true)"
            f"{self._principal};"
            f" SELECT {_STATE} FROM tenants WHERE tenant = {tenant}"
        )

    def _begin_writing(self, tenant: int, *, durable: bool, alone: bool) -> str:
        lazily = "" if durable else ", set_config('synchronous_commit', 'off', true)"
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED;"
            f" SELECT set_config('tacit.tenant', '{tenant}', true),"
            f" set_config('lock_timeout', '{int(self._directory.wait_s * 1000)}ms', true){lazily}{self._principal};"
            # A statement of its own: what comes after it sees what a mover did meanwhile.
            f" SELECT pg_advisory_xact_lock_shared({WRITERS}, {tenant % 2**31});"
            f" SELECT {_STATE} FROM tenants WHERE tenant = {tenant}"
            f"{' FOR NO KEY UPDATE' if alone else ''}"
        )

    def _reading_replica(self, work: Callable[[Transaction], _T]) -> tuple[_T] | None:
        """What `work` returns on the replica; None where it cannot serve this now."""
        place, replica = self._place, self._place.connections.replica
        if replica is None or self._closed:
            return None
        if time.monotonic() < self._wrote_at + replica.max_lag_s + LOOK_S or not replica.usable():
            return None
        try:
            connection = replica.borrow()
            try:
                transaction = self._started(connection, place, self._begin_reading)
                return None if transaction is None else (work(transaction),)
            finally:
                replica.give_back(connection)
        except psycopg.Error as error:
            if is_lost(error) or isinstance(error, PoolTimeout):
                replica.leave_alone(str(error).strip())
            return None

    @contextmanager
    def _transaction(self, begin: Callable[[int], str], *, again: bool = False) -> Generator[Transaction]:
        """A transaction on a connection of the pool. `again`: where the connection turns out to be lost at the very beginning, take another."""
        if self._closed:
            raise closed()
        extra = self._here.transaction is not None
        connections, connection, transaction = self._begun(begin, extra=extra, again=again)
        try:
            yield transaction
            self._commit(connection)
        except BaseException:
            with suppress(psycopg.Error):
                connection.rollback()
            raise
        finally:
            connections.give_back(connection, extra=extra)

    def _begun(
        self, begin: Callable[[int], str], *, extra: bool, again: bool
    ) -> tuple[Connections, _Connection, Transaction]:
        """A transaction where the tenant lies, which is looked for again where it has moved."""
        for _ in range(_MOVES):
            place = self._place
            try:
                connection, transaction = self._begun_at(place, begin, extra=extra, again=again)
            except (psycopg.Error, StoreError):
                # Its shard may be gone for good, with the tenant moved off long ago.
                if not self._follow_elsewhere(place):
                    raise
                continue
            if transaction is not None:
                return place.connections, connection, transaction
            _abandon(place.connections, connection, extra=extra)
            found = self._directory.find(self._name, again=True)
            if found is None or (self._principal and found == place):
                raise TenantUnseen(
                    "The tenant was removed from the database, or is not shown to the principal.",
                    hint="Open its store again.",
                )
            self._place = found
        raise StoreBusy("The tenant moves from shard to shard; nothing was stored.", hint="Try again.")

    def _follow_elsewhere(self, place: Place) -> bool:
        """Whether the tenant lies on another shard now than it did; then it is looked for there from here on."""
        if place.connections is self._directory:
            return False
        with suppress(StoreError):
            found = self._directory.find(self._name, again=True)
            if found is not None and found.connections is not place.connections:
                self._place = found
                return True
        return False

    def _begun_at(
        self, place: Place, begin: Callable[[int], str], *, extra: bool, again: bool
    ) -> tuple[_Connection, Transaction | None]:
        """A transaction at `place`; None for one that the tenant has left."""
        connections = place.connections
        connection = connections.borrow(extra=extra)
        try:
            return connection, self._started(connection, place, begin)
        except psycopg.Error as error:
            _abandon(connections, connection, extra=extra)
            if not (again and is_lost(error)):
                raise
            connections.replace_broken()
            return self._begun_at(place, begin, extra=extra, again=False)
        except BaseException:
            _abandon(connections, connection, extra=extra)
            raise

    def _started(
        self, connection: _Connection, place: Place, begin: Callable[[int], str]
    ) -> Transaction | None:
        cursor = connection.execute(begin(place.tenant).encode())
        while cursor.nextset():
            pass
        row = cursor.fetchone()
        if row is None:
            return None
        placements, change, indexed, version, moved_to, stay = cast("_State", row)
        refuse_newer(int(version))
        if moved_to is not None:
            return None
        return Transaction(
            tenant=place.tenant,
            placements=tuple(placements),
            change=change,
            indexed=tuple(indexed),
            _connection=connection,
            _observe=self._directory.observe,
            _scopes={},
            stay=stay,
        )

    def _commit(self, connection: _Connection) -> None:
        try:
            connection.commit()
        except psycopg.Error as error:
            raise translate(error, written=True) from error


def _named_for(principal: str) -> str:
    """What names the principal at the beginning of a transaction."""
    if not principal:
        return ""
    if not PRINCIPAL.fullmatch(principal):
        raise StoreError(f"{principal[:40]!r} cannot name a principal.")
    return f", set_config('tacit.principal', '{principal}', true)"


def _abandon(connections: Connections, connection: _Connection, *, extra: bool) -> None:
    with suppress(psycopg.Error):
        connection.rollback()
    connections.give_back(connection, extra=extra)


@contextmanager
def _errors_of_the_store() -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
