"""The yardstick itself: it fills only empty stores, always alike, and times every search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.backends.fake import FakeStore
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.errors import InvalidInput
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit_evals.searching.measure import EMBEDDER, VISIBLE, Synthetic, fill_store, measure_search


def test_the_same_seed_makes_the_same_store() -> None:
    contents: list[list[str]] = []
    for _ in range(2):
        store = FakeStore(clock=FakeClock())
        fill_store(store, 20)
        contents.append([m.content for m in store.list_memories(MemoryFilter(), scope=VISIBLE, limit=99)])
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == 20
    assert np.linalg.norm(Synthetic().vectors(3), axis=1) == pytest.approx(1.0)


def test_every_search_is_timed_over_a_filled_store(tmp_path: Path) -> None:
    store = open_sqlite_store(Home(tmp_path / "home"), clock=FakeClock())
    fill_store(store, 300)
    assert store.stats().memories_active == store.stats().vectors == 300
    timings = measure_search(store, rounds=4)
    names = [timing.name for timing in timings]
    assert names == ["semantic", "lexical", "code", "entity", "intent", "standing", "error", "get 40"]
    assert all(0 < timing.p50_ms <= timing.p95_ms for timing in timings)
    found = store.search.semantic(Synthetic(7).vectors(1)[0], identity=EMBEDDER, scope=VISIBLE, limit=5)
    assert len(found.hits) == 5
    with pytest.raises(InvalidInput, match="empty store"):
        fill_store(store, 1)
    store.close()
