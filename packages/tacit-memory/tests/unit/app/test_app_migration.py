"""Opening a store: of an older schema, of another day, with damage inside."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import damage
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.backends.sqlite import damage_marker, open_sqlite_store
from tacit.backends.sqlite.schema import MIGRATIONS, newest_version, schema_version
from tacit.config.home import Home
from tacit.errors import StoreCorrupt
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder

NOW_MS = 1_780_000_000_000


@pytest.fixture
def older_home(tmp_path: Path) -> Iterator[Home]:
    """A home whose store is of a schema before the newest."""
    home = Home(tmp_path / "home")
    with opened(home):
        pass
    with contextlib.closing(sqlite3.connect(home.database)) as raw:
        raw.execute("INSERT INTO named_values (name, value) VALUES ('older', 'kept')")
        raw.commit()
    MIGRATIONS.append(lambda connection: None)
    yield home
    MIGRATIONS.pop()


def opened(home: Home) -> contextlib.closing[Engine]:
    return contextlib.closing(open_engine(home.root, clock=FakeClock(now_ms=NOW_MS), embedder=FakeEmbedder()))


def test_a_backup_of_the_older_schema_is_made_before_the_migration(older_home: Home) -> None:
    home = older_home
    with opened(home):
        pass
    (backup,) = home.automatic_backups()
    for path, version in ((backup, newest_version() - 1), (home.database, newest_version())):
        with contextlib.closing(sqlite3.connect(path)) as raw:
            assert schema_version(raw) == version
            assert raw.execute("SELECT value FROM named_values WHERE name = 'older'").fetchone() == ("kept",)
    with opened(home):  # nothing is migrated any more
        pass
    assert home.automatic_backups() == (backup,)


def test_a_new_store_needs_no_backup(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with opened(home):
        pass
    assert home.automatic_backups() == ()


def test_one_backup_a_day_is_written_and_the_oldest_beyond_the_limit_go(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    clock = FakeClock(now_ms=NOW_MS)
    settings = {"backup": {"keep": 2}}
    with contextlib.closing(
        open_engine(home.root, clock=clock, embedder=FakeEmbedder(), overrides=settings)
    ) as engine:
        written: list[list[str]] = []
        for _ in range(3):
            engine.maintenance.upkeep()
            engine.maintenance.upkeep()  # the same day
            written.append([path.name for path in home.automatic_backups()])
            clock.advance(25 * 3_600_000)
    assert [len(names) for names in written] == [1, 2, 2]
    assert written[2][1] == written[1][0]
    assert written[1][1] == written[0][0]
    assert written[0][0] not in written[2]


def test_no_backup_is_written_where_none_is_to_be_kept(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with contextlib.closing(
        open_engine(
            home.root,
            clock=FakeClock(now_ms=NOW_MS),
            embedder=FakeEmbedder(),
            overrides={"backup": {"keep": 0}},
        )
    ) as engine:
        engine.maintenance.upkeep()
    assert home.automatic_backups() == ()


def test_text_that_is_no_utf8_is_repaired_at_the_next_start(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with opened(home) as engine:
        for text in ("Run make lint before every commit.", "The importer reads rows as a stream."):
            engine.remember(text, kind="preference", cwd=str(tmp_path))
    with contextlib.closing(sqlite3.connect(home.database)) as raw:
        (body,) = raw.execute("SELECT CAST(body AS BLOB) FROM memories WHERE number = 1").fetchone()
        # The name of a field that has a default: a decoder takes it for an unknown field and skips it.
        raw.execute(
            "UPDATE memories SET body = CAST(? AS TEXT) WHERE number = 1",
            (body.replace(b'"pinned"', b'"pin\xffed"'),),
        )
        raw.commit()
    with opened(home) as engine, pytest.raises(StoreCorrupt):
        engine.list_memories(MemoryFilter(), limit=10)
    with opened(home) as engine:
        assert len(engine.list_memories(MemoryFilter(), limit=10)) == 2


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
