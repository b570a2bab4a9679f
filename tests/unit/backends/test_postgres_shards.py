"""Tenants over three databases: who comes where, and a tenant that moves while it writes, with movers that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from contracts.stores import ALPHA, EMBEDDER, NOW, add, memory, unit
from postgres_server import OWNER, Shards, new_tenant_name, server, told_after
from samples import memory_named
from tacit.backends.postgres import (
    Connections,
    Cursor,
    PostgresStore,
    create_roles,
    migrate,
    promote,
)
from tacit.backends.postgres.connection import Addresses
from tacit.backends.postgres.roles import TENANT_TABLES
from tacit.backends.postgres.shards.copying import AHEAD
from tacit.backends.postgres.shards.directory import add_shard, let_in, list_shards, remove_shard
from tacit.backends.postgres.shards.moving import move_tenant, move_to_end
from tacit.errors import Conflict, InvalidInput, NotFound, StoreError
from tacit.model.changes import Add, Edit, Removal
from tacit.model.memory import Relation
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.ports.store import Handover, ProjectRecord
from tacit.providers.clock import FakeClock, SystemClock

pytestmark = pytest.mark.postgres

SEEN = ScopeFilter.of(ALPHA, UNIVERSAL)
STEPS = (
    "begun",
    "made",
    "copied",
    "caught up",
    "stopped",
    "stored",
    "switched",
    "routed",
    "removed",
    "ended",
)


@pytest.fixture(scope="module")
def shards() -> Iterator[Shards]:
    made = Shards("b", "c")
    yield made
    made.drop()


@pytest.fixture(scope="module")
def connections(shards: Shards) -> Iterator[Connections]:
    made = shards.connections()
    yield made
    made.close()


@pytest.fixture
def tenant() -> str:
    return new_tenant_name()


@pytest.fixture
def store(shards: Shards, connections: Connections, tenant: str) -> Iterator[PostgresStore]:
    """A store on the directory's own database."""
    for name in ("b", "c"):
        let_in(shards.owner("main"), name, accepts=False)
    made = PostgresStore(connections, tenant, clock=FakeClock(now_ms=NOW))
    for name in ("b", "c"):
        let_in(shards.owner("main"), name, accepts=True)
    yield made
    made.close()


def shard_of(shards: Shards, tenant: str) -> str:
    found = shards.rows("main", f"SELECT shard, also_on FROM routes WHERE name = '{tenant}'")
    assert found[0][1] is None, "no move is under way"
    return str(found[0][0])


def rows_of(shards: Shards, shard: str, tenant: str) -> dict[str, list[str]]:
    """Every row of a tenant on a shard, without what each database numbers for itself."""
    numbers = shards.rows(shard, f"SELECT tenant FROM tenants WHERE name = '{tenant}'")
    if not numbers:
        return {}
    return {
        table: sorted(
            row[0]
            for row in shards.rows(
                shard,
                f"SELECT (to_jsonb(t) - '{{tenant,placement,placements,indexed,xid,seq,stay,moved_to}}'::text[])::text"
                f" FROM {table} AS t WHERE tenant = {numbers[0][0]}",
            )
        )
        for table in TENANT_TABLES
    }


def count_everywhere(shards: Shards, shard: str) -> int:
    """The rows on a shard, of whatever tenant."""
    return sum(shards.rows(shard, f"SELECT count(*) FROM {table}")[0][0] for table in TENANT_TABLES)


def fill(store: PostgresStore) -> None:
    key = SessionKey(host="h", session_id="1")
    store.apply(
        [Add(memory=memory("mem_a", "run the linter first")), Add(memory=memory("mem_b", "second words"))],
        vectors=np.eye(2, 4, dtype=np.float32),
        identity=EMBEDDER,
    )
    store.apply([Edit(memory=memory("mem_a", "run the linters twice"))])
    add(store, memory("mem_gone"))
    store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_gone",)))
    store.relate([Relation(source_id="mem_a", target_id="mem_b", type="related_to", weight=0.5)])
    store.count_usage(shown=["mem_a"], used=["mem_a", "mem_b"])
    store.save_session(SessionState(key=key, turn=4))
    store.put_project(ProjectRecord(id="p", name="p", root="/p"))
    store.hand_over(Handover(key="k", session=key, payload="{}", at_ms=1))
    store.put_value("name", "value")


