"""A server that is restored from a dump: everything is there, and the guards of the database are, too."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from postgres_server import server
from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.roles import create_roles
from tacit.backends.postgres.schema import migrate
from tacit.errors import NotFound
from tacit.providers.clock import FakeClock
from tacit.providers.embedding.fake import FakeEmbedder
from tacit.server.logs import Login, Principal
from tacit.server.postgres_logs import PostgresLogs
from tacit.server.teams import Teams, open_teams
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_evals.postgres_search.embedded import programs
from unit.sync.devices import NOW
from unit.sync.test_sync_teams import RULE

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
