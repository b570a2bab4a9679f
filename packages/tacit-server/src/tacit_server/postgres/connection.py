"""Opens connections, and runs transactions. In: a connection string, a tenant, a function. Out: the result of the function, run in one transaction.

Every transaction begins by setting its tenant for row-level security, and with a look whether its principal is a member, if the tenant is a team. The setting
ends with the transaction, so that a pooler may give the connection to another tenant afterwards. Every statement names the tenant as well. A lost connection is replaced: a read is repeated, a write only if it had not
begun. A role that may bypass row-level security is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolTimeout

from tacit.errors import StoreError
from tacit.model.shared import may
from tacit_server.postgres.failures import is_lost, translate
from tacit_server.postgres.roles import refuse_unbound_role
from tacit_server.postgres.schema import refuse_newer, refuse_other_schema
from tacit_server.postgres.transaction import Observe, Transaction

_T = TypeVar("_T")
_Connection = psycopg.Connection[tuple[Any, ...]]
_SCHEMA = sql.SQL("SELECT version_num FROM alembic_version")
_TENANT = sql.SQL("SELECT organization FROM tenants WHERE tenant = {tenant}")
_IS_MEMBER = sql.SQL(
    "SELECT role FROM members WHERE tenant = {tenant} AND principal = {principal} AND ends_at_ms <> 1"
)
"""What every transaction reads first: whether the database was migrated, whether the tenant is there and a team, and whether the principal is a member of it. `ends_at_ms = 1` is somebody who was invited and did not accept."""
WAIT_S = 30.0
"""How long a writer waits for another writer of its tenant, and any transaction for a connection."""
_PROBE_S = 1.0
"""After this wait for a connection, the caller checks whether the server can be reached."""

_FIND_TENANT = "SELECT tenant FROM tenants WHERE name = %(name)s"
_ADD_TENANT = "INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING"
_ADD_TEAM = """
    INSERT INTO tenants (name, organization) VALUES (%(name)s, %(organization)s) ON CONFLICT (name) DO NOTHING
    RETURNING tenant"""
_ADD_MEMBER = """
    INSERT INTO members (tenant, principal, name, role, added_by, added_at_ms)
    VALUES (%(tenant)s, %(principal)s, %(name)s, 'admin', %(by)s, %(now_ms)s)"""
SERVER = "@server"
"""The principal of the server's own transactions in a team. It is a member of every team."""
_PRINCIPAL = re.compile(r"[a-z0-9@][a-z0-9/-]{0,99}")
"""The form of a principal: an account, a service account or `SERVER`."""


class TenantUnseen(StoreError):
    """The tenant does not exist, or the principal of the transaction is not a member of it."""


def observe_nothing(_statement: str) -> None:
    """Ignore a statement."""