class TestPlaces:
    def test_a_new_tenant_comes_to_the_open_shard_with_the_fewest(
        self, shards: Shards, connections: Connections
    ) -> None:
        def fewest() -> str:
            shards_now = [shard for shard in list_shards(shards.owner("main"))[0] if shard.accepts]
            return min(shards_now, key=lambda shard: (shard.tenants, shard.name)).name

        let_in(shards.owner("main"), "b", accepts=False)
        for _ in range(7):
            expected, name = fewest(), new_tenant_name()
            assert expected != "b"
            PostgresStore(connections, name, clock=SystemClock())
            assert shard_of(shards, name) == expected
        let_in(shards.owner("main"), "b", accepts=True)
        counted = {shard.name: shard.tenants for shard in list_shards(shards.owner("main"))[0]}
        assert counted == {
            name: shards.rows("main", f"SELECT count(*) FROM routes WHERE shard = '{name}'")[0][0]
            for name in ("main", "b", "c")
        }

    def test_asking_for_a_tenant_makes_none(self, shards: Shards, connections: Connections) -> None:
        assert not connections.has_tenant("nobody")
        assert shards.rows("main", "SELECT count(*) FROM routes WHERE name = 'nobody'") == [(0,)]

    def test_many_who_open_one_new_tenant_at_once_get_one(self, shards: Shards, tenant: str) -> None:
        opened = [shards.connections(max_size=2) for _ in range(3)]
        numbers: list[tuple[str, int]] = []

        def open_it(connections: Connections) -> None:
            place = connections.locate(tenant)
            numbers.append((place.connections.dsn, place.tenant))

        threads = [threading.Thread(target=open_it, args=(each,)) for each in opened * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(numbers) == 12
        assert len(set(numbers)) == 1
        held = [
            len(shards.rows(name, f"SELECT 1 FROM tenants WHERE name = '{tenant}'"))
            for name in ("main", "b", "c")
        ]
        assert sum(held) == 1
        for each in opened:
            each.close()

    def test_who_knows_no_connection_to_the_shard_is_told_what_to_set(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        move_tenant(tenant, "b", owner_url=shards.owner)
        alone = Connections(shards.application("main"))
        with pytest.raises(StoreError, match="shard b has no connection") as caught:
            alone.locate(tenant)
        assert "TACIT_SHARD_B_URL" in caught.value.hint
        alone.locate(new := new_tenant_name())
        assert shard_of(shards, new) == "main", "a new tenant comes to a shard that this process reaches"
        alone.close()

    def test_a_connection_that_leads_to_another_shard_is_refused(self, shards: Shards) -> None:
        with pytest.raises(StoreError, match="is the shard b, not main") as caught:
            Connections(shards.application("b"))
        assert "directory" in caught.value.hint
        mixed = Connections(
            shards.application("main"), addresses=Addresses(primary=lambda _: shards.application("c"))
        )
        with pytest.raises(StoreError, match="is the shard c, not b"):
            mixed.shard("b")
        mixed.close()
        with pytest.raises(StoreError, match="another directory"):
            Connections(shards.application("b"), shard="b", directory=str(uuid.uuid4()))

    def test_only_an_empty_database_becomes_a_shard(self, shards: Shards, store: PostgresStore) -> None:
        for database, message in (("main", "the directory itself"), ("b", "the shard b already")):
            with pytest.raises(InvalidInput, match=message):
                add_shard(
                    shards.owner("main"),
                    "d",
                    owner_dsn=shards.owner(database),
                    application_dsn=shards.application(database),
                )
        other = Shards()
        lone = other.connections()
        lone.locate("somebody")
        lone.close()
        with pytest.raises(InvalidInput, match="holds 1 tenants"):
            add_shard(
                shards.owner("main"),
                "d",
                owner_dsn=other.owner("main"),
                application_dsn=other.application("main"),
            )
        other.drop()
        assert not add_shard(
            shards.owner("main"), "b", owner_dsn=shards.owner("b"), application_dsn=shards.application("b")
        )

    def test_a_shard_is_removed_when_it_is_empty(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        move_tenant(tenant, "b", owner_url=shards.owner)
        with pytest.raises(Conflict, match="not removed") as caught:
            remove_shard(shards.owner("main"), "b")
        assert "tacit-server move" in caught.value.hint
        spare = Shards()
        assert add_shard(
            shards.owner("main"),
            "spare",
            owner_dsn=spare.owner("main"),
            application_dsn=spare.application("main"),
        )
        remove_shard(shards.owner("main"), "spare")
        spare.drop()
        for call in (remove_shard, lambda dsn, name: let_in(dsn, name, accepts=True)):
            with pytest.raises(NotFound, match="spare"):
                call(shards.owner("main"), "spare")
        with pytest.raises(InvalidInput):
            remove_shard(shards.owner("main"), "main")

    def test_a_tenant_that_was_removed_is_forgotten(
        self, shards: Shards, connections: Connections, store: PostgresStore, tenant: str
    ) -> None:
        connections.forget(tenant)
        assert shard_of(shards, tenant) == "main", "it is there"
        store.database.writing(
            lambda transaction: transaction.execute("DELETE FROM tenants WHERE tenant = %(tenant)s"),
            durable=True,
            alone=True,
        )
        with pytest.raises(StoreError, match="was removed"):
            store.stats()
        connections.forget(tenant)
        assert shards.rows("main", f"SELECT 1 FROM routes WHERE name = '{tenant}'") == []

    def test_the_tenants_of_an_older_schema_stay_where_they_are(self) -> None:
        from alembic import command
        from alembic.config import Config
        from sqlalchemy import NullPool, create_engine

        import tacit.backends.postgres as package

        run, name = server(), f"older_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(run.dsn("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        create_roles(run.dsn("postgres", name))
        config = Config()
        config.set_main_option("script_location", str(Path(package.__file__).with_name("migrations")))
        config.set_main_option("path_separator", "os")
        owner = run.dsn(OWNER, name)
        engine = create_engine(
            "postgresql+psycopg://", creator=lambda: psycopg.connect(owner), poolclass=NullPool
        )
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "0002")
            connection.commit()
        engine.dispose()
        with psycopg.connect(run.dsn("postgres", name), autocommit=True) as connection:
            connection.execute("INSERT INTO tenants (name) VALUES ('old one'), ('old two')")
            migrate(owner)
            assert connection.execute("SELECT name, shard FROM routes ORDER BY name").fetchall() == [
                ("old one", "main"),
                ("old two", "main"),
            ]
            forced = connection.execute(
                "SELECT relforcerowsecurity FROM pg_class WHERE relname = 'tenants'"
            ).fetchone()
            assert forced == (True,)
        assert list_shards(owner)[0][0].tenants == 2
        connections = Connections(run.dsn(database=name))
        with connections.named("old two") as connection:
            assert connection.execute("SELECT name FROM routes").fetchall() == [("old two",)]
        connections.close()
        with psycopg.connect(run.dsn("postgres", "postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


class TestMoving:
    def test_everything_is_there_and_nothing_is_left(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        fill(store)
        before, left = rows_of(shards, "main", tenant), count_everywhere(shards, "main")
        moved = move_tenant(tenant, "b", owner_url=shards.owner)
        assert moved.source == "main"
        assert rows_of(shards, "b", tenant) == before
        assert sum(map(bool, before.values())) >= 13, "most tables hold something"
        assert count_everywhere(shards, "main") == left - sum(map(len, before.values()))
        assert store.check() == ()
        assert {hit.memory_id for hit in store.search.lexical("linters", scope=SEEN, limit=9).hits} == {
            "mem_a"
        }
        nearest = store.search.semantic(unit(0, 1, 0, 0), identity=EMBEDDER, scope=SEEN, limit=1)
        assert [hit.memory_id for hit in nearest.hits] == ["mem_b"]
        assert move_tenant(tenant, "b", owner_url=shards.owner).rows == 0
        add(store, memory("mem_c", "third words"))
        move_tenant(tenant, "main", owner_url=shards.owner)
        assert store.check() == ()
        assert len(store.get(["mem_a", "mem_b", "mem_c"], scope=SEEN)) == 3
        assert rows_of(shards, "b", tenant) == {}
        assert shard_of(shards, tenant) == "main"

    def test_what_has_an_old_route_goes_on_at_the_new_place(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        other = shards.connections()
        late = PostgresStore(other, tenant, clock=SystemClock())
        add(late, memory("mem_a"))
        old = late.database.tenant
        for shard in ("b", "c", "main"):
            move_tenant(tenant, shard, owner_url=shards.owner)
        assert late.database.tenant == old
        add(late, memory("mem_b"))
        assert late.database.tenant != old
        assert late.stats().memories_active == 2
        assert shards.rows("main", f"SELECT count(*) FROM memories WHERE tenant = {old}") == [(0,)]
        other.close()

    def test_a_shard_that_is_gone_does_not_hold_those_who_left_it(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        spare = Shards()
        urls = {**{name: shards.owner(name) for name in ("main", "b", "c")}, "spare": spare.owner("main")}
        add_shard(
            shards.owner("main"),
            "spare",
            owner_dsn=spare.owner("main"),
            application_dsn=spare.application("main"),
        )
        let_in(shards.owner("main"), "spare", accepts=False)
        other = shards.connections(
            addresses=Addresses(
                primary=lambda name: (
                    spare.application("main") if name == "spare" else shards.application(name)
                )
            )
        )
        move_tenant(tenant, "spare", owner_url=urls.__getitem__)
        late = PostgresStore(other, tenant, clock=SystemClock())
        add(late, memory("mem_a"))
        move_tenant(tenant, "c", owner_url=urls.__getitem__)
        remove_shard(shards.owner("main"), "spare")
        spare.drop()
        assert late.stats().memories_active == 1
        add(late, memory("mem_b"))
        assert late.stats().memories_active == 2
        other.close()

    def test_writers_lose_nothing_and_write_nothing_twice(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        acknowledged: list[str] = []
        stopped = threading.Event()
        opened = [shards.connections(max_size=2) for _ in range(2)]

        def write(number: int, connections: Connections) -> None:
            own = PostgresStore(connections, tenant, clock=SystemClock())
            for count in range(10_000):
                if stopped.is_set():
                    return
                name = f"mem_{number}_{count}"
                own.apply([Add(memory=memory_named(name, f"statement {count} of {number}"))])
                own.put_value(f"last/{number}", str(count))  # a writer that is not alone
                acknowledged.append(name)

        threads = [threading.Thread(target=write, args=each) for each in enumerate(opened)]
        for thread in threads:
            thread.start()
        for shard in ("b", "c", "main", "c"):
            move_tenant(tenant, shard, owner_url=shards.owner)
        stopped.set()
        for thread in threads:
            thread.join()
        rows = shards.rows(
            "c", f"SELECT m.id FROM memories AS m JOIN tenants USING (tenant) WHERE name = '{tenant}'"
        )
        assert len(acknowledged) > 20
        assert sorted(row[0] for row in rows) == sorted(acknowledged)
        assert store.stats().memories_active == store.change() == len(acknowledged)
        assert store.check() == ()
        for number in range(2):
            last = max(
                int(name.rpartition("_")[2]) for name in acknowledged if name.startswith(f"mem_{number}_")
            )
            assert store.get_value(f"last/{number}") == str(last)
        for each in opened:
            each.close()

    @pytest.mark.parametrize("count", [1, 5])
    def test_new_memories_get_numbers_that_are_free(
        self, shards: Shards, store: PostgresStore, tenant: str, count: int
    ) -> None:
        """Memories are numbered by each database: where the target is behind, its next numbers are taken."""
        for name in ("main", "b"):
            shards.rows(name, "SELECT setval('memory_numbers', 1, false)")  # as in a new database
        add(store, *(memory(f"mem_{number}") for number in range(count)))
        move_tenant(tenant, "b", owner_url=shards.owner)
        assert shards.rows("b", "SELECT last_value FROM memory_numbers")[0][0] > AHEAD
        add(store, *(memory(f"mem_more_{number}") for number in range(5)))
        assert store.stats().memories_active == count + 5

    def test_a_tenant_with_partitions_of_its_own_has_them_at_the_new_place(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        fill(store)
        assert promote(shards.owner("main"), tenant) == 2
        before, old = rows_of(shards, "main", tenant), store.database.tenant
        move_tenant(tenant, "b", owner_url=shards.owner)
        assert rows_of(shards, "b", tenant) == before
        (new, placements, indexed), *_ = shards.rows(
            "b", f"SELECT tenant, placements, indexed FROM tenants WHERE name = '{tenant}'"
        )
        assert placements == [new]
        assert indexed == [1]
        assert shards.rows("main", f"SELECT 1 FROM pg_class WHERE relname = 'memories_of_{old}'") == []
        assert shards.rows("b", f"SELECT count(*) FROM memories_of_{new}") == [(2,)]
        assert store.check() == ()

    @pytest.mark.slow
    @pytest.mark.timeout(180)
    def test_a_tenant_that_was_filled_a_moment_ago_moves_in_seconds(
        self, shards: Shards, connections: Connections, store: PostgresStore, tenant: str
    ) -> None:
        """The statistics tell of others alone: row by row the comparison of all its rows would take minutes."""
        words = " ".join(f"word{number}" for number in range(30))
        for name in ("b", "c"):
            let_in(shards.owner("main"), name, accepts=False)
        for _ in range(40):  # in every partition
            other = PostgresStore(connections, new_tenant_name(), clock=SystemClock())
            add(other, *(memory_named(f"mem_{place}", f"{words} {place}") for place in range(10)))
        for name in ("b", "c"):
            let_in(shards.owner("main"), name, accepts=True)
        shards.rows("main", "ANALYZE")
        for start in range(0, 1_500, 500):
            add(store, *(memory_named(f"mem_{start + place}", f"{words} {place}") for place in range(500)))
        began = time.monotonic()
        moved = move_tenant(tenant, "b", owner_url=shards.owner)
        assert moved.rows > 45_000
        assert time.monotonic() - began < 40
        assert store.stats().memories_active == 1_500

    def test_one_who_follows_the_feed_misses_nothing(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        """The old server was far ahead: its numbers mean nothing on the new one."""
        add(store, memory("mem_a"), memory("mem_b"))
        store.apply([Edit(memory=memory("mem_a", "other words"))])
        told = told_after(store, Cursor(), 3)
        ahead = Cursor(xid=10**15, seq=10**15)
        assert store.changes_after(ahead, limit=99) == ()
        move_tenant(tenant, "b", owner_url=shards.owner)
        store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_b",)))
        again = told_after(store, Cursor.parse(str(ahead)), 3)
        assert [(entry.kind, entry.memory_id) for entry in again] == [
            ("version", "mem_a"), ("version", "mem_a"), ("purge", "mem_b"),
        ]  # fmt: skip
        assert [entry.memory for entry in again[:2]] == [told[0].memory, told[2].memory], "in the old order"
        kept = Cursor.parse(str(again[-1].cursor))
        assert kept == again[-1].cursor
        assert store.changes_after(kept, limit=99) == ()
        add(store, memory("mem_c"))
        assert [entry.memory_id for entry in told_after(store, kept, 1)] == ["mem_c"]

    def test_a_tenant_that_is_removed_while_it_moves_is_gone(
        self, shards: Shards, connections: Connections, store: PostgresStore, tenant: str
    ) -> None:
        add(store, memory("mem_a"))

        def step(name: str) -> None:
            if name == "caught up":
                for table in ("memories", "versions", "postings", "terms", "scopes", "tenants"):
                    store.database.writing(
                        lambda transaction, table=table: transaction.execute(
                            f"DELETE FROM {table} WHERE tenant = %(tenant)s"
                        ) if table != "tenants" else None,
                        durable=True,
                        alone=True,
                    )  # fmt: skip
                store.database.writing(
                    lambda transaction: transaction.execute("DELETE FROM tenants WHERE tenant = %(tenant)s"),
                    durable=True,
                    alone=True,
                )
                connections.forget(tenant)

        with pytest.raises(NotFound, match="removed"):
            move_tenant(tenant, "b", owner_url=shards.owner, step=step)
        assert rows_of(shards, "main", tenant) == rows_of(shards, "b", tenant) == {}
        assert shards.rows("main", f"SELECT 1 FROM routes WHERE name = '{tenant}'") == []
        assert not connections.has_tenant(tenant)

    def test_rows_that_a_policy_hides_from_the_mover_are_not_left_behind(
        self, shards: Shards, store: PostgresStore, tenant: str
    ) -> None:
        add(store, memory("mem_a"))
        shards.rows("main", "CREATE POLICY narrow ON memories AS RESTRICTIVE USING (importance > 2)")
        try:
            with pytest.raises(StoreError, match="hide rows of memories"):
                move_tenant(tenant, "b", owner_url=shards.owner)
        finally:
            shards.rows("main", "DROP POLICY narrow ON memories")
        assert shard_of(shards, tenant) == "main"

    def test_who_and_where_must_exist(self, shards: Shards, store: PostgresStore, tenant: str) -> None:
        with pytest.raises(NotFound, match="No tenant"):
            move_tenant("nobody", "b", owner_url=shards.owner)
        with pytest.raises(NotFound, match="no shard 'x'") as caught:
            move_tenant(tenant, "x", owner_url=shards.owner)
        assert "main, b, c" in caught.value.hint
        with pytest.raises(StoreError, match="shard b has no connection"):
            move_tenant(tenant, "b", owner_url=lambda name: shards.owner(name) if name == "main" else "")


def killed_at(shards: Shards, tenant: str, shard: str, step: str) -> None:
    """Move a tenant with a process that kills itself at a step."""
    urls = json.dumps({name: shards.owner(name) for name in ("main", "b", "c")})
    program = [sys.executable, Path(__file__).with_name("postgres_mover.py"), urls, tenant, shard, step]
    assert subprocess.run(program, env=dict(os.environ)).returncode == -signal.SIGKILL


@pytest.mark.slow
class TestKilledMovers:
    @pytest.mark.parametrize("step", STEPS)
    def test_the_next_mover_goes_on(
        self, shards: Shards, store: PostgresStore, tenant: str, step: str
    ) -> None:
        fill(store)
        killed_at(shards, tenant, "b", step)
        add(store, memory("mem_meanwhile"))  # whoever uses it notices nothing
        assert len(store.get(["mem_a", "mem_meanwhile"], scope=SEEN)) == 2
        moves = [move.tenant for move in list_shards(shards.owner("main"))[1]]
        assert (tenant in moves) == (step != "ended")
        before = rows_of(shards, "b" if STEPS.index(step) >= STEPS.index("switched") else "main", tenant)
        move_tenant(tenant, "b", owner_url=shards.owner)
        assert rows_of(shards, "b", tenant) == before
        assert rows_of(shards, "main", tenant) == {}
        assert shard_of(shards, tenant) == "b"
        assert store.check() == ()

    @pytest.mark.parametrize("step", STEPS)
    def test_another_move_or_an_end_leaves_nothing_behind(
        self, shards: Shards, store: PostgresStore, tenant: str, step: str
    ) -> None:
        fill(store)
        killed_at(shards, tenant, "b", step)
        kept = move_to_end(tenant, owner_url=shards.owner)
        assert kept == ("b" if STEPS.index(step) >= STEPS.index("switched") else "main")
        killed_at(shards, tenant, "c", "copied")
        add(store, memory("mem_meanwhile"))
        before = rows_of(shards, kept, tenant)
        last = "main" if kept == "b" else "b"
        move_tenant(tenant, last, owner_url=shards.owner)
        assert rows_of(shards, last, tenant) == before
        assert [name for name in ("main", "b", "c") if rows_of(shards, name, tenant)] == [last]
        assert shard_of(shards, tenant) == last
        assert store.check() == ()
