"""Opens connections, and runs transactions. In: a connection string, a tenant, a function. Out: the result of the function, run in one transaction.

Every transaction begins by setting its tenant for row-level security. The setting ends with the transaction, so that a pooler may give the connection
to another tenant afterwards. Every statement names the tenant as well. A lost connection is replaced: a read is repeated, a write only if it had not
begun. If a tenant has moved to another shard, the transaction begins there. Never connects as a role that row-level security does not bind.
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
    ADD_TENANT,
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
"""The columns that every transaction reads first. They show whether the database was migrated or the tenant was moved."""
WRITERS = 0x5441434D
"""The class of an advisory lock on the number of a tenant. Writers of the tenant share it; a mover takes it exclusively for a moment."""
WAIT_S = 30.0
"""How long a writer waits for another writer of its tenant, and any transaction for a connection."""

_PROBE_S = 1.0
"""After this wait for a connection, the caller checks whether the server can be reached."""

_MOVES = 6
"""A transaction follows its tenant to another shard at most this many times."""

_NAME_TENANT = "SELECT set_config('tacit.tenant_name', %(name)s, true)"
_ADD_TEAM = """
    INSERT INTO tenants (name, organization) VALUES (%(name)s, %(organization)s) ON CONFLICT (name) DO NOTHING
    RETURNING set_config('tacit.tenant', tenant::text, true)"""
_ADD_MEMBER = """
    INSERT INTO members (tenant, principal, name, role, added_by, added_at_ms, joined_at_ms)
    VALUES (current_setting('tacit.tenant')::bigint, %(principal)s, %(name)s, 'admin', %(by)s, %(now_ms)s, %(now_ms)s)"""
SERVER = "@server"
"""The principal of the server's own transactions in a team. It is a member of every team."""
_PRINCIPAL = re.compile(r"[a-z0-9@][a-z0-9/-]{0,99}")
"""The form of a principal: an account, a service account or `SERVER`."""


class TenantUnseen(StoreError):
    """The tenant does not exist, or the principal of the transaction is not a member of it."""


def observe_nothing(_statement: str) -> None:
    """Ignore a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The connection strings of other databases, as the application's role.

    Attributes:
        primary: returns the connection string of a shard, by its name; "" = there is none.
        replica: returns the connection string of a replica of a shard; the directory is the shard `main`. "" = there is none.
    """

    primary: Callable[[str], str] = lambda _shard: ""
    replica: Callable[[str], str] = lambda _shard: ""


ALONE = Addresses()
"""A single database without shards and replicas."""


