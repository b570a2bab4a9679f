"""`tacit-server shards` and `tacit-server move`: several databases under one directory. In: arguments, the environment. Out: lines of text.

How to connect to a shard stands in the environment (see `config.databases`), never in a table.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tacit.backends.postgres.connection import Addresses
from tacit.backends.postgres.schema import migrate as migrate_schema
from tacit.backends.postgres.shards.directory import (
    Interrupted,
    Shard,
    add_shard,
    let_in,
    list_shards,
    remove_shard,
)
from tacit.backends.postgres.shards.moving import move_tenant
from tacit.backends.postgres.shards.routing import HOME
from tacit.config.databases import OWNER_DATABASE, Role, checked_shard_name, shard_url, shard_variable
from tacit.errors import InvalidInput, StoreError
from tacit.server.postgres_logs import account_tenant

FROM_ENVIRONMENT = Addresses(primary=shard_url, replica=lambda shard: shard_url(shard, "replica"))
"""Where shards and replicas are, as the environment says."""

OwnerDatabase = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=OWNER_DATABASE,
        help="Direct connection (no pooler in between) to the directory, as the role that owns the tables.",
        show_default=False,
    ),
]
ShardName = Annotated[str, typer.Argument(help="Name of the shard.", show_default=False)]

shards_app = typer.Typer(
    help="The databases that accounts are spread over.", invoke_without_command=True, rich_markup_mode=None
)


@shards_app.callback()
def list_all(context: typer.Context, database: OwnerDatabase = "") -> None:
    """List the databases that accounts are spread over, and the moves that were not ended."""
    context.obj = database
    if context.invoked_subcommand is None:
        shards, moves = list_shards(_directory(context))
        for line in (*map(_shard_line, shards), *map(_move_line, moves)):
            typer.echo(line)


@shards_app.command()
def add(context: typer.Context, name: ShardName) -> None:
    """Add a database that new accounts come to. Its connections are read from TACIT_SHARD_<NAME>_URL and TACIT_SHARD_<NAME>_OWNER_URL.

    It is a database of its own with the roles of `tacit-server set-up`; its tables are made here. First give TACIT_SHARD_<NAME>_URL to every
    process of the server, and start it again.
    """
    checked_shard_name(name)
    owner, application = _set(name, "owner"), _set(name, "application")
    migrate_schema(owner)
    new = add_shard(_directory(context), name, owner_dsn=owner, application_dsn=application)
    typer.echo(f"The shard {name} {'takes new accounts' if new else 'was there already'}.")


@shards_app.command("open")
def open_(context: typer.Context, name: ShardName) -> None:
    """Let new accounts come to a shard."""
    let_in(_directory(context), name, accepts=True)
    typer.echo(f"The shard {name} takes new accounts.")


@shards_app.command()
def close(context: typer.Context, name: ShardName) -> None:
    """Keep new accounts away from a shard. Those that lie there stay."""
    let_in(_directory(context), name, accepts=False)
    typer.echo(f"The shard {name} takes no new accounts.")


@shards_app.command()
def remove(context: typer.Context, name: ShardName) -> None:
    """Forget a shard that holds no account. Its database stays."""
    remove_shard(_directory(context), name)
    typer.echo(f"The shard {name} is forgotten; its database can be dropped.")


def move(
    account: Annotated[str, typer.Argument(help="Name of the account, or of a tenant as account:NAME.")],
    shard: Annotated[str, typer.Argument(help="Name of the shard that it should lie on.")],
    database: OwnerDatabase,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not tell the steps.")] = False,
) -> None:
    """Move an account to another shard while its devices use it. They wait for a moment at most; nothing is lost or doubled.

    A move that was interrupted is finished or undone by the same command.
    """

    def tell(step: str) -> None:
        if not quiet:
            sys.stderr.write(f"{step}\n")

    tenant = account if ":" in account else account_tenant(account)
    moved = move_tenant(tenant, shard, owner_url=lambda name: owner_url(database, name), step=tell)
    if moved.source == shard:
        typer.echo(f"{account} is on {shard}.")
        return
    typer.echo(
        f"Moved {account} from {moved.source} to {shard}: {moved.rows} rows; its writers waited {moved.stopped_ms} ms."
    )


def migrate_all(database: str) -> list[str]:
    """Bring the directory and every shard to the newest schema; a line for each.

    Raises:
        StoreError: a database cannot be reached, or the connection to a shard is not set; the others are migrated.
    """
    lines = [f"The database has schema {migrate_schema(database)}."]
    missing: list[str] = []
    for shard in list_shards(database)[0]:
        if shard.name == HOME:
            continue
        url = owner_url(database, shard.name)
        if url:
            lines.append(f"The shard {shard.name} has schema {migrate_schema(url)}.")
        else:
            missing.append(shard.name)
    if missing:
        raise StoreError(
            f"Not migrated, because their connections are not set: {', '.join(missing)}.",
            hint=f"Set {', '.join(shard_variable(name, 'owner') for name in missing)}, and run this again.",
        )
    return lines


def owner_url(database: str, shard: str) -> str:
    """The connection to a shard as the owner of its tables; "" where none is set."""
    return database if shard == HOME else shard_url(shard, "owner")


def _directory(context: typer.Context) -> str:
    """The connection to the directory. Asked for here and not by the option, so that `--help` needs none."""
    if not context.obj:
        raise InvalidInput(
            "The connection to the directory is not set.",
            hint=f"Set {OWNER_DATABASE}, or give --database before the command.",
        )
    return str(context.obj)


def _set(shard: str, role: Role) -> str:
    url = shard_url(shard, role)
    if not url:
        raise InvalidInput(
            f"{shard_variable(shard, role)} is not set.",
            hint=f"It is the connection to the database of the shard {shard} as "
            f"{'the role that owns the tables' if role == 'owner' else 'the role of the application'}.",
        )
    return url


def _shard_line(shard: Shard) -> str:
    new = "takes new accounts" if shard.accepts else "closed to new accounts"
    roles: tuple[Role, ...] = ("application", "owner")
    unset = [shard_variable(shard.name, role) for role in roles if not shard_url(shard.name, role)]
    missing = f"; not set here: {', '.join(unset)}" if unset and shard.name != HOME else ""
    return f"{shard.name}: {shard.tenants} tenants, {new}{missing}"


def _move_line(move: Interrupted) -> str:
    return (
        f"{move.tenant} is on its way, or its move was interrupted ({move.shard}, {move.also_on}):"
        f" `tacit-server move {move.tenant} SHARD` ends it."
    )