class Connections:
    """A pool of connections that any number of tenants share. Safe to share between threads."""

    def __init__(
        self,
        dsn: str,
        *,
        min_size: int = 1,
        max_size: int = 8,
        wait_s: float = WAIT_S,
        observe: Observe = observe_nothing,
    ) -> None:
        """Connect once, check the role and the schema, and open a pool of connections.

        Args:
            dsn: connection string as the application's role.
            min_size: number of connections that stay open.
            max_size: largest number of connections.
            wait_s: how long to wait for a connection, and for another writer of the tenant, in seconds.
            observe: called with every statement.

        Raises:
            StoreNewer: a newer Tacit wrote the schema.
            StoreError: the database cannot be reached, is not set up, or row-level security does not bind the role.
        """
        self.dsn = dsn
        self.wait_s = wait_s
        self.observe = observe
        # Statements are never prepared: this works with poolers, and lets the planner see the tenant each time.
        self._keywords: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
        self._tenants: dict[str, int] = {}
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            dsn, min_size=min_size, max_size=max_size, timeout=wait_s, kwargs=self._keywords, open=False
        )
        # The first connection is made outside the pool, so that a wrong password or a server that is down is reported at once, and not after a timeout.
        try:
            with psycopg.connect(dsn, **self._keywords) as connection:
                refuse_other_schema(connection)
                refuse_unbound_role(connection)
        except psycopg.Error as error:
            raise translate(error) from error
        self._pool.open()

    def borrow(self) -> _Connection:
        """Return a connection."""
        try:
            with suppress(PoolTimeout):
                return self._pool.getconn(timeout=min(_PROBE_S, self.wait_s))
            self._probe()
            return self._pool.getconn(timeout=self.wait_s)
        except psycopg.Error as error:
            raise translate(error) from error

    def _probe(self) -> None:
        """Connect once outside the pool. This fails at once if no server answers; the pool would retry until its timeout."""
        psycopg.connect(self.dsn, **self._keywords).close()

    def give_back(self, connection: _Connection) -> None:
        """Give a borrowed connection back. The pool replaces a broken one."""
        self._pool.putconn(connection)

    def replace_broken(self) -> None:
        """Check every idle connection, and replace the lost ones.

        Raises:
            psycopg.Error: no connection can be made at all.
        """
        self._probe()
        self._pool.check()

    def check(self) -> None:
        """Check that the database answers and has the schema of this version.

        Raises:
            StoreError: it does not.
        """
        with self._named("") as connection:
            refuse_other_schema(connection)

    # --- tenants

    def find(self, name: str) -> int | None:
        """Return the number of the tenant called `name`; None = there is no such tenant."""
        if name not in self._tenants:
            with self._named(name) as connection:
                row = connection.execute(_FIND_TENANT, {"name": name}).fetchone()
            if row is None:
                return None
            self._tenants[name] = int(row[0])
        return self._tenants[name]

    def find_or_add(self, name: str) -> int:
        """Return the number of the tenant called `name`. Adds the tenant if it does not exist."""
        number = self.find(name)
        if number is None:
            self.add_tenant(name)
            number = self.find(name)
            assert number is not None
        return number

    def add_tenant(self, name: str) -> bool:
        """Add a tenant. Return False if one with this name exists already, even if it was added at the same moment."""
        with self._named(name) as connection:
            return connection.execute(_ADD_TENANT, {"name": name}).rowcount > 0

    def add_team(self, name: str, *, organization: str, admins: Mapping[str, str], now_ms: int) -> bool:
        """Add the tenant of a team with its first administrators (names by principal). Return False if the tenant exists already."""
        with self._named(name) as connection:
            row = connection.execute(_ADD_TEAM, {"name": name, "organization": organization}).fetchone()
            if row is None:
                return False
            connection.execute(_set_local("tacit.tenant", str(row[0])))
            for principal, called in admins.items():
                values = {
                    "tenant": row[0],
                    "principal": principal,
                    "name": called,
                    "by": "",
                    "now_ms": now_ms,
                }
                connection.execute(_ADD_MEMBER, values)
        return True

    @contextmanager
    def _named(self, name: str) -> Generator[_Connection]:
        """Run a transaction that sees the row of the tenant called `name`. A lost connection is replaced before it begins."""
        try:
            connection = self.begun(
                lambda connection: connection.execute(
                    sql.SQL("BEGIN; {}").format(_set_local("tacit.tenant_name", name))
                ),
                again=True,
            )
            try:
                yield connection
                connection.commit()
            except BaseException:
                with suppress(psycopg.Error):
                    connection.rollback()
                raise
            finally:
                self.give_back(connection)
        except psycopg.Error as error:
            raise translate(error) from error

    def begun(self, begin: Callable[[_Connection], object], *, again: bool) -> _Connection:
        """Return a connection on which `begin` was called. `again` = if the connection is lost there, try another one."""
        connection = self.borrow()
        try:
            begin(connection)
        except psycopg.Error as error:
            self._abandon(connection)
            if not (again and is_lost(error)):
                raise
        except BaseException:
            self._abandon(connection)
            raise
        else:
            return connection
        self.replace_broken()
        return self.begun(begin, again=False)

    def _abandon(self, connection: _Connection) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        self.give_back(connection)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


