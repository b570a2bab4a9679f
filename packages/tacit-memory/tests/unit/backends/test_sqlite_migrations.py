"""A store of an older schema is brought up to date, step by step, without losing anything."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from samples import memory_named
from tacit.backends.sqlite import open_sqlite_store
from tacit.backends.sqlite.schema import MIGRATIONS, newest_version, schema_version
from tacit.config.home import Home
from tacit.errors import StoreCorrupt, StoreNewer
from tacit.model.changes import Add
from tacit.model.memory import Entity
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock

EVERYONE = ScopeFilter.of(UNIVERSAL)
CLOCK = FakeClock()
Migration = Callable[[sqlite3.Connection], None]


def add_color(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE memories ADD COLUMN color TEXT NOT NULL DEFAULT 'gray'")


def fail_half_way(connection: sqlite3.Connection) -> None:
    add_color(connection)
    raise StoreCorrupt("A stored Memory cannot be read.", hint="-")


@pytest.fixture
def add_migration() -> Iterator[Callable[[Migration], None]]:
    """What adds a migration for the length of a test."""
    before = list(MIGRATIONS)
    yield MIGRATIONS.append
    MIGRATIONS[:] = before


def colors(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as raw:
        return [row[0] for row in raw.execute("SELECT color FROM memories")]


def test_a_store_of_an_older_schema_is_brought_up_and_keeps_everything(home: Home, add_migration) -> None:
    memory = memory_named("mem_1", "run the linter", entities=(Entity(kind="file", key="a.py"),))
    with closing(open_sqlite_store(home, clock=CLOCK)) as store:
        older = store.stats().schema_version
        store.apply([Add(memory=memory)])
    add_migration(add_color)
    add_migration(lambda connection: None)
    with closing(open_sqlite_store(home, clock=CLOCK)) as store:
        assert store.stats().schema_version == newest_version() == older + 2
        assert store.list_memories(MemoryFilter(), scope=EVERYONE, limit=9) == (memory,)
        found = store.search.entity([Entity(kind="file", key="a.py")], scope=EVERYONE, limit=9)
        assert [hit.memory_id for hit in found.hits] == ["mem_1"]
        assert store.check() == ()
    assert colors(home.database) == ["gray"]


def test_a_migration_that_fails_leaves_the_file_as_it_was(home: Home, add_migration) -> None:
    open_sqlite_store(home, clock=CLOCK).close()
    older = newest_version()
    add_migration(fail_half_way)
    for _ in range(2):
        with pytest.raises(StoreCorrupt, match="Memory"):
            open_sqlite_store(home, clock=CLOCK)
        with closing(sqlite3.connect(home.database)) as raw:
            assert schema_version(raw) == older
            assert "color" not in {row[1] for row in raw.execute("PRAGMA table_info(memories)")}


def test_a_store_of_a_newer_schema_is_refused_and_left_alone(home: Home, add_migration) -> None:
    add_migration(add_color)
    open_sqlite_store(home, clock=CLOCK).close()
    MIGRATIONS.pop()
    with pytest.raises(StoreNewer, match=r"has schema 2; this Tacit knows up to 1 and reads nothing"):
        open_sqlite_store(home, clock=CLOCK)
    with closing(sqlite3.connect(home.database)) as raw:
        assert schema_version(raw) == newest_version() + 1


def test_opening_an_up_to_date_store_takes_no_lock(home: Home) -> None:
    open_sqlite_store(home, clock=CLOCK).close()
    home.lock_file.unlink(missing_ok=True)
    store = open_sqlite_store(home, clock=CLOCK)
    assert not home.lock_file.exists()
    store.close()
