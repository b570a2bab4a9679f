"""Indexes of vectors and words: right answers at size, in step with the table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import memory_named
from tacit.backends.sqlite import SqliteBackend, SqliteStore, open_sqlite_store
from tacit.backends.sqlite.memory_index import FOREVER, Rows
from tacit.backends.sqlite.search import BY_ERROR
from tacit.backends.sqlite.vector_index import (
    SMALL_ROWS,
    SignBitVectors,
    sign_bits,
    widen,
)
from tacit.config.home import Home
from tacit.model.changes import Add, Change, Retire, Rewrite
from tacit.model.memory import Validity
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity
from tacit.providers.clock import FakeClock

DIMENSIONS = 100  # not a multiple of 64: the last word of bits is padded
EMBEDDER = EmbedderIdentity(name="test@1", dimensions=DIMENSIONS)
BIG = project_scope("big")
VISIBLE = ScopeFilter.of(BIG, UNIVERSAL)
CLOCK = FakeClock(now_ms=1_000)
SIZE = SMALL_ROWS + 400


def unit_rows(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(50, DIMENSIONS))
    rows = centres[rng.integers(0, 50, count)] + 0.7 * rng.normal(size=(count, DIMENSIONS))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


memory = partial(memory_named, scope=BIG)


def name_of(number: int) -> str:
    return f"mem_{number:05d}"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a store with a large scope; made once, restored by each test."""
    home = Home(tmp_path_factory.mktemp("template") / "home")
    store = open_sqlite_store(home, clock=CLOCK)
    changes: list[Change] = [Add(memory=memory(name_of(number))) for number in range(SIZE)]
    store.apply(changes, vectors=unit_rows(SIZE, seed=1), identity=EMBEDDER)
    target = home.root / "template.db"
    store.backup(target)
    store.close()
    return target


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    SqliteBackend().restore(template, made, clock=CLOCK)
    return made


@pytest.fixture
def store(home: Home) -> Iterator[SqliteStore]:
    made = open_sqlite_store(home, clock=CLOCK)
    yield made
    made.close()


def nearest(store: SqliteStore, vector: np.ndarray, limit: int = 10) -> list[str]:
    found = store.search.semantic(vector, identity=EMBEDDER, scope=VISIBLE, limit=limit)
    return [hit.memory_id for hit in found.hits]


def exact(vectors: np.ndarray, vector: np.ndarray, limit: int = 10) -> list[str]:
    order = np.argsort(-(vectors @ vector), kind="stable")[:limit]
    return [name_of(int(number)) for number in order]


class TestLargeScopes:
    def test_the_nearest_are_found_as_an_exact_search_finds_them(self, store: SqliteStore) -> None:
        vectors = unit_rows(SIZE, seed=1)
        shared = 0
        for query in unit_rows(40, seed=2):
            shared += len(set(nearest(store, query)) & set(exact(vectors, query)))
        assert shared / 400 > 0.97

    def test_writes_are_followed_without_a_rebuild(self, store: SqliteStore) -> None:
        vectors = unit_rows(SIZE, seed=1)
        assert nearest(store, vectors[3])[0] == name_of(3)
        index = partition_of(store).index
        store.apply([Retire(memory_id=name_of(3), at_ms=1)])
        assert name_of(3) not in nearest(store, vectors[3])
        store.apply([Add(memory=memory("mem_new"))], vectors=vectors[3:4], identity=EMBEDDER)
        assert nearest(store, vectors[3])[0] == "mem_new"
        store.put_vectors(["mem_new"], vectors[9:10], identity=EMBEDDER)
        assert set(nearest(store, vectors[9])[:2]) == {name_of(9), "mem_new"}
        assert "mem_new" not in nearest(store, vectors[3])[:1]
        store.apply([Rewrite(memory=memory(name_of(9), validity=Validity(valid_from_ms=0, valid_to_ms=500)))])
        assert nearest(store, vectors[9])[0] == "mem_new"  # its words are the same, but it holds no more
        assert partition_of(store).index is index

    def test_a_memory_that_moves_away_is_gone(self, store: SqliteStore) -> None:
        vectors = unit_rows(SIZE, seed=1)
        assert nearest(store, vectors[3])[0] == name_of(3)
        store.apply([Rewrite(memory=memory(name_of(3), scope=project_scope("else")))])
        assert name_of(3) not in nearest(store, vectors[3])

    def test_a_small_scope_grows_into_a_large_one(self, tmp_path: Path) -> None:
        store = open_sqlite_store(Home(tmp_path / "home"), clock=CLOCK)
        vectors = unit_rows(SIZE, seed=1)
        for start in range(0, SIZE, 800):
            some = range(start, min(start + 800, SIZE))
            store.apply(
                [Add(memory=memory(name_of(number))) for number in some],
                vectors=vectors[some.start : some.stop],
                identity=EMBEDDER,
            )
            assert nearest(store, vectors[some.stop - 1])[0] == name_of(some.stop - 1)
            assert nearest(store, vectors[0])[0] == name_of(0)
        assert isinstance(partition_of(store).index, SignBitVectors)
        store.close()

    def test_many_equal_vectors_do_not_hide_better_ones(self) -> None:
        rows = Rows()
        rows.extend(range(9000), [b"%05d" % n for n in range(9000)], [0] * 9000, [FOREVER] * 9000, [0] * 9000)
        vectors = np.zeros((9000, DIMENSIONS), np.float16)
        vectors[:, 0] = 1
        vectors[:, 1] = -1
        vectors[8990:, 1] = 1
        query = np.zeros(DIMENSIONS, np.float32)
        query[:2] = 1
        positions, scores = SignBitVectors(rows, vectors).nearest(query, 10, now_ms=1)
        assert len(positions) == 10
        assert scores.max() == pytest.approx(2.0)


