"""The yardstick itself: it fills only empty stores, always alike, and times every search."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.config.home import Home
from tacit.errors import InvalidInput
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data.workload import batches
from tacit_evals.searching import SCOPE, VISIBLE, fill_store, measure_search


def test_it_fills_a_store_with_the_memories_of_every_other_measurement() -> None:
    store = SqliteStore.temporary(clock=FakeClock())
    fill_store(store, 20, embedder=FakeEmbedder())
    held = {m.content for m in store.list_memories(MemoryFilter(), scope=VISIBLE, limit=99)}
    assert held == {memory.content for part in batches(20, SCOPE) for memory in part}
    assert len(held) == 20


def test_every_search_is_timed_over_a_filled_store(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    store = open_sqlite_store(Home(tmp_path / "home"), clock=FakeClock())
    fill_store(store, 300, embedder=embedder)
    assert store.stats().memories_active == store.stats().vectors == 300
    timings = measure_search(store, embedder=embedder, rounds=4)
    names = [timing.name for timing in timings]
    assert names == ["semantic", "lexical", "code", "entity", "intent", "standing", "error", "get 40"]
    assert all(0 < timing.p50_ms <= timing.p95_ms for timing in timings)
    with pytest.raises(InvalidInput, match="empty store"):
        fill_store(store, 1, embedder=embedder)
    store.close()
