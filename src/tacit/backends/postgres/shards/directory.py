"""The shards of a directory. In: connections of owners. Out: shards with their counts, and moves that have not ended.

A shard is a database with the tables of this version. It holds its own name and the id of its directory. Never stores a connection string.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import errors

from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.failures import translate
from tacit.backends.postgres.schema import refuse_other_schema
from tacit.backends.postgres.shards.routing import HOME, read_identity, refuse_other_database, unknown_shard
from tacit.errors import Conflict, InvalidInput

_Connection = psycopg.Connection[tuple[Any, ...]]

_LIST = "SELECT name, accepts, tenants FROM shards ORDER BY name <> 'main', name"
_LIST_INTERRUPTED = "SELECT name, shard, also_on FROM routes WHERE also_on IS NOT NULL ORDER BY name"
_COUNT_ROUTES = "SELECT count(*) FROM routes"
_COUNT_OTHERS = "SELECT count(*) FROM shards WHERE name <> 'main'"
_BECOME = "UPDATE this_database SET directory = %(directory)s::uuid, shard = %(shard)s"
_ADD = "INSERT INTO shards (name) VALUES (%(shard)s) ON CONFLICT (name) DO NOTHING RETURNING name"
_ACCEPT = "UPDATE shards SET accepts = %(accepts)s WHERE name = %(shard)s RETURNING name"
_IS_USED = "SELECT count(*) FROM routes WHERE shard = %(shard)s OR also_on = %(shard)s"
_LOCK_ROUTES = "LOCK TABLE routes IN SHARE MODE"
_REMOVE = "DELETE FROM shards WHERE name = %(shard)s AND name <> 'main' RETURNING name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A database that holds tenants.

    Attributes:
        name: the name of the shard; `main` is the directory itself.
        accepts: whether new tenants are put on it.
        tenants: the number of tenants on it.
    """

    name: str
    accepts: bool
    tenants: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """A move that has not ended: it is running, or its mover was killed.

    Attributes:
        tenant: the name of the tenant.
        shard: the shard that the directory names for the tenant.
        also_on: the other shard, which may hold rows of the tenant.
    """

    tenant: str
    shard: str
    also_on: str


def list_shards(directory_dsn: str) -> tuple[tuple[Shard, ...], tuple[Interrupted, ...]]:
    """Return the shards, the directory first, and the moves that have not ended.

    Raises:
        StoreError: the directory cannot be reached, or the database is not a directory.
    """
    with _directory(directory_dsn) as (connection, _):
        shards = tuple(
            Shard(name=name, accepts=accepts, tenants=tenants)
            for name, accepts, tenants in connection.execute(_LIST)
        )
        moves = tuple(
            Interrupted(tenant=name, shard=shard, also_on=also_on)
            for name, shard, also_on in connection.execute(_LIST_INTERRUPTED)
        )
        return shards, moves


def add_shard(directory_dsn: str, shard: str, *, owner_dsn: str, application_dsn: str) -> bool:
    """Add a shard to the directory. Return whether it is new; an existing shard is not changed.

    Args:
        directory_dsn: connection to the directory as the owner.
        shard: the name of the shard.
        owner_dsn: connection to the shard as the owner; the database has the tables of this version.
        application_dsn: connection to the shard as the application's role.

    Raises:
        InvalidInput: the database holds tenants of its own, or belongs to another directory.
        StoreError: a database cannot be reached or is not set up, or the two connections lead to different databases.
    """
    with _directory(directory_dsn) as (connection, directory):
        if shard == HOME:
            raise InvalidInput(
                f"{HOME} is the directory itself.", hint="Choose another name for a new shard."
            )
        with psycopg.connect(owner_dsn, autocommit=True) as there:
            refuse_other_schema(there)
            _take(there, shard, directory)
        Connections(application_dsn, min_size=0, max_size=1, shard=shard, directory=directory).close()
        return connection.execute(_ADD, {"shard": shard}).fetchone() is not None


def _take(there: _Connection, shard: str, directory: str) -> None:
    """Store the name of the shard and the id of the directory in a database.

    Raises:
        InvalidInput: the database is the directory or another shard, or it is not empty.
    """
    its_directory, its_shard = read_identity(there)
    if (its_directory, its_shard) == (directory, shard):
        return
    if its_shard != HOME or its_directory == directory:
        which = "the directory itself" if its_shard == HOME else f"the shard {its_shard} already"
        raise InvalidInput(
            f"The database is {which}; it cannot be the shard {shard}.",
            hint="Give every shard its own database.",
        )
    with there.transaction():
        there.execute(_LOCK_ROUTES)
        tenants, others = (_number(there, statement) for statement in (_COUNT_ROUTES, _COUNT_OTHERS))
        if tenants or others:
            raise InvalidInput(
                f"The database holds {tenants} tenants and knows {others} other shards; only an empty one can become a shard.",
                hint="Create a new database with `tacit-server set-up`.",
            )
        there.execute(_BECOME, {"directory": directory, "shard": shard})


def let_in(directory_dsn: str, shard: str, *, accepts: bool) -> None:
    """Set whether new tenants are put on a shard.

    Raises:
        NotFound: there is no such shard.
        StoreError: the directory cannot be reached, or the database is not a directory.
    """
    with _directory(directory_dsn) as (connection, _):
        if connection.execute(_ACCEPT, {"shard": shard, "accepts": accepts}).fetchone() is None:
            raise unknown_shard(connection, shard)


def remove_shard(directory_dsn: str, shard: str) -> None:
    """Remove a shard without tenants from the directory. Its database stays.

    Raises:
        NotFound: there is no such shard.
        Conflict: the shard holds tenants, or a tenant is moving from or to it.
        InvalidInput: the shard is the directory.
        StoreError: the directory cannot be reached, or the database is not a directory.
    """
    with _directory(directory_dsn) as (connection, _), connection.transaction():
        if shard == HOME:
            raise InvalidInput(
                "The directory cannot be removed.",
                hint=f"`tacit-server shards close {HOME}` puts no new tenants on it.",
            )
        try:
            with connection.transaction():
                removed = connection.execute(_REMOVE, {"shard": shard}).fetchone()
        except errors.ForeignKeyViolation as error:
            used = _number(connection, _IS_USED, shard)
            raise Conflict(
                f"The shard {shard} holds {used} tenants, or they are being moved; it was not removed.",
                hint=f"Run `tacit-server shards close {shard}`, then `tacit-server move` for each tenant.",
            ) from error
        if removed is None:
            raise unknown_shard(connection, shard)


def _number(connection: _Connection, statement: str, shard: str = "") -> int:
    row = connection.execute(statement.encode(), {"shard": shard} if shard else None).fetchone()
    assert row is not None
    return int(row[0])


@contextmanager
def _directory(dsn: str) -> Generator[tuple[_Connection, str]]:
    """Connect to the directory; yield the connection and the id of the directory."""
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            refuse_other_schema(connection)
            yield connection, refuse_other_database(connection, HOME, "")
    except psycopg.Error as error:
        raise translate(error) from error
