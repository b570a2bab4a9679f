"""The start pool is remembered, and only as long as nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from samples import memory_named
from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.config.home import Home
from tacit.config.settings import RecallSettings
from tacit.model.changes import Add, Retire
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.search import Search
from tacit.presets import preset_of
from tacit.providers.clock import FakeClock
from tacit.recall.pipelines.start import BY_NEED, StartPools

NOW = 1_700_000_000_000
FOCUSED = {"preset": preset_of("focused"), "settings": RecallSettings()}
SEES_ALL = ScopeFilter.of(UNIVERSAL, project_scope("p"))


def memory(number: int, scope: Scope = UNIVERSAL) -> Memory:
    return memory_named(f"mem_{number}", f"Prefer tool {number}.", kind="preference", scope=scope, at_ms=NOW)


def pools(*memories: Memory) -> tuple[SqliteStore, StartPools]:
    store = SqliteStore.temporary(clock=FakeClock(NOW))
    store.apply([Add(memory=one) for one in memories])
    return store, StartPools(store=store, kinds=KindRegistry())


def ids(found) -> set[str]:
    return {candidate.memory.id for candidate in found.candidates}


def test_a_pool_belongs_to_its_scope() -> None:
    _, kept = pools(memory(1), memory(2, project_scope("p")))
    assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == {"mem_1", "mem_2"}
    assert ids(kept.of(ScopeFilter.of(UNIVERSAL), at_ms=NOW, **FOCUSED)) == {"mem_1"}
    assert ids(kept.of(ScopeFilter.of(project_scope("q")), at_ms=NOW, **FOCUSED)) == set()


def test_memories_of_every_project_do_not_crowd_out_the_projects_own() -> None:
    own = [memory(number, project_scope("p")) for number in range(3)]
    _, kept = pools(*own, *(memory(number) for number in range(100, 600)))
    found = [candidate.memory.id for candidate in kept.of(SEES_ALL, at_ms=NOW, **FOCUSED).candidates]
    assert set(found[:3]) == {one.id for one in own}
    assert len(found) > 100


def test_a_few_memories_of_every_project_stand_by_their_need_among_more_of_its_own() -> None:
    broad = replace(memory(1), trigger=Trigger(breadth=3.0))
    narrow = [memory(number, project_scope("p")) for number in range(2, 8)]
    _, kept = pools(broad, *narrow)
    assert kept.of(SEES_ALL, at_ms=NOW, **FOCUSED).candidates[0].memory == broad


def test_an_old_pool_and_a_question_about_the_past_are_made_anew() -> None:
    _, kept = pools(memory(1))
    first = kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)
    assert kept.of(SEES_ALL, at_ms=NOW + BY_NEED.keep_ms, **FOCUSED) is not first
    assert kept.of(SEES_ALL, at_ms=NOW - 1, **FOCUSED) is not first


def test_sessions_share_a_pool_unless_one_has_memories_of_its_own() -> None:
    mine = Scope(kind=ScopeKind.SESSION, key="host/mine")
    other = Scope(kind=ScopeKind.SESSION, key="host/other")
    _, kept = pools(memory(1), memory(2, mine))
    shared = kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)
    assert kept.of(ScopeFilter.of(*SEES_ALL.scopes, other), at_ms=NOW, **FOCUSED) is shared
    assert ids(kept.of(ScopeFilter.of(*SEES_ALL.scopes, mine), at_ms=NOW, **FOCUSED)) == {"mem_1", "mem_2"}
    assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == {"mem_1"}


class CountingSearch:
    """A search that counts how often the lists of standing memories are read."""

    def __init__(self, inner: Search) -> None:
        self._inner = inner
        self.read = 0

    def standing(self, *args, **options):
        self.read += 1
        return self._inner.standing(*args, **options)


class CountingStore:
    """A store whose search counts."""

    def __init__(self, inner: SqliteStore) -> None:
        self._inner = inner
        self.search = CountingSearch(inner.search)

    def __getattr__(self, name: str):
        return getattr(self._inner, name)


def test_a_change_is_put_into_the_kept_pool_and_the_lists_are_not_read_again(tmp_path: Path) -> None:
    store = open_sqlite_store(Home(tmp_path), clock=FakeClock(NOW))
    try:
        store.apply([Add(memory=memory(number)) for number in range(300)])
        counting = CountingStore(store)
        kept = StartPools(store=counting, kinds=KindRegistry())  # type: ignore[arg-type]
        first = kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)
        before = counting.search.read
        store.apply([Add(memory=replace(memory(301), importance=0.0))])
        assert (
            kept.of(SEES_ALL, at_ms=NOW, **FOCUSED).candidates is first.candidates
        )  # it stands behind all that are used
        store.apply([Add(memory=replace(memory(302), pinned=True))])
        assert "mem_302" in ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED))
        store.apply([Retire(memory_id="mem_302", at_ms=NOW)])
        assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == ids(first)
        assert counting.search.read == before
    finally:
        store.close()


def test_of_all_digests_the_one_written_last_stands_in_the_pool() -> None:
    def digest(number: int, *, begun: int, written: int) -> Memory:
        times = {"created_at_ms": NOW - begun, "updated_at_ms": NOW - written}
        return replace(memory(number), kind="digest", content=f"impl: Task {number}", **times)

    first, second, third = (
        digest(11, begun=9_000, written=100),
        digest(12, begun=8_000, written=7_000),
        digest(13, begun=50, written=10),
    )
    store, kept = pools(memory(1), first, second)
    assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == {"mem_1", "mem_11"}
    store.apply([Add(memory=third)])
    assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == {"mem_1", "mem_13"}
    store.apply([Retire(memory_id="mem_13", at_ms=NOW)])
    assert ids(kept.of(SEES_ALL, at_ms=NOW, **FOCUSED)) == {"mem_1", "mem_11"}
