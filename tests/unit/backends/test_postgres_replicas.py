"""Searches on a replica that PostgreSQL itself keeps up to date, and on the primary where the replica will not do."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from contracts.stores import ALPHA, memory
from postgres_server import APPLICATION, OWNER, server
from tacit.backends.postgres import PostgresStore, create_roles, migrate
from tacit.backends.postgres.connection import Addresses, Connections
from tacit.backends.postgres.replicas import LOOK_S
from tacit.model.changes import Add
from tacit.model.scope import ScopeFilter
from tacit.providers.clock import SystemClock
from tacit_evals.postgres_search.embedded import (
    REPLICATED,
    copy_as_replica,
    end_process,
    start_process,
    wait_until_ready,
)

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

SEEN = ScopeFilter.of(ALPHA)
LAG_S = 2.0


class Pair:
    """A primary and its replica."""

    def __init__(self) -> None:
        # The path of a socket is short, whatever the folder of the tests is.
        self.folders = [Path(tempfile.mkdtemp(prefix="tacit-rep-", dir="/tmp")) for _ in range(2)]
        self.primary = start_process(self.folders[0], **REPLICATED)
        wait_until_ready(self.primary, self.folders[0])
        with psycopg.connect(self.dsn(0, "postgres", "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE tacit")
        create_roles(self.dsn(0, "postgres"))
        migrate(self.dsn(0, OWNER))
        copy_as_replica(*self.folders)
        self.start_replica()

    def start_replica(self) -> None:
        self.replica = start_process(self.folders[1], **REPLICATED)
        wait_until_ready(self.replica, self.folders[1])

    def dsn(self, place: int, user: str = APPLICATION, database: str = "tacit") -> str:
        return f"host={self.folders[place]} user={user} dbname={database}"

    def execute(self, place: int, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.dsn(place, "postgres"), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def wait_until_copied(self) -> None:
        (where,), *_ = self.execute(0, "SELECT pg_current_wal_insert_lsn()::text")
        until = time.monotonic() + 20
        while not self.execute(1, f"SELECT pg_last_wal_replay_lsn() >= '{where}'")[0][0]:
            assert time.monotonic() < until
            time.sleep(0.05)

    @contextlib.contextmanager
    def held_back(self) -> Generator[None]:
        """The replica shows nothing new meanwhile."""
        self.execute(1, "SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.execute(1, "SELECT pg_wal_replay_resume()")

    def end(self) -> None:
        for process in (self.replica, self.primary):
            end_process(process)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    server()  # skips where no PostgreSQL can be started
    made = Pair()
    yield made
    made.end()


def opened(pair: Pair, replica: str = "") -> Connections:
    dsn = replica or pair.dsn(1)
    return Connections(
        pair.dsn(0),
        max_size=3,
        addresses=Addresses(replica=lambda name: dsn if name == "main" else ""),
        max_lag_s=LAG_S,
    )


@pytest.fixture
def connections(pair: Pair) -> Iterator[Connections]:
    made = opened(pair)
    yield made
    made.close()


def store_of(connections: Connections, tenant: str) -> PostgresStore:
    return PostgresStore(connections, tenant, clock=SystemClock())


def found(store: PostgresStore) -> set[str]:
    return {hit.memory_id for hit in store.search.lexical("linter", scope=SEEN, limit=99).hits}


def add_lint(store: PostgresStore, name: str) -> None:
    store.apply([Add(memory=memory(name, f"run the linter, says {name}"))])


def test_searches_go_to_the_replica_and_other_reads_do_not(pair: Pair, connections: Connections) -> None:
    add_lint(store_of(connections, "searching"), "mem_a")
    pair.wait_until_copied()
    reader = store_of(connections, "searching")
    assert found(reader) == {"mem_a"}
    with pair.held_back():
        other = opened(pair)
        add_lint(store_of(other, "searching"), "mem_b")
        other.close()
        assert found(reader) == {"mem_a"}, "the replica answers, with a state of a moment ago"
        assert reader.stats().memories_active == 1
        assert len(reader.get(["mem_a", "mem_b"], scope=SEEN)) == 2, (
            "what a change is decided by is read from the primary"
        )
        with reader.at_once():
            assert found(reader) == {"mem_a", "mem_b"}
    pair.wait_until_copied()
    assert found(reader) == {"mem_a", "mem_b"}


def test_one_sees_what_one_wrote(pair: Pair, connections: Connections) -> None:
    store = store_of(connections, "writing")
    with pair.held_back():
        add_lint(store, "mem_a")
        assert found(store) == {"mem_a"}


def test_a_replica_that_is_too_far_behind_is_not_asked(pair: Pair, connections: Connections) -> None:
    add_lint(store_of(connections, "behind"), "mem_a")
    pair.wait_until_copied()
    reader = store_of(connections, "behind")
    with pair.held_back():
        other = opened(pair)
        add_lint(store_of(other, "behind"), "mem_b")
        other.close()
        assert found(reader) == {"mem_a"}
        time.sleep(LAG_S + LOOK_S + 0.2)
        assert found(reader) == {"mem_a", "mem_b"}


def test_an_idle_primary_is_no_lag(pair: Pair, connections: Connections) -> None:
    add_lint(store_of(connections, "idle"), "mem_a")
    pair.wait_until_copied()
    time.sleep(LAG_S + LOOK_S + 0.2)
    assert connections.replica is not None
    assert connections.replica.usable()


def test_a_replica_that_goes_away_and_comes_back(pair: Pair, connections: Connections) -> None:
    add_lint(store_of(connections, "away"), "mem_a")
    pair.wait_until_copied()
    reader = store_of(connections, "away")
    assert connections.replica is not None
    assert found(reader) == {"mem_a"}
    end_process(pair.replica)
    try:
        add_lint(store_of(connections, "away"), "mem_b")
        assert found(reader) == {"mem_a", "mem_b"}
        assert not connections.replica.usable()
    finally:
        pair.start_replica()
    pair.wait_until_copied()
    until = time.monotonic() + 20
    while not connections.replica.usable():
        assert time.monotonic() < until
        time.sleep(0.2)
    assert found(reader) == {"mem_a", "mem_b"}


@pytest.mark.parametrize(
    ("place", "user", "reason"),
    [(1, "postgres", "superuser"), (0, APPLICATION, "not a replica")],
)
def test_what_is_no_replica_or_not_bound_by_the_policies_is_not_asked(
    pair: Pair, caplog: pytest.LogCaptureFixture, place: int, user: str, reason: str
) -> None:
    connections = opened(pair, pair.dsn(place, user))
    store = store_of(connections, "wrong")
    assert found(store) == set()
    assert connections.replica is not None
    assert not connections.replica.usable()
    assert reason in caplog.text
    connections.close()
