"""Connections and transactions. In: how to connect, a tenant, work to do. Out: what the work returns, in one transaction.

Every transaction begins by naming its tenant to row-level security, for itself alone, so that poolers in between may hand its
connection to anybody afterwards. Every statement names the tenant as well. A lost connection is replaced: a read is done once more,
a write only where it had not begun. Never connects as a role that row-level security does not bind.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from tacit.backends.postgres.failures import closed, is_lost, translate
from tacit.backends.postgres.roles import refuse_unbound_role
from tacit.backends.postgres.schema import refuse_newer, refuse_other_schema
from tacit.backends.postgres.scopes import StoredScope, stored_scopes
from tacit.backends.text import clean_text
from tacit.errors import StoreError
from tacit.model.scope import ScopeFilter

_T = TypeVar("_T")
_Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]
_State = tuple[list[int], int, list[int], str]
_STATE = "placements, change, indexed, (SELECT version_num FROM alembic_version)"
"""What every transaction reads first: also whether somebody has migrated the database meanwhile."""
Observe = Callable[[str], None]
"""Told of every statement before it is carried out."""

WAIT_S = 30.0
"""A writer waits so long for another writer of its tenant, and anybody for a connection."""

_PROBE_S = 1.0
"""Whoever waits so long for a connection looks whether there is a server."""

_FIND_TENANT = "SELECT tenant FROM tenants WHERE name = %(name)s"
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


class Connections:
    """A pool of connections that the stores of any number of tenants share. Safe to share between threads."""

    def __init__(
        self,
        dsn: str,
        *,
        min_size: int = 1,
        max_size: int = 8,
        wait_s: float = WAIT_S,
        prepare_threshold: int | None = None,
        observe: Observe = observe_nothing,
    ) -> None:
        """Connect, and look at the role and the schema.

        Args:
            dsn: how to connect as the application's role.
            min_size: connections that stay open.
            max_size: connections at most.
            wait_s: how long to wait for a connection, and for another writer of the tenant.
            prepare_threshold: after so many uses a statement is prepared; None = never, which is right behind poolers
                and lets the planner see the tenant each time.
            observe: told of every statement.

        Raises:
            StoreNewer: a newer Tacit wrote the schema.
            StoreError: the database cannot be reached, is not set up, or row-level security does not bind the role.
        """
        self.dsn = dsn
        self.wait_s = wait_s
        self.observe = observe
        self._keywords: dict[str, Any] = {"autocommit": True, "prepare_threshold": prepare_threshold}
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            dsn, min_size=min_size, max_size=max_size, timeout=wait_s, kwargs=self._keywords, open=False
        )
        # Once outside the pool: a wrong password or a server that is down says so now, and not by a timeout.
        try:
            with psycopg.connect(dsn, **self._keywords) as connection:
                refuse_other_schema(connection)
                refuse_unbound_role(connection)
        except psycopg.Error as error:
            raise translate(error) from error
        self._pool.open()

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

    def tenant_number(self, name: str) -> int:
        """The number of the tenant called `name`, which is added where it is new."""
        connection = self.borrow(extra=False)
        try:
            with connection.transaction():
                values = {"name": name}
                connection.execute(_NAME_TENANT, values)
                row = connection.execute(_FIND_TENANT, values).fetchone()
                if row is None:
                    connection.execute(_ADD_TENANT, values)
                    row = connection.execute(_FIND_TENANT, values).fetchone()
                assert row is not None
                return int(row[0])
        except psycopg.Error as error:
            raise translate(error) from error
        finally:
            self.give_back(connection, extra=False)

    def find_tenant(self, name: str) -> int | None:
        """The number of the tenant called `name`; None = there is none, and asking makes none."""
        connection = self.borrow(extra=False)
        try:
            with connection.transaction():
                connection.execute(_NAME_TENANT, {"name": name})
                row = connection.execute(_FIND_TENANT, {"name": name}).fetchone()
                return int(row[0]) if row is not None else None
        except psycopg.Error as error:
            raise translate(error) from error
        finally:
            self.give_back(connection, extra=False)

    def add_team(self, name: str, *, organization: str, admins: Mapping[str, str], now_ms: int) -> bool:
        """Add the tenant of a team with its first administrators, names by principal; False where there is one already."""
        connection = self.borrow(extra=False)
        try:
            with connection.transaction():
                connection.execute(_NAME_TENANT, {"name": name})
                added = connection.execute(_ADD_TEAM, {"name": name, "organization": organization}).fetchone()
                if added is None:
                    return False
                for principal, called in admins.items():
                    values = {"principal": principal, "name": called, "by": "", "now_ms": now_ms}
                    connection.execute(_ADD_MEMBER, values)
                return True
        except psycopg.Error as error:
            raise translate(error) from error
        finally:
            self.give_back(connection, extra=False)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


@dataclass(slots=True)
class Transaction:
    """A transaction of one tenant.

    Attributes:
        tenant: its number.
        placements: where its rows lie; the last is where new ones go.
        change: its change counter as the transaction began.
        indexed: identities of embedders whose vectors have an HNSW index of their own.
    """

    tenant: int
    placements: tuple[int, ...]
    change: int
    indexed: tuple[int, ...]
    _connection: _Connection
    _observe: Observe
    _scopes: dict[ScopeFilter, tuple[StoredScope, ...]]

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


class _Here(threading.local):
    transaction: Transaction | None = None


class Database:
    """What one tenant stores. Safe to share between threads."""

    def __init__(self, connections: Connections, tenant: str, *, principal: str = "") -> None:
        """Open what `tenant` stores.

        Args:
            connections: to the database.
            tenant: its name; it comes to be where it is new, but for a team.
            principal: whom the transactions are done for: the database shows a team to its members alone. "" = nobody in particular.

        Raises:
            TenantUnseen: if there is no such team.
        """
        self._connections = connections
        self._principal = _named_for(principal)
        if principal:
            number = connections.find_tenant(tenant)
            if number is None:
                raise TenantUnseen("There is no such tenant.")
            self.tenant = number
        else:
            self.tenant = connections.tenant_number(tenant)
        self._here = _Here()
        self._closed = False

    def close(self) -> None:
        """Refuse later calls."""
        self._closed = True

    def reading(self, work: Callable[[Transaction], _T]) -> _T:
        """What `work` returns, in a transaction that shows one state; done once more where the connection is lost.

        Inside `at_once` of the same thread it is that transaction, and is not repeated.
        """
        outer = self._here.transaction
        if outer is not None and not self._closed:
            with _errors_of_the_store():
                return work(outer)
        try:
            with self._transaction(self._begin_reading()) as transaction:
                return work(transaction)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translate(error) from error
        with _errors_of_the_store():
            self._connections.replace_broken()
            with self._transaction(self._begin_reading()) as transaction:
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
        begin = self._begin_writing(durable=durable, alone=alone)
        with _errors_of_the_store(), self._transaction(begin, again=True) as transaction:
            return work(transaction)

    @contextmanager
    def at_once(self) -> Generator[None]:
        """Inside, all that this thread reads shows one state."""
        if self._here.transaction is not None:
            yield
            return
        with _errors_of_the_store(), self._transaction(self._begin_reading(), again=True) as transaction:
            self._here.transaction = transaction
            try:
                yield
            finally:
                self._here.transaction = None

    def _begin_reading(self) -> str:
        return (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
            # Workers would take the processors of other tenants for a search that lasts some milliseconds.
            f" SELECT set_config('tacit.tenant', '{self.tenant}', true), set_config('max_parallel_workers_per_gather', '0', true)"
            f"{self._principal};"
            f" SELECT {_STATE} FROM tenants WHERE tenant = {self.tenant}"
        )

    def _begin_writing(self, *, durable: bool, alone: bool) -> str:
        lazily = "" if durable else ", set_config('synchronous_commit', 'off', true)"
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED;"
            f" SELECT set_config('tacit.tenant', '{self.tenant}', true),"
            f" set_config('lock_timeout', '{int(self._connections.wait_s * 1000)}ms', true){lazily}{self._principal};"
            f" SELECT {_STATE} FROM tenants WHERE tenant = {self.tenant}"
            f"{' FOR NO KEY UPDATE' if alone else ''}"
        )

    @contextmanager
    def _transaction(self, begin: str, *, again: bool = False) -> Generator[Transaction]:
        """A transaction on a connection of the pool. `again`: where the connection turns out to be lost at the very beginning, take another."""
        if self._closed:
            raise closed()
        extra = self._here.transaction is not None
        connection, transaction = self._begun(begin, extra=extra, again=again)
        try:
            yield transaction
            self._commit(connection)
        except BaseException:
            with suppress(psycopg.Error):
                connection.rollback()
            raise
        finally:
            self._connections.give_back(connection, extra=extra)

    def _begun(self, begin: str, *, extra: bool, again: bool) -> tuple[_Connection, Transaction]:
        connection = self._connections.borrow(extra=extra)
        try:
            cursor = connection.execute(begin.encode())
            while cursor.nextset():
                pass
            row = cursor.fetchone()
            if row is not None:
                refuse_newer(int(row[3]))
            else:
                raise TenantUnseen(
                    "The tenant was removed from the database, or is not shown to the principal.",
                    hint="Open its store again.",
                )
        except psycopg.Error as error:
            self._abandon(connection, extra=extra)
            if not (again and is_lost(error)):
                raise
            self._connections.replace_broken()
            return self._begun(begin, extra=extra, again=False)
        except BaseException:
            self._abandon(connection, extra=extra)
            raise
        placements, change, indexed, _ = cast("_State", row)
        transaction = Transaction(
            tenant=self.tenant,
            placements=tuple(placements),
            change=change,
            indexed=tuple(indexed),
            _connection=connection,
            _observe=self._connections.observe,
            _scopes={},
        )
        return connection, transaction

    def _abandon(self, connection: _Connection, *, extra: bool) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        self._connections.give_back(connection, extra=extra)

    def _commit(self, connection: _Connection) -> None:
        try:
            connection.commit()
        except psycopg.Error as error:
            raise translate(error, written=True) from error


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Values with the texts that PostgreSQL takes: whoever asks for a name with a NUL finds nothing, and is told so."""
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in values.items()}


def _named_for(principal: str) -> str:
    """What names the principal at the beginning of a transaction."""
    if not principal:
        return ""
    if not PRINCIPAL.fullmatch(principal):
        raise StoreError(f"{principal[:40]!r} cannot name a principal.")
    return f", set_config('tacit.principal', '{principal}', true)"


@contextmanager
def _errors_of_the_store() -> Generator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
