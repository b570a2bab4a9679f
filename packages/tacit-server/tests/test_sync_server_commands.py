"""The commands of `tacit-server` on a database, and two processes of the server on it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from typer.testing import CliRunner

from postgres_server import OWNER, check_statement, server
from tacit.errors import InvalidInput, NotLoggedIn
from tacit.sync.keys import AccountKey
from tacit_server.logs import Logs
from tacit_server.main import DATABASE, OWNER_DATABASE, app
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.schema import SCHEMA_VERSION
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import open_teams
from test_sync_postgres_logs import Member
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
_names = itertools.count()


@pytest.fixture
def account() -> str:
    return f"eva-{os.getpid()}-{next(_names)}"


@pytest.fixture
def servers() -> Iterator[list[Logs]]:
    """Two processes of the server, so to say: each with connections of its own."""
    connections = [Connections(server().dsn(), max_size=2, observe=check_statement) for _ in range(2)]
    yield [PostgresLogs(each) for each in connections]
    for each in connections:
        each.close()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command line, with the variables of both roles."""
    monkeypatch.setenv(DATABASE, server().dsn())
    monkeypatch.setenv(OWNER_DATABASE, server().dsn(OWNER))

    def invoke(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None:
            raise result.exception
        return result.stdout

    return invoke


def test_an_operator_migrates_invites_and_removes(run, servers, account):
    assert run("migrate") == f"The database has schema {SCHEMA_VERSION}.\n"
    code = run("invite", account).strip()
    member = Member(servers[0], code, AccountKey.new())
    servers[0].push(member.who, [member.say("mem_1")], now_ms=NOW)
    assert run("remove", account, "--yes") == f"Removed {account} with 1 entries.\n"
    with pytest.raises(NotLoggedIn):
        servers[0].principal(member.token, now_ms=NOW)
    with pytest.raises(InvalidInput, match="its name stays taken"):
        run("invite", account)
    assert run("invite", account, "--same-person").startswith(f"{account}-")


def test_an_organization_whose_administrator_lost_everything_is_not_locked_out(run, servers, account):
    """The only administrator has lost phrase and device: another one is appointed, and the person comes back with a new phrase and their roles."""
    organization, other = f"org-{account}", f"bo-{account}"
    said = run("organization", organization, "--admin", account)
    ana = Member(servers[0], said.split("--code ")[1].split()[0], AccountKey.new())
    with pytest.raises(InvalidInput, match="last administrator") as refused:
        run("remove", account, "--yes")
    assert f"tacit-server admin {organization}" in refused.value.hint
    code = run("admin", organization, other).split("--code ")[1].split()[0]
    bo = Member(servers[1], code, AccountKey.new())
    assert run("admin", organization, account) == f"{account} administers {organization}.\n"
    with closing(Connections(server().dsn(), max_size=2)) as connections:
        teams = open_teams(connections, servers[0])
        assert [each.role for each in teams.members.teams(bo.who)] == ["admin"]
        back = Member(servers[1], run("invite", account, "--same-person").strip(), AccountKey.new())
        with pytest.raises(NotLoggedIn):
            servers[0].principal(ana.token, now_ms=NOW)
        assert [each.role for each in teams.members.teams(back.who)] == ["admin"]
        audit = teams.members.audit(bo.who, organization, before=2**53, limit=20)
        done = [(each.principal, each.action, each.subject) for each in audit]
    assert ("@server", "member admin by the operator", other) in done
    assert ("@server", "new phrase by the operator", account) in done
