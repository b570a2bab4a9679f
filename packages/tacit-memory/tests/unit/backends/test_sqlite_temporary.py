"""The SQLite store in memory: no file, one connection for all threads, reads and writes within each other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from samples import NOW_MS, memory
from tacit.backends.sqlite import SqliteStore
from tacit.errors import InvalidInput
from tacit.model.changes import Add, Removal, Rewrite
from tacit.model.memory import Memory
from tacit.providers.clock import FakeClock


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore.temporary(clock=FakeClock(NOW_MS))


def add(store: SqliteStore, *names: str) -> None:
    store.apply([Add(memory=memory(f"Statement {name}.", id=name)) for name in names])


def stored(store: SqliteStore) -> list[Memory]:
    return list(store.get(["mem_a", "mem_b"], scope=store.scopes()))


def test_it_writes_no_file_and_two_of_them_share_nothing(store, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add(store, "mem_a")
    store.tidy()
    other = SqliteStore.temporary(clock=FakeClock(NOW_MS))
    assert (len(stored(store)), stored(other)) == (1, [])
    assert store.check() == ()
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_while_reading_is_read_afterwards(store):
    with store.at_once():
        assert store.scopes().scopes == ()
        add(store, "mem_a")
        assert [one.id for one in stored(store)] == ["mem_a"]
    assert [one.id for one in stored(store)] == ["mem_a"]


def test_a_write_that_fails_while_reading_leaves_nothing(store):
    add(store, "mem_a")
    with store.at_once(), pytest.raises(InvalidInput):
        add(store, "mem_b", "mem_a")
    assert [one.id for one in stored(store)] == ["mem_a"]


def test_threads_take_turns(store):
    add(store, "mem_a", "mem_b")
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(40):
                store.apply([Rewrite(memory=memory(f"Number {number} of {name}.", id=name))])
                with store.at_once():
                    assert len(stored(store)) == 2
                    assert store.search.lexical(f"number {number}", scope=store.scopes(), limit=9).hits
        except BaseException as error:  # noqa: BLE001 - told by the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("mem_a", "mem_b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert {one.content for one in stored(store)} == {"Number 39 of mem_a.", "Number 39 of mem_b."}


def test_a_backup_is_a_file_and_a_purge_is_remembered(store, tmp_path: Path):
    add(store, "mem_a", "mem_b")
    assert store.backup(tmp_path / "copy.db")
    assert b"Statement mem_a" in (tmp_path / "copy.db").read_bytes()
    store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_a",)))
    assert [one.id for one in stored(store)] == ["mem_b"]
    assert store.purged_memories() == {"mem_a"}
