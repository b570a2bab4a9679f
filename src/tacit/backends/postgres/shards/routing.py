"""Which shard holds a tenant. In: the connections of the directory, the name of a tenant. Out: its place.

The directory says where a tenant lies; the tenant's row on its shard has the last word. A row that is marked as moved leads on to the next
shard, so that a mover which was killed between two steps stops nobody. A tenant comes to be on its shard while its route is held: a mover,
who must change the route before it removes anything, cannot come in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tacit.errors import StoreBusy, StoreError

if TYPE_CHECKING:
    import psycopg

    from tacit.backends.postgres.connection import Connections

    _Connection = psycopg.Connection[tuple[Any, ...]]

HOME = "main"
"""The name of the database that is the directory, as a shard."""
_LOOKS = 6
"""So often a tenant is looked for that moves on meanwhile."""

_IDENTITY = "SELECT directory::text, shard FROM this_database"
_ROUTE = "SELECT shard FROM routes WHERE name = %(name)s"
_HELD_ROUTE = "SELECT shard FROM routes WHERE name = %(name)s FOR SHARE"
_LOCKED_ROUTE = "SELECT shard, also_on FROM routes WHERE name = %(name)s FOR UPDATE"
_ADD_ROUTE = "INSERT INTO routes (name, shard) VALUES (%(name)s, %(shard)s) ON CONFLICT (name) DO NOTHING RETURNING shard"
_REMOVE_ROUTE = "DELETE FROM routes WHERE name = %(name)s"
_SHARDS = "SELECT name FROM shards WHERE accepts ORDER BY tenants, name"
_HOLDING = "SELECT name FROM shards WHERE tenants > 0 ORDER BY name"
_COUNT = "UPDATE shards SET tenants = tenants + %(more)s WHERE name = %(shard)s"
_FIND_TENANT = "SELECT tenant, moved_to FROM tenants WHERE name = %(name)s"
_ADD_TENANT = "INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a tenant lies: the connections to its shard, and its number there."""

    connections: Connections
    tenant: int


def refuse_other_database(connection: _Connection, shard: str, directory: str) -> str:
    """Refuse a database that is not the shard that it is taken for; return the id of its directory.

    Args:
        connection: to the database.
        shard: which shard it should be.
        directory: the id that its directory should have; "" = any.

    Raises:
        StoreError: naming which it is.
    """
    row = connection.execute(_IDENTITY).fetchone()
    assert row is not None
    its_directory, its_shard = str(row[0]), str(row[1])
    if its_shard != shard:
        hint = (
            "Connect to the directory: the database that knows all shards."
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
    """Where the tenant called `name` lies; None where there is none. Asking makes none.

    Raises:
        StoreBusy: it moved on each time that it was looked for.
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
        elif missed == shard:  # twice at the same place: it is not only on its way
            return None
        else:
            missed, shard = shard, _route(directory, name)
    raise StoreBusy(f"The tenant {name} moves from shard to shard; it was not found.", hint="Try again.")


def make_place(
    directory: Connections, name: str, *, add: Callable[[_Connection], None] | None = None
) -> Place:
    """Where the tenant called `name` lies. A new one comes to be on the shard that takes new ones and has the fewest.

    Args:
        directory: its connections.
        name: of the tenant.
        add: adds its row, in a transaction on its shard that may see it by name; None = the name alone.

    Raises:
        StoreBusy: it was removed or moved on each time that it was looked for.
        StoreError: a database cannot be reached, no shard takes new tenants, or the tenant's shard has no connection.
    """

    def add_row(connection: _Connection) -> None:
        if add is not None:
            add(connection)
        else:
            connection.execute(_ADD_TENANT, {"name": name})

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
        f"The tenant {name} was removed while it moved, or moves again and again; it was not added.",
        hint="`tacit-server shards` lists moves that were interrupted; end them, and try again.",
    )


def forget_place(directory: Connections, name: str) -> None:
    """Remove the route of a tenant that was removed from its shard. That of one that is there, or is being moved, stays."""
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
    """Refuse to go on without a connection to a shard that holds tenants. Whether its database answers is not asked.

    Raises:
        StoreError: naming what to set.
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
    """Choose a shard for a new tenant, among those that this process has a connection to."""
    with directory.named(name) as connection:
        names = [str(row[0]) for row in connection.execute(_SHARDS)]
        shard = next((shard for shard in names if directory.reaches(shard)), None)
        if shard is None:
            raise StoreError(
                f"No shard takes new tenants: {name} was not added.",
                hint="`tacit-server shards open NAME` lets one take them; `tacit-server shards` lists all.",
            )
        if connection.execute(_ADD_ROUTE, {"name": name, "shard": shard}).fetchone():
            connection.execute(_COUNT, {"shard": shard, "more": 1})
