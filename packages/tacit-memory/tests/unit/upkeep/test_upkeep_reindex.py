"""Vectors are renewed in batches, and an interruption keeps what is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from samples import memory_named
from tacit.backends.sqlite import SqliteStore
from tacit.errors import ProviderError
from tacit.model.changes import Add, Removal, Rewrite
from tacit.model.scope import project_scope
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.clock import FakeClock
from tacit.upkeep.reindex import reindex


class Counting:
    def __init__(self, name: str, *, fail_at: int = 0) -> None:
        self.identity = EmbedderIdentity(name=name, dimensions=2)
        self.sizes: list[int] = []
        self.fail_at = fail_at

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.sizes.append(len(texts))
        if len(self.sizes) == self.fail_at:
            raise ProviderError("the model stopped")
        return np.tile(np.array([[1.0, 0.0]], dtype=np.float32), (len(texts), 1))


@pytest.fixture
def store() -> SqliteStore:
    store = SqliteStore.temporary(clock=FakeClock(now_ms=1000))
    scope = project_scope("p")
    store.apply([Add(memory=memory_named(f"mem_{i:04}", f"Fact number {i}", scope=scope)) for i in range(10)])
    return store


def test_all_missing_vectors_are_made_in_batches(store: SqliteStore) -> None:
    embedder, seen = Counting("new"), []
    assert reindex(store, embedder, batch=4, progress=lambda done, total: seen.append((done, total))) == 10
    assert embedder.sizes == [4, 4, 2]
    assert seen == [(0, 10), (4, 10), (8, 10), (10, 10)]
    assert store.pending_vectors(embedder.identity, limit=20) == ()
    assert reindex(store, embedder) == 0


def test_a_failure_keeps_what_is_done_and_the_next_run_goes_on(store: SqliteStore) -> None:
    with pytest.raises(ProviderError):
        reindex(store, Counting("new", fail_at=2), batch=4)
    assert len(store.pending_vectors(EmbedderIdentity(name="new", dimensions=2), limit=20)) == 6
    assert reindex(store, Counting("new"), batch=4) == 6


def test_vectors_of_another_model_are_replaced(store: SqliteStore) -> None:
    reindex(store, Counting("old"))
    seen = []
    assert reindex(store, Counting("new"), progress=lambda done, whole: seen.append((done, whole))) == 10
    assert seen == [(0, 10), (10, 10)]
    assert len(store.pending_vectors(EmbedderIdentity(name="old", dimensions=2), limit=20)) == 10


def test_it_stops_where_it_is_told_to(store: SqliteStore) -> None:
    embedder = Counting("new")
    assert reindex(store, embedder, batch=4, stop=lambda: len(embedder.sizes) == 2) == 8


class Meanwhile(Counting):
    """An embedder during whose work somebody rewords the first memory and removes the second."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__("new")
        self._store = store

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not self.sizes:
            first = self._store.get(["mem_0000"], scope=self._store.scopes())[0]
            reworded = replace(first, content="Other words")
            up = np.array([[0.0, 1.0]], dtype=np.float32)
            self._store.apply([Rewrite(memory=reworded)], vectors=up, identity=self.identity)
            gone = Removal(memories=("mem_0001",))
            self._store.rewrite_texts(lambda text, _scope: text, dry_run=False, gone=gone)
        return super().embed(texts)


def test_a_memory_that_changed_meanwhile_gets_no_vector_of_its_old_words(store: SqliteStore) -> None:
    embedder = Meanwhile(store)
    assert reindex(store, embedder) == 8
    kept = store.get_vectors(["mem_0000"], scope=store.scopes(), identity=embedder.identity)
    assert list(kept["mem_0000"]) == [0.0, 1.0]
