"""A store built in bulk is the one that the store's own calls make of the same memories."""

from __future__ import annotations

import sqlite3

import pytest

from tacit.backends.codec import decode_memory
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import Add
from tacit.model.scope import ScopeFilter, project_scope
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data.bulk_store import BATCH, build_bulk
from tacit_evals.data.workload import PROMPTS, clustered

TABLES = (
    "scopes", "documents", "entities", "memory_entities", "actions", "intents", "identities", "vectors", "text_words_terms",
    "text_code_terms",
)  # fmt: skip
SIZE = BATCH + 300


def table(root, name, columns="*"):
    connection = sqlite3.connect(Home(root).database)
    try:
        return connection.execute(f"SELECT {columns} FROM {name} ORDER BY 1, 2").fetchall()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The folder of a store built in bulk, and that of one given its memories by `apply`."""
    folder = tmp_path_factory.mktemp("bulk")
    embedder = FakeEmbedder()
    topics = embedder.embed(PROMPTS)
    build_bulk(
        folder / "bulk", projects=("p", "q", "r"), size=SIZE, topics=topics, identity=embedder.identity
    )
    memories = [decode_memory(body, 0) for body, _ in table(folder / "bulk", "memories", "body, number")]
    memories.sort(key=lambda memory: memory.id)
    store = open_sqlite_store(Home(folder / "one"), clock=SystemClock())
    try:
        for number, first in enumerate(range(0, SIZE, BATCH)):
            part = memories[first : first + BATCH]
            vectors = clustered(topics, len(part), seed=1 + number)
            store.apply([Add(memory=one) for one in part], vectors=vectors, identity=embedder.identity)
    finally:
        store.close()
    return folder / "bulk", folder / "one"


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_the_same(pair, name):
    bulk, one = (table(root, name) for root in pair)
    assert bulk
    assert bulk == one


def test_memories_and_their_versions_are_the_same_but_for_the_hour(pair):
    columns = "memory, version, scope, reason, body"
    assert table(pair[0], "versions", columns) == table(pair[1], "versions", columns)
    assert table(pair[0], "memories") == table(pair[1], "memories")
    assert table(pair[0], "state", "one, change") == table(pair[1], "state", "one, change")


def test_the_store_finds_nothing_wrong_and_every_project_has_its_share(pair):
    store = open_sqlite_store(Home(pair[0]), clock=SystemClock())
    try:
        assert store.check() == ()
        counts = [store.count_active(scope=ScopeFilter.of(project_scope(name))) for name in "pqr"]
        assert sum(counts) == SIZE
        assert max(counts) - min(counts) <= 1
    finally:
        store.close()


def test_equal_seeds_make_equal_files(pair, tmp_path):
    embedder = FakeEmbedder()
    topics = embedder.embed(PROMPTS)
    for name, seed in (("same", 1), ("other", 2)):
        build_bulk(
            tmp_path / name, projects=("p",), size=50, topics=topics, identity=embedder.identity, seed=seed
        )
    build_bulk(tmp_path / "again", projects=("p",), size=50, topics=topics, identity=embedder.identity)
    assert table(tmp_path / "same", "memories") == table(tmp_path / "again", "memories")
    assert table(tmp_path / "same", "memories") != table(tmp_path / "other", "memories")
