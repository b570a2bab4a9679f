"""A server that is restored from a dump: everything is there, and the guards of the database are, too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

import psycopg
import pytest

from postgres_server import server
from tacit.errors import NotFound
from tacit.model.shared import SharedMemory, TeamChanges, TeamMembership
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.state.registry import TEAMS
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.team_server import TeamServer
from tacit_server.logs import Login, Principal
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.roles import create_roles
from tacit_server.postgres.schema import migrate
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.postgres_process import programs
from tacit_server.teams import Teams, open_teams
from test_sync_teams import RULE
from unit.app.test_app_shared_teams import Home, following
from unit.sync.devices import NOW

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@contextmanager
def database(name: str) -> Iterator[str]:
    """An empty database with the two roles and the extension."""
    with psycopg.connect(server().dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    create_roles(server().dsn("postgres", name))
    yield name
    with psycopg.connect(server().dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def opened(name: str) -> Iterator[tuple[PostgresLogs, Teams]]:
    connections = Connections(server().dsn(database=name), min_size=1, max_size=2)
    logs = PostgresLogs(connections)
    try:
        yield (
            logs,
            open_teams(connections, logs, clock=FakeClock(now_ms=NOW), embedder=FakeEmbedder()),
        )
    finally:
        connections.close()


def run(program: str, *words: str) -> None:
    done = subprocess.run([str(programs() / program), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@dataclass
class Asking:
    """What a device of a person asks of the teams, without the HTTP between."""

    teams: Teams
    who: Principal

    def is_mine(self, _shared: SharedMemory) -> bool:
        return False

    def teams_if_any(self) -> tuple[TeamMembership, ...]:
        return self.teams.members.teams(self.who)

    def changes(self, team: str, *, after: str, limit: int) -> TeamChanges:
        return self.teams.requests.changes(self.who, team, after=after, limit=limit)

    def unshare(self, team: str, memory_id: str, *, purge: bool) -> SharedMemory:
        return self.teams.requests.unshare(self.who, team, memory_id, purge=purge, now_ms=NOW)

    def follow(self, home: Home) -> list[str]:
        following(home).take_over(cast(TeamServer, self))
        return home.contents()


def test_a_dump_brings_back_accounts_teams_and_guards(tmp_path):
    ana, zoe = Principal(account="ana", device="d" * 64), Principal(account="zoe", device="e" * 64)
    first, second = f"dumped_{os.getpid()}", f"restored_{os.getpid()}"
    with database(first) as old, database(second) as new:
        migrate(server().dsn("tacit_owner", old))
        with opened(old) as (logs, teams):
            code = teams.members.add_organization("acme", admin="ana", name="Ana Ruiz", now_ms=NOW)
            key, secret = DeviceKey.new(), AccountKey.new()
            token = logs.log_in(
                Login(
                    code=code,
                    key=secret.account,
                    device=key.device,
                    name="laptop",
                    signature=key.sign(key.device.encode()),
                ),
                now_ms=NOW,
            ).token
            request = teams.requests.ask(ana, "acme", RULE, now_ms=NOW)
            teams.requests.decide(ana, "acme", request.id, "accept", now_ms=NOW)
        file = str(tmp_path / "dump")
        run("pg_dump", "--format=custom", "--file", file, server().dsn("postgres", old))
        run("pg_restore", "--dbname", server().dsn("postgres", new), "--clean", "--if-exists", file)
        migrate(server().dsn("tacit_owner", new))
        with opened(new) as (logs, teams):
            assert logs.principal(token, now_ms=NOW).account == "ana"
            changes = teams.requests.changes(ana, "acme", after="", limit=10)
            assert [each.statement.content for each in changes.memories] == [RULE.content]
            assert teams.requests.search(ana, "ticket number of a commit")
            with pytest.raises(NotFound):
                teams.requests.changes(zoe, "acme", after="", limit=10)
            with (
                psycopg.connect(server().dsn(database=new)) as connection,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                connection.execute("DELETE FROM audit")


def test_what_was_purged_after_the_backup_is_purged_again_by_the_devices_that_did_it(tmp_path):
    ana, bo = Principal(account="ana", device="d" * 64), Principal(account="bo", device="e" * 64)
    late = Principal(account="bo", device="f" * 64)
    first, second = f"dumped_{os.getpid()}", f"restored_{os.getpid()}"
    homes = {who: Home() for who in (ana, bo, late)}
    file = str(tmp_path / "dump")
    with database(first) as old, database(second) as new:
        migrate(server().dsn("tacit_owner", old))
        with opened(old) as (_, teams):
            teams.members.add_organization("acme", admin="ana", name="Ana Ruiz", now_ms=NOW)
            teams.members.put_member(ana, "acme", "bo", name="Bo Lind", role="reader", now_ms=NOW)
            request = teams.requests.ask(ana, "acme", RULE, now_ms=NOW)
            teams.requests.decide(ana, "acme", request.id, "accept", now_ms=NOW)
            run("pg_dump", "--format=custom", "--file", file, server().dsn("postgres", old))
            assert (
                Asking(teams, ana).follow(homes[ana]) == Asking(teams, bo).follow(homes[bo]) == [RULE.content]
            )
            (memory,) = teams.requests.changes(ana, "acme", after="", limit=10).memories
            teams.requests.unshare(ana, "acme", memory.id, purge=True, now_ms=NOW)
            assert Asking(teams, ana).follow(homes[ana]) == Asking(teams, bo).follow(homes[bo]) == []
        run("pg_restore", "--dbname", server().dsn("postgres", new), "--clean", "--if-exists", file)
        migrate(server().dsn("tacit_owner", new))
        with opened(new) as (_, teams):
            # A reader may not purge: the device that had purged it does without it, another one takes it meanwhile.
            assert Asking(teams, bo).follow(homes[bo]) == []
            assert Asking(teams, late).follow(homes[late]) == [RULE.content]
            assert Asking(teams, ana).follow(homes[ana]) == []
            assert Asking(teams, late).follow(homes[late]) == []
            changes = teams.requests.changes(ana, "acme", after="", limit=10)
            assert (changes.memories, changes.purged) == ((), (memory.id,))


def now_ms() -> int:
    """The time of the processes, which use the clock of the system."""
    return int(time.time() * 1000)


class Serving:
    """`tacit-server serve` on a database, in a process of its own."""

    def __init__(self, name: str) -> None:
        words = ("-m", "tacit_server.main", "serve", "--port", "0")
        environment = {**os.environ, "TACIT_DATABASE_URL": server().dsn(database=name)}
        self._process = subprocess.Popen(
            [sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip().rpartition(" ")[2]

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._process.kill()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()


def logged_in(teams: Teams, url: str, account: str, code: str) -> tuple[TeamServer, Home]:
    """A device that has logged in over HTTP: its connection, and its home."""
    key, secret = DeviceKey.new(), AccountKey.new()
    device = HttpServer(url)
    device.log_in(
        code=code,
        key=secret.account,
        device=key.device,
        name="laptop",
        signature=key.sign(key.device.encode()),
    )
    assert account in {
        each.principal for each in teams.members.members(Principal(account=account, device=""), "acme")
    }
    return TeamServer(device.connection), Home()


def test_what_a_restored_server_forgot_stays_marked_and_comes_back_when_its_author_asks_again(tmp_path):
    """Real commands and processes: one statement is shared after the dump, the server is killed with -9 and restored from the dump."""
    first, second = f"dumped_{os.getpid()}", f"restored_{os.getpid()}"
    file, later = str(tmp_path / "dump"), replace(RULE, content="Releases go out on Thursdays.")
    with database(first) as old, database(second) as new:
        migrate(server().dsn("tacit_owner", old))
        process = Serving(old)
        with opened(old) as (_, teams):
            code = teams.members.add_organization("acme", admin="ana", name="Ana Ruiz", now_ms=now_ms())
            ana, anas = logged_in(teams, process.url, "ana", code)
            added = ana.put_member("acme", "bo", role="writer", name="Bo Lind")
            bo, bos = logged_in(teams, process.url, "bo", added.code)
        bo.teams()
        own = anas.own(7, later.content)
        bo.decide("acme", ana.ask_to_share("acme", RULE).id, "accept")
        run("pg_dump", "--format=custom", "--file", file, server().dsn("postgres", old))
        bo.decide("acme", ana.ask_to_share("acme", later).id, "accept")
        for device, home in ((ana, anas), (bo, bos)):
            following(home).take_over(device)
            assert home.contents() == sorted((RULE.content, later.content))
        process.kill()
        run("pg_restore", "--dbname", server().dsn("postgres", new), "--clean", "--if-exists", file)
        migrate(server().dsn("tacit_owner", new))
        process = Serving(new)
        for device, home in ((ana, anas), (bo, bos)):
            device._connection._url = process.url
            following(home).take_over(device)
            assert home.contents() == sorted((RULE.content, later.content)), "nobody said that it ended"
            assert len(TEAMS.read(home.store)["acme"].lost) == 1
        assert TEAMS.read(anas.store)["acme"].lost == (own.id,), "its author is asked to share it again"
        request = ana.ask_to_share("acme", later)
        process.kill()
        process = Serving(new)
        ana._connection._url = bo._connection._url = process.url
        bo.decide("acme", request.id, "accept")
        for device, home in ((ana, anas), (bo, bos)):
            following(home).take_over(device)
            assert home.contents() == sorted((RULE.content, later.content)), "and it is there once"
            assert TEAMS.read(home.store)["acme"].lost == ()
        for device in (ana, bo):
            device._connection.close()
        process.kill()