def partition_of(store: SqliteStore):
    return next(
        p for p in store._search._vectors._partitions.values() if p.index is not None and p.index.rows.size
    )


class TestRows:
    def test_best_breaks_ties_by_id(self) -> None:
        rows = Rows()
        rows.extend([1, 2, 3, 4], [b"d", b"b", b"c", b"a"], [0] * 4, [FOREVER] * 4, [0] * 4)
        positions, scores = rows.best(np.arange(4), np.array([1, 1, 1, 2], np.float32), 2)
        assert sorted(rows.ids[positions].tolist()) == [b"a", b"d"]
        assert sorted(scores.tolist()) == [1, 2]

    @given(st.integers(1, 130), st.integers(0, 2**32 - 1))
    def test_hamming_distance_of_sign_bits_counts_differing_signs(self, dimensions: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        one, two = rng.normal(size=(2, dimensions)).astype(np.float32)
        bits = sign_bits(np.stack([one, two]))
        distance = int(np.bitwise_count(bits[:, 0] ^ bits[:, 1]).sum())
        assert distance == int(np.count_nonzero((one >= 0) != (two >= 0)))
        assert np.array_equal(sign_bits(one[np.newaxis].astype(np.float16)), bits[:, :1])


def test_widening_is_exact_for_every_finite_half() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    assert np.array_equal(widen(halves), halves.astype(np.float32))


def test_triggers_follow_many_changes(tmp_path: Path) -> None:
    """More changes than the matrix patches at once, so that it is read again."""
    store = open_sqlite_store(Home(tmp_path / "home"), clock=CLOCK)
    names = [name_of(number) for number in range(1500)]

    def put(kind: type[Add | Rewrite], action: str) -> None:
        trigger = Trigger(actions=((action, 1.0),))
        store.apply([kind(memory=memory(name, trigger=trigger)) for name in names])

    put(Add, "commit")
    assert len(store.search.intent([("commit", 1.0)], scope=VISIBLE, limit=2000).hits) == 1500
    put(Rewrite, "push")
    assert store.search.intent([("commit", 1.0)], scope=VISIBLE, limit=10).hits == ()
    found = store.search.intent([("push", 1.0)], scope=VISIBLE, limit=5).hits
    assert [hit.memory_id for hit in found] == names[:-6:-1]
    store.close()


def test_an_error_is_looked_up_in_its_own_index(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    store = open_sqlite_store(home, clock=CLOCK)
    store.apply([Add(memory=memory("mem_a", error_signature="KeyError: #"))])
    assert [hit.memory_id for hit in store.search.error("KeyError: #", scope=VISIBLE, limit=5).hits] == [
        "mem_a"
    ]
    with closing(sqlite3.connect(home.database)) as connection:
        asked = {"signature": "x", "scopes": "[1]", "now": 1, "limit": 5}
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {BY_ERROR}", asked)]
    assert any("memories_by_error (error_signature=? AND scope=?)" in step for step in plan)
    store.close()
