"""Several processes and threads at one team, connections that are lost, and a server that stops."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from postgres_server import (
    Server,
    add,
    changes_of,
    check_statement,
    new_tenant_name,
    nothing,
    own_server,
    server,
)
from samples import memory_named
from tacit.errors import InvalidInput, StoreBusy, StoreError
from tacit.model.changes import Add
from tacit.providers.clock import FakeClock
from tacit_server.postgres.connection import Connections, TenantDatabase
from tacit_server.postgres.memories import TeamMemories
from tacit_server.postgres.transaction import Transaction

pytestmark = pytest.mark.postgres

NOW = 1_700_000_000_000
COUNT = "SELECT count(*) FROM memories WHERE tenant = %(tenant)s"


@pytest.fixture
def running() -> Server:
    return server()


@pytest.fixture
def tenant() -> str:
    return new_tenant_name()


def opened(connections: Connections, tenant: str) -> TeamMemories:
    return TeamMemories(connections, tenant, clock=FakeClock(now_ms=NOW), principal="")


def count(memories: TeamMemories) -> int:
    return memories.database.reading(lambda transaction: transaction.number(COUNT))


@pytest.mark.slow
def test_several_processes_write_at_once_and_nothing_is_lost(running: Server, tenant: str) -> None:
    connections = Connections(running.dsn(), observe=check_statement)
    memories = opened(connections, tenant)
    add(memories, memory_named("mem_shared", "first"))
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(here.parents[2] / "tests")}
    workers = [
        subprocess.Popen(
            [sys.executable, here / "postgres_worker.py", running.dsn(), tenant, name, "12"], env=environment
        )
        for name in ("a", "b", "c")
    ]
    assert [worker.wait(300) for worker in workers] == [0, 0, 0]
    assert count(memories) == 37
    told = changes_of(memories)
    assert [entry.cursor.number for entry in told] == list(range(1, 1 + 1 + 3 * 12 * 2))
    edits = [entry.memory.content for entry in told if entry.memory_id == "mem_shared"]
    for name in "abc":
        texts = [content for content in edits if content.startswith(f"edited by {name}")]
        assert texts == [f"edited by {name} at {number}" for number in range(12)]
    assert memories.get(["mem_shared"])[0].content == edits[-1]
    assert len(memories.search("linter", None, limit=99).words) == 36
    connections.close()


def test_a_writer_that_is_kept_waiting_says_so(running: Server, tenant: str) -> None:
    connections = Connections(running.dsn(), wait_s=0.3)
    impatient = opened(connections, tenant)
    with psycopg.connect(running.dsn("postgres")) as holder:
        holder.execute("SELECT 1 FROM tenants WHERE name = %s FOR UPDATE", (tenant,))
        with pytest.raises(StoreBusy, match="nothing was stored"):
            add(impatient, memory_named("mem_a"))
        assert count(impatient) == 0
    add(impatient, memory_named("mem_a"))
    assert count(impatient) == 1
    connections.close()


class TestLostConnections:
    @pytest.fixture
    def memories(self, running: Server, tenant: str) -> Iterator[TeamMemories]:
        connections = Connections(f"{running.dsn()} application_name={tenant}", min_size=2, max_size=3)
        yield opened(connections, tenant)
        connections.close()

    def kill(self, running: Server, tenant: str) -> int:
        """End every connection that the application has; how many."""
        with psycopg.connect(running.dsn("postgres"), autocommit=True) as connection:
            rows = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tacit_app' AND application_name = %s",
                (tenant,),
            ).fetchall()
        return len(rows)

    def test_reads_and_writes_go_on_with_other_connections(
        self, memories: TeamMemories, running: Server, tenant: str
    ) -> None:
        add(memories, memory_named("mem_a"))
        assert self.kill(running, tenant) >= 1
        assert [one.id for one in memories.get(["mem_a"])] == ["mem_a"]
        assert self.kill(running, tenant) >= 1
        add(memories, memory_named("mem_b"))
        assert count(memories) == 2

    def test_a_write_that_is_lost_half_way_is_not_done_again(
        self, memories: TeamMemories, running: Server, tenant: str
    ) -> None:
        add(memories, memory_named("mem_a"))
        begun: list[int] = []

        def work(transaction: Transaction) -> None:
            begun.append(1)
            transaction.execute("DELETE FROM memories WHERE tenant = %(tenant)s")
            self.kill(running, tenant)
            transaction.execute("DELETE FROM versions WHERE tenant = %(tenant)s")

        with pytest.raises(StoreError, match="cannot be reached"):
            memories.database.writing(work, alone=True)
        assert begun == [1]
        assert count(memories) == 1

    def test_a_commit_that_is_lost_says_that_nobody_knows(
        self, memories: TeamMemories, running: Server, tenant: str
    ) -> None:
        def work(transaction: Transaction) -> None:
            transaction.execute("DELETE FROM purges WHERE tenant = %(tenant)s")
            self.kill(running, tenant)

        with pytest.raises(StoreError, match="not known whether"):
            memories.database.writing(work, alone=True)

    def test_a_read_that_is_lost_half_way_is_done_once_more(
        self, memories: TeamMemories, running: Server, tenant: str
    ) -> None:
        add(memories, memory_named("mem_a"))
        begun: list[int] = []

        def work(transaction: Transaction) -> int:
            begun.append(1)
            if len(begun) == 1:
                self.kill(running, tenant)
            return transaction.number(COUNT)

        assert memories.database.reading(work) == 1
        assert begun == [1, 1]


@pytest.mark.slow
def test_a_server_that_stops_and_comes_back() -> None:
    with own_server() as own:
        connections = Connections(own.dsn())
        memories = opened(connections, "team")
        add(memories, memory_named("mem_a"))
        own.stop()
        for use in (lambda: count(memories), lambda: add(memories, memory_named("mem_b"))):
            with pytest.raises(StoreError, match="cannot be reached"):
                use()
        own.start()
        assert count(memories) == 1
        add(memories, memory_named("mem_b"))
        assert count(memories) == 2
        connections.close()


def test_a_number_that_is_too_large_is_said(running: Server, tenant: str) -> None:
    connections = Connections(running.dsn())
    memories = opened(connections, tenant)
    with pytest.raises(InvalidInput, match="too large"):
        add(memories, memory_named("mem_a", created_at_ms=2**70))
    assert count(memories) == 0
    connections.close()


def test_many_tenants_share_connections(running: Server) -> None:
    connections = Connections(running.dsn(), max_size=2)
    stores = [opened(connections, new_tenant_name()) for _ in range(5)]
    for number, one in enumerate(stores):
        one.apply([Add(memory=memory_named(f"mem_{place}")) for place in range(number)], beside=nothing)
    assert [count(one) for one in stores] == [0, 1, 2, 3, 4]
    connections.close()
    with pytest.raises(StoreError, match="closed"):
        count(stores[1])


@pytest.mark.parametrize(
    "name", ["it's", 'a"b', "back\\slash", "'; DROP TABLE tenants; --", "%(tenant)s %s", "ü"]
)
def test_any_name_of_a_tenant_is_only_a_value(running: Server, name: str) -> None:
    connections = Connections(running.dsn(), max_size=1)
    name = f"{new_tenant_name()}{name}"
    assert connections.find(name) is None
    assert connections.add_tenant(name)
    assert not connections.add_tenant(name)
    assert TenantDatabase(connections, name).tenant == connections.find(name)
    connections.close()


@pytest.mark.parametrize("principal", ["ana'", "ana; SELECT 1", "ana\\", "Ana", " ana"])
def test_a_principal_of_another_form_is_refused(running: Server, principal: str) -> None:
    connections = Connections(running.dsn(), max_size=1)
    with pytest.raises(StoreError, match="cannot name a principal"):
        TenantDatabase(connections, "team:acme", principal=principal)
    connections.close()
