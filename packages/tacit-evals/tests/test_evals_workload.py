"""The workload is the same every time, and like a real store."""

from __future__ import annotations

from tacit.model.kinds import KindRegistry
from tacit.model.scope import project_scope
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.workload import PROMPTS, batches, build_store

SCOPE = project_scope("p")


def made(size: int, seed: int = 1):
    return [memory for batch in batches(size, SCOPE, seed=seed) for memory in batch]


def test_equal_seeds_make_equal_memories_and_others_do_not():
    assert made(300) == made(300)
    assert made(300) != made(300, seed=2)
    assert made(300)[:100] == made(100)


def test_every_memory_is_its_own_of_a_known_kind_in_the_scope():
    memories = made(2500)
    assert len({memory.id for memory in memories}) == len({memory.content for memory in memories}) == 2500
    known = {kind.name for kind in KindRegistry()}
    assert {memory.kind for memory in memories} <= known
    assert {memory.scope for memory in memories} == {SCOPE}


def test_a_built_store_is_found_by_the_embedder_that_made_it(tmp_path):
    from tacit.backends.sqlite import open_sqlite_store
    from tacit.config.home import Home
    from tacit.model.scope import ScopeFilter
    from tacit.providers.clock import SystemClock

    embedder = FakeEmbedder()
    build_store(tmp_path / "home", scope=project_scope("p"), size=60, embedder=embedder)
    store = open_sqlite_store(Home(tmp_path / "home"), clock=SystemClock())
    try:
        assert store.stats().memories_active == store.stats().vectors == 60
        vector = embedder.embed([PROMPTS[0]])[0]
        found = store.search.semantic(
            vector, identity=embedder.identity, scope=ScopeFilter.of(SCOPE), limit=5
        )
        assert len(found.hits) == 5
        assert store.check() == ()
    finally:
        store.close()
