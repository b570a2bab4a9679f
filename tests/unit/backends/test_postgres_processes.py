"""Several processes and threads at one tenant, connections that are lost, and the feed of changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from contracts.stores import ALPHA, EMBEDDER, NOW, add, memory, unit
from postgres_server import OWNER, Server, check_statement, new_tenant_name, server
from samples import memory_named
from tacit.backends.postgres import (
    Connections,
    Cursor,
    PostgresStore,
    create_roles,
    examine_export,
    migrate,
    open_postgres_store,
    restore_export,
)
from tacit.backends.postgres.feed import FeedEntry
from tacit.backends.postgres.transaction import Transaction
from tacit.errors import Conflict, InvalidInput, NotFound, StoreBusy, StoreError
from tacit.model.changes import Add, Edit, Removal, Retire
from tacit.model.memory import Relation
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord
from tacit.providers.clock import FakeClock, SystemClock
from tacit_evals.postgres_search.embedded import end_process, start_process, wait_until_ready

pytestmark = pytest.mark.postgres

SEEN = ScopeFilter.of(ALPHA, UNIVERSAL)


@pytest.fixture
def running() -> Server:
    return server()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW)


@pytest.fixture
def tenant() -> str:
    return new_tenant_name()


@pytest.fixture
def store(running: Server, tenant: str, clock: FakeClock) -> Iterator[PostgresStore]:
    made = open_postgres_store(running.dsn(), tenant, clock=clock, observe=check_statement, wait_s=20)
    yield made
    made.close()


def kill_connections(running: Server, tenant: str) -> int:
    """End every connection that the application has; how many."""
    with psycopg.connect(running.dsn("postgres"), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tacit_app' AND application_name = %s",
            (tenant,),
        ).fetchall()
    return len(rows)


@pytest.mark.slow
def test_several_processes_write_at_once_and_nothing_is_lost(
    running: Server, store: PostgresStore, tenant: str
) -> None:
    add(store, memory_named("mem_shared", "first"))
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(here.parents[1])}
    workers = [
        subprocess.Popen(
            [sys.executable, here / "postgres_worker.py", running.dsn(), tenant, name, "12"], env=environment
        )
        for name in ("a", "b", "c")
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert store.stats().memories_active == 37
    assert store.change() == 1 + 3 * 12 * 2
    versions = store.history("mem_shared", scope=SEEN)
    assert len(versions) == 37
    for name in "abc":
        texts = [one.content for one in versions if one.content.startswith(f"edited by {name}")]
        assert texts == [f"edited by {name} at {number}" for number in range(12)]
        assert store.get_value(f"last/{name}") == "11"
    assert store.get(["mem_shared"], scope=SEEN)[0] == versions[-1]
    assert len(store.search.lexical("linter", scope=SEEN, limit=99).hits) == 36
    assert store.check() == ()


def test_a_change_that_expected_another_state_is_refused(
    store: PostgresStore, running: Server, tenant: str
) -> None:
    with store.noting_changes() as noted:
        add(store, memory_named("mem_a"))
    other = open_postgres_store(running.dsn(), tenant, clock=SystemClock())
    other.apply([Edit(memory=memory_named("mem_a", "theirs"))])
    with pytest.raises(Conflict):
        store.apply([Edit(memory=memory_named("mem_a", "ours"))], expected={"mem_a": noted[0]})
    assert store.get(["mem_a"], scope=SEEN)[0].content == "theirs"
    other.close()


def test_reads_at_once_show_one_state_and_what_is_written_meanwhile_afterwards(
    store: PostgresStore, running: Server, tenant: str
) -> None:
    other = open_postgres_store(running.dsn(), tenant, clock=FakeClock(now_ms=NOW))
    add(store, memory_named("mem_a"))
    with store.at_once():
        assert store.count_active(scope=SEEN) == 1
        add(other, memory_named("mem_b"))
        add(store, memory_named("mem_c"))
        with store.at_once():
            assert store.count_active(scope=SEEN) == 1
        assert len(store.search.standing(["fact"], scope=SEEN, limit=9).hits) == 1
        assert store.change() == 1
    assert store.count_active(scope=SEEN) == 3
    other.close()


def test_a_writer_that_is_kept_waiting_says_so(running: Server, tenant: str, clock: FakeClock) -> None:
    impatient = open_postgres_store(running.dsn(), tenant, clock=clock, wait_s=0.3)
    with psycopg.connect(running.dsn("postgres")) as holder:
        holder.execute("SELECT 1 FROM tenants WHERE name = %s FOR UPDATE", (tenant,))
        with pytest.raises(StoreBusy, match="nothing was stored"):
            add(impatient, memory_named("mem_a"))
        impatient.put_value("free", "1")
    add(impatient, memory_named("mem_a"))
    assert impatient.get_value("free") == "1"
    impatient.close()


class TestLostConnections:
    @pytest.fixture
    def store(self, running: Server, tenant: str, clock: FakeClock) -> Iterator[PostgresStore]:
        dsn = f"{running.dsn()} application_name={tenant}"
        made = open_postgres_store(dsn, tenant, clock=clock, min_size=2, max_size=3)
        yield made
        made.close()

    def test_reads_and_writes_go_on_with_other_connections(
        self, store: PostgresStore, running: Server, tenant: str
    ) -> None:
        add(store, memory_named("mem_a"))
        assert kill_connections(running, tenant) >= 1
        assert [one.id for one in store.get(["mem_a"], scope=SEEN)] == ["mem_a"]
        assert kill_connections(running, tenant) >= 1
        add(store, memory_named("mem_b"))
        assert kill_connections(running, tenant) >= 1
        with store.at_once():
            assert store.count_active(scope=SEEN) == 2

    def test_a_write_that_is_lost_half_way_is_not_done_again(
        self, store: PostgresStore, running: Server, tenant: str
    ) -> None:
        add(store, memory_named("mem_a"))
        begun: list[int] = []

        def work(transaction) -> None:
            begun.append(1)
            transaction.execute("DELETE FROM memories WHERE tenant = %(tenant)s")
            kill_connections(running, tenant)
            transaction.execute("DELETE FROM versions WHERE tenant = %(tenant)s")

        with pytest.raises(StoreError, match="cannot be reached"):
            store.database.writing(work, durable=True, alone=True)
        assert begun == [1]
        assert store.count_active(scope=SEEN) == 1
        assert store.check() == ()

    def test_a_commit_that_is_lost_says_that_nobody_knows(
        self, store: PostgresStore, running: Server, tenant: str
    ) -> None:
        def work(transaction) -> None:
            transaction.execute("DELETE FROM traces WHERE tenant = %(tenant)s")
            kill_connections(running, tenant)

        with pytest.raises(StoreError, match="not known whether"):
            store.database.writing(work, durable=True, alone=True)

    def test_a_read_that_is_lost_half_way_is_done_once_more(
        self, store: PostgresStore, running: Server, tenant: str
    ) -> None:
        add(store, memory_named("mem_a"))
        begun: list[int] = []

        def work(transaction) -> int:
            begun.append(1)
            if len(begun) == 1:
                kill_connections(running, tenant)
            return transaction.number("SELECT count(*) FROM memories WHERE tenant = %(tenant)s")

        assert store.database.reading(work) == 1
        assert begun == [1, 1]


@pytest.mark.slow
def test_a_server_that_stops_and_comes_back(clock: FakeClock) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    process = start_process(folder)
    try:
        wait_until_ready(process, folder)
        superuser = f"host={folder} user=postgres dbname=postgres"
        create_roles(superuser)
        migrate(f"host={folder} user={OWNER} dbname=postgres")
        store = open_postgres_store(f"host={folder} user=tacit_app dbname=postgres", "team", clock=clock)
        add(store, memory_named("mem_a"))
        end_process(process)
        for use in (
            store.stats,
            lambda: add(store, memory_named("mem_b")),
            lambda: store.put_value("n", "v"),
        ):
            with pytest.raises(StoreError, match="cannot be reached"):
                use()
        process = start_process(folder)
        wait_until_ready(process, folder)
        assert store.count_active(scope=SEEN) == 1
        add(store, memory_named("mem_b"))
        assert store.count_active(scope=SEEN) == 2
        store.close()
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)


class TestFeed:
    def test_every_version_comes_once_and_in_order(self, store: PostgresStore, clock: FakeClock) -> None:
        add(store, memory_named("mem_a"), memory_named("mem_b"))
        clock.advance(5)
        store.apply([Retire(memory_id="mem_a", at_ms=NOW)])
        first = store.changes_after(Cursor(), limit=2)
        rest = store.changes_after(Cursor.parse(str(first[-1].cursor)), limit=9)
        told = [(entry.memory_id, entry.memory.status, entry.at_ms) for entry in (*first, *rest)]
        assert told == [("mem_a", "active", NOW), ("mem_b", "active", NOW), ("mem_a", "retired", NOW + 5)]
        assert first[0].change_id == first[1].change_id != rest[0].change_id
        assert store.changes_after(rest[-1].cursor, limit=9) == ()
        assert store.changes_after(Cursor(), limit=0) == ()

    def test_a_writer_takes_its_number_when_the_one_before_has_ended(
        self, store: PostgresStore, running: Server
    ) -> None:
        """Otherwise a reader could pass the number of a transaction that has not ended, and would never see its entry."""
        add(store, memory_named("mem_a"))
        start = store.changes_after(Cursor(), limit=9)[-1].cursor
        seen: list[tuple[FeedEntry, ...]] = []

        def beside(transaction: Transaction) -> None:
            later.start()
            later.join(0.5)
            assert later.is_alive()
            seen.append(store.changes_after(start, limit=9))

        later = threading.Thread(target=lambda: add(store, memory_named("mem_c")))
        store.apply([Add(memory=memory_named("mem_b"))], beside=beside)
        later.join()
        assert seen == [()]
        assert [entry.memory_id for entry in store.changes_after(start, limit=9)] == ["mem_b", "mem_c"]

    def test_what_was_purged_and_what_was_cleaned_is_told(self, store: PostgresStore) -> None:
        add(store, memory_named("mem_a", "Ask Wilhelmina."), memory_named("mem_b"))
        start = store.changes_after(Cursor(), limit=9)[-1].cursor
        store.rewrite_texts(lambda text, _: text.replace("Wilhelmina", "[redacted]"), dry_run=False)
        store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_b",)))
        told = store.changes_after(start, limit=9)
        assert [(entry.kind, entry.memory_id) for entry in told] == [("version", "mem_a"), ("purge", "mem_b")]
        assert told[0].memory.content == "Ask [redacted]."
        assert store.purged_memories() == {"mem_b"}


class TestExport:
    def fill(self, store: PostgresStore) -> None:
        key = SessionKey(host="h", session_id="1")
        store.apply(
            [Add(memory=memory("mem_a", "first words")), Add(memory=memory("mem_b"))],
            vectors=np.eye(2, 4, dtype=np.float32),
            identity=EMBEDDER,
        )
        store.apply([Edit(memory=memory("mem_a", "second words"))])
        store.relate([Relation(source_id="mem_a", target_id="mem_b", type="related_to", weight=0.5)])
        store.count_usage(shown=["mem_a"], used=["mem_a", "mem_b"])
        store.save_session(SessionState(key=key, turn=4))
        store.put_project(ProjectRecord(id="p", name="p", root="/p"))
        store.hand_over(Handover(key="k", session=key, payload="{}", at_ms=1))
        store.put_value("name", "value")

    def test_what_is_written_comes_back_in_another_tenant(
        self, store: PostgresStore, running: Server, clock: FakeClock, tmp_path: Path
    ) -> None:
        self.fill(store)
        assert store.backup(tmp_path / "tenant.jsonl")
        assert examine_export(tmp_path / "tenant.jsonl") == 2
        other = open_postgres_store(running.dsn(), new_tenant_name(), clock=clock)
        assert restore_export(tmp_path / "tenant.jsonl", other) == 2
        for read in (
            lambda one: one.list_memories(MemoryFilter(statuses=None), scope=SEEN, limit=9),
            lambda one: one.recorded(scope=SEEN, limit=9),
            lambda one: one.relations(["mem_a"], scope=SEEN),
            lambda one: one.list_sessions(limit=9),
            lambda one: one.projects(),
            lambda one: one.pending_handovers(limit=9),
            lambda one: one.get_value("name"),
            lambda one: one.pending_vectors(EMBEDDER, limit=9),
            lambda one: replace_size(one.stats()),
        ):
            assert read(other) == read(store)
        assert other.check() == ()
        with pytest.raises(StoreError, match="already"):
            restore_export(tmp_path / "tenant.jsonl", other)
        other.close()

    def test_what_is_cut_off_or_no_export_is_refused(
        self, store: PostgresStore, running: Server, clock: FakeClock, tmp_path: Path
    ) -> None:
        self.fill(store)
        whole = tmp_path / "tenant.jsonl"
        store.backup(whole)
        cut = tmp_path / "cut.jsonl"
        cut.write_text("".join(whole.read_text().splitlines(keepends=True)[:-2]))
        (tmp_path / "words").write_text("no export")
        empty = open_postgres_store(running.dsn(), new_tenant_name(), clock=clock)
        for source, problem in (
            (cut, "cut off"),
            (tmp_path / "words", "no export"),
            (tmp_path / "no", "no file"),
        ):
            with pytest.raises((StoreError, NotFound), match=problem):
                examine_export(source)
            with pytest.raises((StoreError, NotFound), match=problem):
                restore_export(source, empty)
        assert empty.stats().memories_total == 0
        empty.close()

    def test_an_interrupted_backup_leaves_nothing(self, store: PostgresStore, tmp_path: Path) -> None:
        self.fill(store)
        assert not store.backup(tmp_path / "tenant.jsonl", interrupted=lambda: True)
        assert list(tmp_path.iterdir()) == []

    def test_a_copy_is_not_said_to_be_cleaned(self, store: PostgresStore, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="not cleaned"):
            store.rewrite_texts(lambda text, _: text, dry_run=True, copy=tmp_path / "copy")


def replace_size(stats):
    from dataclasses import replace

    return replace(stats, size_bytes=0)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("UPDATE scopes SET total = total + 1 WHERE tenant = {}", "scopes count"),
        ("DELETE FROM memories WHERE tenant = {} AND id = 'mem_b'", "postings are of no active memory"),
        (
            "UPDATE terms SET documents = documents + 1 WHERE tenant = {} AND term = 'first'",
            "1 terms are counted",
        ),
        ("UPDATE vectors SET kind = 'decision' WHERE tenant = {}", "2 vectors stand beside"),
        ("DELETE FROM versions WHERE tenant = {}", "2 memories have no history"),
        ("UPDATE versions SET body = '{{' WHERE tenant = {}", "2 rows of versions cannot be read"),
        ("UPDATE relations SET target = 0 WHERE tenant = {}", "1 relations name"),
    ],
)
def test_an_examination_tells_what_does_not_agree(
    store: PostgresStore, running: Server, damage: str, sentence: str
) -> None:
    store.apply(
        [Add(memory=memory("mem_a", "first words")), Add(memory=memory("mem_b", "second words"))],
        vectors=np.eye(2, 4, dtype=np.float32),
        identity=EMBEDDER,
    )
    store.relate([Relation(source_id="mem_a", target_id="mem_b", type="related_to")])
    assert store.check() == ()
    with psycopg.connect(running.dsn("postgres"), autocommit=True) as connection:
        connection.execute(damage.format(store.database.tenant))
    asked: list[tuple[int, int]] = []
    assert any(sentence in problem for problem in store.check(progress=lambda *at: asked.append(at)))
    assert asked[0][0] == 0
    assert asked[-1][0] == asked[-1][1] == len(asked) - 1


def test_a_number_that_is_too_large_is_said(store: PostgresStore) -> None:
    with pytest.raises(InvalidInput, match="too large"):
        add(store, memory_named("mem_a", created_at_ms=2**70))
    assert store.stats().memories_total == 0


def test_statements_may_be_prepared(running: Server, tenant: str, clock: FakeClock) -> None:
    store = open_postgres_store(running.dsn(), tenant, clock=clock, prepare_threshold=1, max_size=1)
    for number in range(12):
        add(store, memory_named(f"mem_{number}", "run the linter"))
        assert len(store.search.lexical("linters", scope=SEEN, limit=99).hits) == number + 1
        assert store.search.semantic(unit(1, 0, 0, 0), identity=EMBEDDER, scope=SEEN, limit=9).hits == ()
    store.close()


def test_stores_of_many_tenants_share_connections(running: Server) -> None:
    connections = Connections(running.dsn(), max_size=2)
    stores = [PostgresStore(connections, new_tenant_name(), clock=SystemClock()) for _ in range(5)]
    for number, one in enumerate(stores):
        add(one, *(memory_named(f"mem_{place}") for place in range(number)))
    assert [one.stats().memories_active for one in stores] == [0, 1, 2, 3, 4]
    stores[0].close()
    assert stores[1].stats().memories_active == 1
    connections.close()
    with pytest.raises(StoreError, match="closed"):
        stores[1].stats()