class Connections:
    """A pool of connections that the stores of any number of tenants share. Safe to share between threads.

    With several shards, this is the pool of the directory. It opens the pools of the other shards when they are first used.
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
        """Connect once, check the role, the schema and the database, and open a pool of connections.

        Args:
            dsn: connection string as the application's role.
            min_size: number of connections that stay open.
            max_size: largest number of connections.
            wait_s: how long to wait for a connection, and for another writer of the tenant, in seconds.
            prepare_threshold: number of uses after which a statement is prepared. None = never, which works with poolers and lets the planner
                see the tenant each time.
            observe: called with every statement.
            addresses: the connection strings of shards and replicas.
            max_lag_s: a replica that is further behind its primary, in seconds, is not used.
            shard: the name of the shard that the database must be.
            directory: the id of the directory that the database must belong to; "" = any.

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
        # The first connection is made outside the pool, so that a wrong password or a server that is down is reported at once, and not after a timeout.
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
        """Return a connection. `extra` = a new one outside the pool, for a thread that already holds a connection of the pool."""
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
        """Connect once outside the pool. This fails at once if no server answers; the pool would retry until its timeout."""
        psycopg.connect(self.dsn, **self._keywords).close()

    def give_back(self, connection: _Connection, *, extra: bool) -> None:
        """Give a borrowed connection back. The pool replaces a broken one."""
        if extra:
            connection.close()
        else:
            self._pool.putconn(connection)

    def replace_broken(self) -> None:
        """Check every idle connection, and replace the lost ones.

        Raises:
            psycopg.Error: no connection can be made at all.
        """
        self._probe()
        self._pool.check()

    @contextmanager
    def named(self, name: str) -> Generator[_Connection]:
        """Run a transaction on this database that sees the row and the route of the tenant called `name`. A lost connection is replaced before it begins."""
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
        """Return whether a connection to the shard is configured."""
        return shard == self._shard or bool(self._addresses.primary(shard))

    def shard(self, name: str) -> Connections:
        """Return the connections to the shard called `name`. They are opened at the first call.

        Raises:
            StoreError: the shard has no connection, cannot be reached, or the connection leads to another database.
        """
        if name == self._shard:
            return self
        with self._opening:
            if name not in self._shards:
                dsn = self._addresses.primary(name)
                if not dsn:
                    raise StoreError(
                        f"The shard {name} has no connection here.",
                        hint=f"Set {shard_variable(name)} for every process of the server, and restart the processes.",
                    )
                self._shards[name] = Connections(dsn, shard=name, directory=self._directory, **self._as_here)
            return self._shards[name]

    def has_tenant(self, name: str) -> bool:
        """Return whether there is a tenant called `name`. Does not create one."""
        return find_place(self, name) is not None

    def locate(self, name: str) -> Place:
        """Return the location of the tenant called `name`. Adds the tenant if it does not exist."""
        place = self._places[name] = make_place(self, name)
        return place

    def find(self, name: str, *, again: bool = False) -> Place | None:
        """Return the location of the tenant called `name`, or None if there is no such tenant.

        The location may be cached and outdated. If the tenant is not there, `Database` calls this with `again`.
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
        """Add a tenant. Return False if one with this name exists already, even if it was added at the same moment."""
        added = False

        def add(connection: _Connection) -> None:
            nonlocal added
            added = connection.execute(ADD_TENANT, {"name": name}).rowcount > 0

        make_place(self, name, add=add)
        return added

    def add_team(self, name: str, *, organization: str, admins: Mapping[str, str], now_ms: int) -> bool:
        """Add the tenant of a team with its first administrators (names by principal). Return False if the tenant exists already."""
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
    """The database of one tenant: runs transactions on the shard that holds the tenant. Safe to share between threads."""

    def __init__(self, connections: Connections, tenant: str, *, principal: str = "") -> None:
        """Open the database of `tenant`.

        Args:
            connections: the connections to the directory.
            tenant: the name of the tenant. Without a principal, a tenant that does not exist is added.
            principal: the principal of the transactions; the database shows a team only to its members. "" = no principal.

        Raises:
            TenantUnseen: a principal is given, and there is no such tenant.
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
        """Return the number of the tenant on the shard where it was last found."""
        return self._place.tenant

    def close(self) -> None:
        """Refuse later calls."""
        self._closed = True

    def reading(self, work: Callable[[Transaction], _T], *, stale: bool = False) -> _T:
        """Run `work` in a read-only transaction that shows one state, and return its result. If the connection is lost, it is run once more.

        Inside `at_once` of the same thread, `work` runs in that transaction and is not repeated.

        Args:
            work: reads; may be called twice.
            stale: allow a state that is some seconds old, so that a replica may serve it. Writes of this object are always in it.
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
        """Run `work` in a transaction, commit it, and return the result. If anything is raised, the transaction is undone.

        Args:
            work: reads and writes; never called twice.
            durable: wait until the commit survives a crash of the server.
            alone: exclude other writers of the tenant; for everything that counts as a change of a memory.

        Raises:
            StoreError: see `translate`; nothing was written, unless the error says that this is unknown.
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
        """Run all reads of this thread inside the block in one transaction, so that they see one state."""
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
            # A search takes some milliseconds. Parallel workers for it would take processors from other tenants.
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
            # The lock has a statement of its own: it may wait for a mover, and only a statement that begins afterwards sees the mover's commit.
            f" SELECT pg_advisory_xact_lock_shared({WRITERS}, {tenant % 2**31});"
            f" SELECT {_STATE} FROM tenants WHERE tenant = {tenant}"
            f"{' FOR NO KEY UPDATE' if alone else ''}"
        )

    def _reading_replica(self, work: Callable[[Transaction], _T]) -> tuple[_T] | None:
        """Return the result of `work` on the replica in a tuple; None = the replica cannot be used now."""
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
        """Run a transaction on the tenant's shard. `again` = if the connection is lost at the beginning, try another one."""
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
        """Begin a transaction on the tenant's shard. If the tenant has moved, look up its new shard and begin there."""
        for _ in range(_MOVES):
            place = self._place
            try:
                connection, transaction = self._begun_at(place, begin, extra=extra, again=again)
            except (psycopg.Error, StoreError):
                # The shard may have been removed after the tenant moved away.
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
        """Return whether the directory names another shard than `place`. If so, use that shard for later transactions."""
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
        """Begin a transaction at `place`. Return None instead of the transaction if the tenant is not there."""
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
    """Return the SQL that sets the principal at the beginning of a transaction."""
    if not principal:
        return ""
    if not _PRINCIPAL.fullmatch(principal):
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
