"""`tacit-server shards` and `tacit-server move`: several databases under one directory. In: arguments, environment variables. Out: lines of text.

The connections to shards come from environment variables (see `config.databases`), never from a table.
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
"""The connections to shards and replicas that the environment variables name."""

OwnerDatabase = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=OWNER_DATABASE,
        help="Direct connection (no pooler in between) to the directory as the role that owns the tables.",
        show_default=False,
    ),
]
ShardName = Annotated[str, typer.Argument(help="Name of the shard.", show_default=False)]

shards_app = typer.Typer(
    help="The databases that hold the accounts.", invoke_without_command=True, rich_markup_mode=None
)


@shards_app.callback()
def list_all(context: typer.Context, database: OwnerDatabase = "") -> None:
    """List the databases that hold the accounts, and the moves that have not ended."""
    context.obj = database
    if context.invoked_subcommand is None:
        shards, moves = list_shards(_directory(context))
        for line in (*map(_shard_line, shards), *map(_move_line, moves)):
            typer.echo(line)


@shards_app.command()
def add(context: typer.Context, name: ShardName) -> None:
    """Add a database for new accounts. Its connections are read from TACIT_SHARD_<NAME>_URL and TACIT_SHARD_<NAME>_OWNER_URL.

    The database must be empty and have the roles of `tacit-server set-up`; this command creates the tables. First set TACIT_SHARD_<NAME>_URL for
    every process of the server, and restart the processes.
    """
    checked_shard_name(name)
    owner, application = _set(name, "owner"), _set(name, "application")
    migrate_schema(owner)
    new = add_shard(_directory(context), name, owner_dsn=owner, application_dsn=application)
    typer.echo(f"The shard {name} {'takes new accounts' if new else 'was there already'}.")


@shards_app.command("open")
def open_(context: typer.Context, name: ShardName) -> None:
    """Put new accounts on a shard again."""
    let_in(_directory(context), name, accepts=True)
    typer.echo(f"The shard {name} takes new accounts.")


@shards_app.command()
def close(context: typer.Context, name: ShardName) -> None:
    """Put no new accounts on a shard. The accounts on it stay."""
    let_in(_directory(context), name, accepts=False)
    typer.echo(f"The shard {name} takes no new accounts.")


@shards_app.command()
def remove(context: typer.Context, name: ShardName) -> None:
    """Forget a shard that holds no account. Its database stays."""
    remove_shard(_directory(context), name)
    typer.echo(f"The shard {name} is forgotten; its database can be dropped.")


def move(
    account: Annotated[
        str, typer.Argument(help="Name of the account, or of another tenant, such as team:acme/core.")
    ],
    shard: Annotated[str, typer.Argument(help="Name of the shard to move it to.")],
    database: OwnerDatabase,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print the steps.")] = False,
) -> None:
    """Move an account to another shard while its devices use it. Their writes wait for a moment; nothing is lost or stored twice.

    If a move was interrupted, the same command finishes or undoes it.
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
    """Migrate the directory and every shard to the newest schema. Return a line of text for each.

    Raises:
        StoreError: a database cannot be reached, or the connection to a shard is not set. Shards with a connection are migrated nevertheless.
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
    """Return the connection to a shard as the role that owns its tables; "" = it is not set. `database` is the connection to the directory."""
    return database if shard == HOME else shard_url(shard, "owner")


def _directory(context: typer.Context) -> str:
    """Return the connection to the directory. The option does not require it, so that `--help` works without it."""
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
            hint=f"Set it to the connection to the database of the shard {shard} as "
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
        f" `tacit-server move {move.tenant} SHARD` finishes it."
    )
