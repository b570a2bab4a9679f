"""Which shard holds a tenant. In: the connections of the directory, the name of a tenant. Out: its place.

The directory has a route for every tenant, but the tenant's row on its shard is authoritative. A row that is marked as moved names the next shard, so that
a mover that was killed between two steps blocks nobody. A new tenant is added to its shard while its route is locked: a mover has to change the route
before it removes anything, so it cannot interfere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import NotFound, StoreBusy, StoreError

if TYPE_CHECKING:
    import psycopg

    from tacit.backends.postgres.connection import Connections

    _Connection = psycopg.Connection[tuple[Any, ...]]

HOME = "main"
"""The name of the directory as a shard."""
_LOOKS = 6
"""How many times a moving tenant is looked up."""

_IDENTITY = "SELECT directory::text, shard FROM this_database"
_NAMES = "SELECT name FROM shards ORDER BY name <> 'main', name"
_ROUTE = "SELECT shard FROM routes WHERE name = %(name)s"
_HELD_ROUTE = "SELECT shard FROM routes WHERE name = %(name)s FOR SHARE"
_LOCKED_ROUTE = "SELECT shard, also_on FROM routes WHERE name = %(name)s FOR UPDATE"
_ADD_ROUTE = "INSERT INTO routes (name, shard) VALUES (%(name)s, %(shard)s) ON CONFLICT (name) DO NOTHING RETURNING shard"
_REMOVE_ROUTE = "DELETE FROM routes WHERE name = %(name)s"
_SHARDS = "SELECT name FROM shards WHERE accepts ORDER BY tenants, name"
_HOLDING = "SELECT name FROM shards WHERE tenants > 0 ORDER BY name"
_COUNT = "UPDATE shards SET tenants = tenants + %(more)s WHERE name = %(shard)s"
_FIND_TENANT = "SELECT tenant, moved_to FROM tenants WHERE name = %(name)s"
ADD_TENANT = "INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a tenant lies: the connections to its shard, and its number there."""

    connections: Connections
    tenant: int


def read_identity(connection: _Connection) -> tuple[str, str]:
    """Read from a database the id of its directory, and its name as a shard."""
    row = connection.execute(_IDENTITY).fetchone()
    assert row is not None
    return str(row[0]), str(row[1])


def unknown_shard(connection: _Connection, shard: str) -> NotFound:
    """Return the error for a shard that the directory of `connection` does not list."""
    known = ", ".join(str(row[0]) for row in connection.execute(_NAMES))
    return NotFound(
        f"There is no shard {shard!r}.", hint=f"The shards are {known}; `tacit-server shards add` adds one."
    )


def refuse_other_database(connection: _Connection, shard: str, directory: str) -> str:
    """Refuse a database that is not the expected shard. Return the id of its directory.

    Args:
        connection: connection to the database.
        shard: the name of the expected shard.
        directory: the id of the expected directory; "" = any.

    Raises:
        StoreError: the database is another shard, or belongs to another directory.
    """
    its_directory, its_shard = read_identity(connection)
    if its_shard != shard:
        hint = (
            "Connect to the directory, the database that lists all shards."
            if shard == HOME
            else f"Correct the connection of the shard {shard}."
        )
        raise StoreError(f"The database is the shard {its_shard}, not {shard}; nothing was read.", hint=hint)
    if directory and its_directory != directory:
        raise StoreError(
            f"The database is the shard {shard} of another directory; nothing was read.",
            hint=f"Correct the connection of the shard {shard}.",
        )
    return its_directory