class TenantDatabase:
    """The database of one tenant: runs its transactions. Safe to share between threads."""

    def __init__(self, connections: Connections, tenant: str, *, principal: str = "") -> None:
        """Open the database of `tenant`.

        Args:
            connections: the connections.
            tenant: the name of the tenant. Without a principal, a tenant that does not exist is added.
            principal: the principal of the transactions; none begins in a team of which they are not a member. "" = no principal.

        Raises:
            TenantUnseen: a principal is given, and there is no such tenant.
        """
        if principal and not _PRINCIPAL.fullmatch(principal):
            raise StoreError(f"{principal[:40]!r} cannot name a principal.")
        number = connections.find(tenant) if principal else connections.find_or_add(tenant)
        if number is None:
            raise TenantUnseen("There is no such tenant.")
        self.tenant = number
        self._connections = connections
        self._principal = principal

    def reading(self, work: Callable[[Transaction], _T]) -> _T:
        """Run `work` in a read-only transaction that shows one state, and return its result. If the connection is lost, it is run once more.

        `work` only reads, and may be called twice.
        """
        try:
            with self._transaction(self._reading_settings()) as transaction:
                return work(transaction)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translate(error) from error
        with _errors_of_the_store():
            self._connections.replace_broken()
            with self._transaction(self._reading_settings()) as transaction:
                return work(transaction)

    def writing(self, work: Callable[[Transaction], _T], *, alone: bool) -> _T:
        """Run `work` in a transaction, commit it, and return the result. If anything is raised, the transaction is undone.

        Args:
            work: reads and writes; never called twice.
            alone: exclude other writers of the tenant; for everything that counts as a change of a memory.

        Raises:
            StoreError: see `translate`; nothing was written, unless the error says that this is unknown.
        """
        settings = {"lock_timeout": f"{int(self._connections.wait_s * 1000)}ms"}
        begin = self._begin("READ COMMITTED", settings, lock=alone)
        with _errors_of_the_store(), self._transaction(begin, again=True) as transaction:
            return work(transaction)

    def _reading_settings(self) -> sql.Composed:
        # A search takes some milliseconds. Parallel workers for it would take processors from other tenants.
        return self._begin("REPEATABLE READ READ ONLY", {"max_parallel_workers_per_gather": "0"})

    def _begin(self, kind: LiteralString, settings: Mapping[str, str], *, lock: bool = False) -> sql.Composed:
        """Return the statements that begin a transaction. `lock` = they lock the tenant for other writers."""
        named = {"tacit.tenant": str(self.tenant), **settings}
        if self._principal:
            named["tacit.principal"] = self._principal
        tenant = sql.Literal(self.tenant)
        return sql.SQL("; ").join((
            sql.SQL(f"BEGIN ISOLATION LEVEL {kind}"),
            *(_set_local(name, value) for name, value in named.items()),
            _SCHEMA,
            _TENANT.format(tenant=tenant) + sql.SQL(" FOR NO KEY UPDATE" if lock else ""),
            _IS_MEMBER.format(tenant=tenant, principal=sql.Literal(self._principal)),  # after the lock
        ))  # fmt: skip

    @contextmanager
    def _transaction(self, begin: sql.Composed, *, again: bool = False) -> Generator[Transaction]:
        """Run a transaction. `again` = if the connection is lost at the beginning, try another one."""
        started: list[Transaction] = []
        connection = self._connections.begun(
            lambda connection: started.append(self._started(connection, begin)), again=again
        )
        try:
            yield started[-1]
            _commit(connection)
        except BaseException:
            with suppress(psycopg.Error):
                connection.rollback()
            raise
        finally:
            self._connections.give_back(connection)

    def _started(self, connection: _Connection, begin: sql.Composed) -> Transaction:
        cursor = connection.execute(begin)
        results = [cursor.fetchone() if cursor.description else None]
        while cursor.nextset():
            results.append(cursor.fetchone() if cursor.description else None)
        schema, tenant, member = results[-3:]
        refuse_newer(int(schema[0]) if schema else 0)
        if tenant is None or (tenant[0] and member is None):
            raise TenantUnseen(
                "The tenant was removed from the database, or is not shown to the principal.",
                hint="If the database was restored while the server ran, restart the processes of the server.",
            )
        if member is not None and may(str(member[0]), "writer") and "/" not in self._principal:
            connection.execute(_set_local("tacit.reviews", "on"))
        return Transaction(tenant=self.tenant, _connection=connection, _observe=self._connections.observe)


def _set_local(name: str, value: str) -> sql.Composed:
    """Return the statement that gives a setting a value until the transaction ends. It takes no parameters, so the value is quoted."""
    return sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(*name.split(".")), sql.Literal(value))


def _commit(connection: _Connection) -> None:
    try:
        connection.commit()
    except psycopg.Error as error:
        raise translate(error, written=True) from error


@contextmanager
def _errors_of_the_store() -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
