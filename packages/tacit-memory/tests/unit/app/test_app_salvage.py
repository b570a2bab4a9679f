"""A store whose damage is met only after it was opened is recovered at the same start."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import damage
from tacit.app.wiring import open_engine
from tacit.backends.sqlite import damage_marker, open_sqlite_store
from tacit.config.home import Home
from tacit.errors import StoreCorrupt
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

CLOCK = FakeClock(now_ms=1_780_000_000_000)
SAID = "The invoice numbers are never reused."


@pytest.fixture
def home(tmp_path):
    engine = open_engine(tmp_path / "home", clock=CLOCK, embedder=FakeEmbedder())
    engine.remember(SAID, cwd=str(tmp_path))
    engine.close()
    return Home(tmp_path / "home")


@pytest.mark.parametrize("table", ["named_values", "memories", "sessions"])
def test_a_damaged_page_of_any_table_is_recovered_when_the_engine_opens(home, table):
    with closing(sqlite3.connect(home.database)) as raw:
        (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    damage.write(home.database, (root - 1) * damage.PAGE, b"\xee" * damage.PAGE)
    if table != "named_values":
        damage_marker(home.database).write_text("")
    engine = open_engine(home.root, clock=CLOCK, embedder=FakeEmbedder())
    assert [one.content for one in engine.list_memories(MemoryFilter())] == [SAID]
    engine.close()


@pytest.mark.slow
def test_one_damaged_page_wherever_it_is_never_keeps_the_engine_closed(home, tmp_path):
    store = open_sqlite_store(home, clock=CLOCK)
    for number in range(120):
        store.put_value(f"{'abcdefgh'[number % 8]}-value-{number}", "x" * 400)
    store.close()
    whole = home.database.read_bytes()
    for number in range(1, len(whole) // damage.PAGE):
        place = Home(tmp_path / f"page{number}")
        place.ensure()
        place.database.write_bytes(whole)
        damage.write(place.database, number * damage.PAGE, b"\xee" * damage.PAGE)
        try:
            engine = open_engine(place.root, clock=CLOCK, embedder=FakeEmbedder())
        except StoreCorrupt as error:
            raise AssertionError(f"page {number} keeps the engine closed") from error
        engine.close()


def test_a_row_without_a_body_is_damage(home):
    with closing(sqlite3.connect(home.database)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute(
            "UPDATE sqlite_master SET sql = replace(sql, 'body TEXT NOT NULL', 'body TEXT') WHERE name = 'memories'"
        )
        raw.commit()
    with closing(sqlite3.connect(home.database)) as raw:
        raw.execute("UPDATE memories SET body = NULL")
        raw.commit()
    damage_marker(home.database).write_text("")
    with pytest.raises(StoreCorrupt):
        open_sqlite_store(home, clock=CLOCK)
