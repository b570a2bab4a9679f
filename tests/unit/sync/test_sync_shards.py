"""Accounts over several databases: devices that go on while their account moves, and the commands of the server."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from postgres_server import Shards
from tacit.errors import InvalidInput, NotFound, NotLoggedIn, TacitError
from tacit.server.logs import Logs
from tacit.sync.keys import AccountKey
from unit.sync.devices import NOW
from unit.sync.test_sync_postgres_logs import Member

pytestmark = pytest.mark.postgres
_names = itertools.count()


@pytest.fixture(scope="module")
def shards() -> Iterator[Shards]:
    made = Shards("b", "c")
    yield made
    made.drop()


@pytest.fixture
def account() -> str:
    return f"eva-{os.getpid()}-{next(_names)}"


@pytest.fixture
def servers(shards: Shards) -> Iterator[list[Logs]]:
    """Two processes of the server, so to say: each with connections and routes of its own."""
    from tacit.server.postgres_logs import PostgresLogs

    connections = [shards.connections(max_size=4) for _ in range(2)]
    yield [PostgresLogs(each) for each in connections]
    for each in connections:
        each.close()


@pytest.fixture
def run(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> object:
    """The command line, with the variables of all shards."""
    from tacit.server.main import app

    for name in ("main", "b", "c"):
        middle = "DATABASE" if name == "main" else f"SHARD_{name.upper()}"
        monkeypatch.setenv(f"TACIT_{middle}_URL", shards.application(name))
        monkeypatch.setenv(f"TACIT_{middle}_OWNER_URL", shards.owner(name))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    return invoke


def said(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_devices_go_on_while_their_account_moves(shards, servers, account):
    from tacit.backends.postgres.shards.moving import move_tenant

    code = servers[0].add_account(account, now_ms=NOW)
    member = Member(servers[0], code, AccountKey.new())
    first = member.say("mem_0")
    servers[0].push(member.who, [first], now_ms=NOW)
    assert servers[1].heads(servers[1].principal(member.token, now_ms=NOW)) == {member.key.device: 1}
    ended, failed = threading.Event(), []

    def push() -> None:
        try:
            for number in itertools.count(1):
                if ended.is_set():
                    return
                logs = servers[number % 2]
                who = logs.principal(member.token, now_ms=NOW)
                logs.push(who, [member.say(f"mem_{number}")], now_ms=NOW)
                logs.report(who, logs.heads(who), now_ms=NOW)
        except TacitError as error:
            failed.append(error)

    thread = threading.Thread(target=push)
    thread.start()
    for shard in ("b", "c", "main", "b", "c"):
        move_tenant(f"account:{account}", shard, owner_url=shards.owner)
    ended.set()
    thread.join()
    assert failed == []
    assert len(member.log) > 5
    for logs in servers:
        held = logs.entries(member.who, member.key.device, after=0, limit=100_000)
        assert [entry.id for entry in held] == [entry.id for entry in member.log]
    held_on = [
        len(shards.rows(name, f"SELECT 1 FROM tenants WHERE name = 'account:{account}'"))
        for name in ("main", "b", "c")
    ]
    assert held_on == [0, 0, 1]


def test_the_name_of_an_account_that_was_removed_stays_taken_on_every_server(shards, servers, account):
    code = servers[0].add_account(account, now_ms=NOW)
    member = Member(servers[0], code, AccountKey.new())
    servers[1].principal(member.token, now_ms=NOW)
    assert servers[0].remove_account(account) == 0
    assert shards.rows("main", f"SELECT 1 FROM routes WHERE name = 'account:{account}'") == [(1,)]
    with pytest.raises(NotLoggedIn):
        servers[1].principal(member.token, now_ms=NOW)
    with pytest.raises(NotFound):
        servers[0].remove_account(account)
    for server in servers[:2]:
        with pytest.raises(InvalidInput):
            server.add_account(account, now_ms=NOW)
    again = servers[0].add_account(account, now_ms=NOW, same_person=True)
    with pytest.raises(NotLoggedIn):
        servers[1].principal(member.token, now_ms=NOW)
    assert Member(servers[1], again, AccountKey.new()).who.account == account


def test_the_commands(shards, run, servers, account):
    assert "schema" in said(run("migrate"))
    assert said(run("migrate")).count("schema") == 3
    listed = said(run("shards"))
    assert [line.partition(":")[0] for line in listed.splitlines()] == ["main", "b", "c"]
    said(run("shards", "close", "b"))
    assert any(
        line.startswith("b:") and "closed to new accounts" in line
        for line in said(run("shards")).splitlines()
    )
    assert "takes new accounts" in said(run("shards", "open", "b"))
    said(run("invite", account))
    said(run("move", account, "c", "--quiet"))  # wherever the account was placed
    assert f"Moved {account} from c to b" in said(run("move", account, "b"))
    assert said(run("move", f"account:{account}", "b", "--quiet")) == f"account:{account} is on b.\n"
    assert said(run("remove", account, "--yes")) == f"Removed {account} with 0 entries.\n"
    assert "was there already" in said(run("shards", "add", "c"))


def test_the_commands_say_what_is_missing(shards, run, servers, account, monkeypatch):
    said(run("invite", account))
    said(run("move", account, "b"))
    for name, arguments, message in (
        ("TACIT_SHARD_D_OWNER_URL", ("shards", "add", "d"), "TACIT_SHARD_D_OWNER_URL is not set"),
        ("TACIT_SHARD_B_OWNER_URL", ("move", account, "c"), "The shard b has no connection as the owner"),
        ("TACIT_SHARD_B_OWNER_URL", ("migrate",), "Not migrated, because their connections are not set: b"),
        ("TACIT_SHARD_B_URL", ("invite", account), "The shard b has no connection here"),
        ("TACIT_DATABASE_OWNER_URL", ("shards",), "The connection to the directory is not set"),
        ("", ("shards", "add", "B"), "cannot name a shard"),
        ("", ("shards", "add", "x-owner"), "cannot name a shard"),
    ):
        with monkeypatch.context() as patched:
            patched.delenv(name, raising=False)
            result = run(*arguments)
        assert isinstance(result.exception, TacitError), (arguments, result.output)
        assert message in result.exception.message
        assert result.exception.hint
    with monkeypatch.context() as patched:
        patched.delenv("TACIT_SHARD_B_URL")
        assert "not set here: TACIT_SHARD_B_URL" in said(run("shards"))


def test_an_interrupted_move_is_listed(shards, run, servers, account):
    from tacit.backends.postgres.shards.moving import move_tenant

    said(run("invite", account))
    said(run("move", account, "b"))

    class Interrupted(Exception):
        pass

    def step(name: str) -> None:
        if name == "copied":
            raise Interrupted

    with pytest.raises(Interrupted):
        move_tenant(f"account:{account}", "c", owner_url=shards.owner, step=step)
    assert f"account:{account} is on its way, or its move was interrupted (b, c)" in said(run("shards"))
    said(run("move", account, "b"))
    assert "interrupted" not in said(run("shards"))


def test_a_team_moves_with_all_it_has_and_stays_closed_to_others(shards):
    """Members, a request that waits, the audit log and memories; devices go on at their cursor or begin anew, and nothing is missing."""
    from tacit.backends.postgres.shards.moving import move_tenant
    from tacit.providers.clock import FakeClock
    from tacit.providers.embedding.fake import FakeEmbedder
    from tacit.server.postgres_logs import PostgresLogs
    from tacit.server.teams import open_teams
    from unit.sync.test_sync_teams import RULE, Acme

    connections = shards.connections(max_size=4)
    try:
        logs = PostgresLogs(connections)
        acme = Acme(open_teams(connections, logs, clock=FakeClock(now_ms=NOW), embedder=FakeEmbedder()))
        acme.accept(acme.ask(acme.bo))
        waiting = acme.ask(acme.bo, replace(RULE, content="Releases go out on Thursdays."))
        before = acme.members.audit(acme.ana, acme.core, before=2**53, limit=50)
        # A new team begins on the shard with the fewest tenants, and other tests add some.
        move_tenant(f"team:{acme.core}", "main", owner_url=shards.owner)
        cursor = acme.requests.changes(acme.dee, acme.core, after="", limit=50).cursor
        for shard in ("b", "c"):
            move_tenant(f"team:{acme.core}", shard, owner_url=shards.owner)
            page = acme.requests.changes(acme.dee, acme.core, after=cursor, limit=50)
            while page.more:  # something earlier is still being written in this database: a device asks again
                page = acme.requests.changes(acme.dee, acme.core, after=cursor, limit=50)
            assert (page.anew, [each.statement.content for each in page.memories]) == (True, [RULE.content])
            cursor = page.cursor
            assert acme.requests.changes(acme.dee, acme.core, after=cursor, limit=50).memories == ()
            assert [each.id for each in acme.requests.list(acme.cy, acme.core)] == [waiting.id]
            assert acme.requests.list(acme.dee, acme.core) == ()
            assert acme.members.audit(acme.ana, acme.core, before=2**53, limit=50) == before
            for stranger in (acme.eve, acme.zoe):
                with pytest.raises(NotFound):
                    acme.requests.changes(stranger, acme.core, after="", limit=50)
        assert acme.accept(waiting).state == "accepted"
        assert acme.shared(acme.dee) == {RULE.content: True, "Releases go out on Thursdays.": True}
    finally:
        connections.close()