def find_place(directory: Connections, name: str) -> Place | None:
    """Return the location of the tenant called `name`; None = there is no such tenant. Does not add one.

    Raises:
        StoreBusy: the tenant moved at each lookup.
        StoreError: a database cannot be reached, or the tenant's shard has no connection.
    """
    missed = ""
    shard = _route(directory, name)
    for _ in range(_LOOKS):
        if shard is None:
            return None
        connections = directory.shard(shard)
        with connections.named(name) as connection:
            row = connection.execute(_FIND_TENANT, {"name": name}).fetchone()
        if row is not None and row[1] is None:
            return Place(connections=connections, tenant=int(row[0]))
        if row is not None:
            shard = str(row[1])
        elif missed == shard:  # a tenant that is missing twice at the same shard is not just moving
            return None
        else:
            missed, shard = shard, _route(directory, name)
    raise StoreBusy(f"The tenant {name} moves from shard to shard; it was not found.", hint="Try again.")


def make_place(
    directory: Connections, name: str, *, add: Callable[[_Connection], None] | None = None
) -> Place:
    """Return the location of the tenant called `name`. A new tenant is added to the shard with the fewest tenants among those that accept new ones.

    Args:
        directory: the connections of the directory.
        name: the name of the tenant.
        add: called for a new tenant: adds the tenant's row, in a transaction on its shard that sees the tenant by its name; None = add a row with the name only.

    Raises:
        StoreBusy: the tenant was removed or moved at each lookup.
        StoreError: a database cannot be reached, no shard takes new tenants, or the tenant's shard has no connection.
    """

    def add_row(connection: _Connection) -> None:
        if add is not None:
            add(connection)
        else:
            connection.execute(ADD_TENANT, {"name": name})

    for _ in range(_LOOKS):
        found = find_place(directory, name)
        if found is not None:
            return found
        _add_route(directory, name)
        with directory.named(name) as connection:
            row = connection.execute(_HELD_ROUTE, {"name": name}).fetchone()
            if row is None:
                continue
            if row[0] == HOME:
                add_row(connection)
            else:
                with directory.shard(str(row[0])).named(name) as there:
                    add_row(there)
    raise StoreBusy(
        f"The tenant {name} was removed while it moved, or it keeps moving; it was not added.",
        hint="`tacit-server shards` lists moves that were interrupted. Finish them with `tacit-server move`, and try again.",
    )


def forget_place(directory: Connections, name: str) -> None:
    """Remove the route of a tenant that was removed from its shard. The route stays if the tenant exists or is being moved."""
    with directory.named(name) as connection:
        row = connection.execute(_LOCKED_ROUTE, {"name": name}).fetchone()
        if row is None or row[1] is not None:
            return
        shard = str(row[0])
        if shard == HOME:
            held = connection.execute(_FIND_TENANT, {"name": name}).fetchone()
        else:
            with directory.shard(shard).named(name) as there:
                held = there.execute(_FIND_TENANT, {"name": name}).fetchone()
        if held is None:
            connection.execute(_REMOVE_ROUTE, {"name": name})
            connection.execute(_COUNT, {"shard": shard, "more": -1})


def refuse_unreachable_shards(directory: Connections) -> None:
    """Refuse to start without a connection to a shard that holds tenants. Does not check whether the database answers.

    Raises:
        StoreError: a connection is missing; the hint names the variable to set.
    """
    with directory.named("") as connection:
        names = [str(row[0]) for row in connection.execute(_HOLDING)]
    for name in names:
        if not directory.reaches(name):
            directory.shard(name)


def _route(directory: Connections, name: str) -> str | None:
    with directory.named(name) as connection:
        row = connection.execute(_ROUTE, {"name": name}).fetchone()
    return None if row is None else str(row[0])


def _add_route(directory: Connections, name: str) -> None:
    """Choose one of the shards that this process can connect to for a new tenant, and add its route."""
    with directory.named(name) as connection:
        names = [str(row[0]) for row in connection.execute(_SHARDS)]
        shard = next((shard for shard in names if directory.reaches(shard)), None)
        if shard is None:
            raise StoreError(
                f"No shard takes new tenants: {name} was not added.",
                hint="`tacit-server shards open NAME` opens one; `tacit-server shards` lists all.",
            )
        if connection.execute(_ADD_ROUTE, {"name": name, "shard": shard}).fetchone():
            connection.execute(_COUNT, {"shard": shard, "more": 1})
