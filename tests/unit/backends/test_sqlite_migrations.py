"""Stores written by earlier versions are brought up to date, step by step, without losing anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from samples import memory_named
from tacit.backends.codec import encode
from tacit.backends.sqlite import open_sqlite_store
from tacit.backends.sqlite.schema import MIGRATIONS, SCHEMA_VERSION, migrate_one, schema_version
from tacit.config.home import Home
from tacit.errors import StoreCorrupt
from tacit.model.memory import Entity, Memory
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.model.trigger import Trigger
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock

EVERYONE = ScopeFilter.of(UNIVERSAL)
CLOCK = FakeClock()


def old_memory(number: int) -> Memory:
    return memory_named(
        f"mem_{number}",
        f"run the linter over getUserName {number}",
        trigger=Trigger(actions=(("commit", 1.0),)),
        entities=(Entity(kind="file", key="a.py"),),
        status="active" if number else "retired",
    )


def write_version_1(path: Path, bodies: list[str]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN")
        migrate_one(raw, 1)
        raw.execute(
            "INSERT INTO scopes (number, name, total, active) VALUES (1, 'universal', ?, ?)",
            (len(bodies), len(bodies) - 1),
        )
        for number, body in enumerate(bodies):
            status = "active" if number else "retired"
            raw.execute(
                "INSERT INTO memories VALUES (?, ?, 1, 'fact', ?, '', 0, NULL, 1, 0.5, 0, '', 3, 1, 1, ?)",
                (number + 1, f"mem_{number}", status, body),
            )
            raw.execute("INSERT INTO versions VALUES (?, 1, 1, 1, 'new', ?)", (number + 1, body))
        raw.execute("COMMIT")
        assert schema_version(raw) == 1


def test_a_store_of_version_1_gets_its_search(home: Home) -> None:
    write_version_1(home.database, [encode(old_memory(number)) for number in range(4)])
    store = open_sqlite_store(home, clock=CLOCK)
    assert store.stats().schema_version == SCHEMA_VERSION
    found = store.list_memories(MemoryFilter(), scope=EVERYONE, limit=9)
    assert [m.id for m in found] == ["mem_1", "mem_2", "mem_3"]
    assert {m.use_count for m in found} == {3}
    active = ["mem_1", "mem_2", "mem_3"]
    search = store.search
    for ranking in (
        search.lexical("linters", scope=EVERYONE, limit=9),
        search.code("getUserName", scope=EVERYONE, limit=9),
        search.entity([Entity(kind="file", key="a.py")], scope=EVERYONE, limit=9),
        search.intent([("commit", 1.0)], scope=EVERYONE, limit=9),
        search.standing(["fact"], scope=EVERYONE, limit=9, broadest=True),
    ):
        assert [hit.memory_id for hit in ranking.hits] == active[::-1], ranking.space
    assert store.check() == ()
    store.close()


def test_a_rule_of_an_earlier_version_is_found_by_what_is_read_of_its_words_today(home: Home) -> None:
    rule = replace(old_memory(1), content="--no-verify is not allowed.")
    write_version_1(home.database, [encode(old_memory(0)), encode(rule)])
    with closing(sqlite3.connect(home.database, isolation_level=None)) as raw:
        raw.execute("BEGIN")
        for version in range(2, 8):
            migrate_one(raw, version)
        raw.execute("DELETE FROM memory_entities")  # the parser of version 7 read nothing of these words
        raw.execute("COMMIT")
    store = open_sqlite_store(home, clock=CLOCK)
    found = store.search.entity([Entity(kind="moment", key="option:--no-verify")], scope=EVERYONE, limit=9)
    assert [hit.memory_id for hit in found.hits] == [rule.id]
    store.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(home: Home) -> None:
    write_version_1(home.database, ["{}", "no memory"])
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="Memory"):
            open_sqlite_store(home, clock=CLOCK)
        with closing(sqlite3.connect(home.database)) as raw:
            assert schema_version(raw) == 1
            tables = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            assert "documents" not in tables


def test_every_version_below_the_newest_can_be_brought_up(home: Home) -> None:
    for version in range(SCHEMA_VERSION + 1):
        path = home.root / f"from_{version}.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("BEGIN")
            for step in range(1, version + 1):
                migrate_one(raw, step)
            raw.execute("COMMIT")
        path.replace(home.database)
        store = open_sqlite_store(home, clock=CLOCK)
        assert store.stats().schema_version == len(MIGRATIONS)
        assert store.check() == ()
        store.close()
        for part in ("", "-wal", "-shm"):
            Path(f"{home.database}{part}").unlink(missing_ok=True)


def test_opening_an_up_to_date_store_takes_no_lock(home: Home) -> None:
    open_sqlite_store(home, clock=CLOCK).close()
    home.lock_file.unlink(missing_ok=True)
    store = open_sqlite_store(home, clock=CLOCK)
    assert not home.lock_file.exists()
    store.close()
