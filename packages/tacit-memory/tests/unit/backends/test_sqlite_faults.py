"""What happens when the file, its folder or its device fails: a clear error, nothing half-written, nothing deleted."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from samples import memory_named
from tacit.backends.sqlite import SqliteBackend, SqliteStore, open_sqlite_store
from tacit.backends.sqlite.backend import inode_of
from tacit.config.home import Home
from tacit.errors import (
    InvalidInput,
    NotABackup,
    NotFound,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from tacit.model.changes import Add, Rewrite
from tacit.model.memory import Memory, Validity
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.ports.store import MemoryFilter, Salvage
from tacit.providers.clock import FakeClock

EVERYONE = ScopeFilter.of(UNIVERSAL)
CLOCK = FakeClock(now_ms=1_700_000_000_000)


def memory(name: str, content: str = "run the linter", **fields: object) -> Memory:
    return memory_named(name, content, **fields)


def filled(home: Home, count: int = 1) -> SqliteStore:
    store = open_sqlite_store(home, clock=CLOCK)
    store.apply([Add(memory=memory(f"mem_{number}")) for number in range(count)])
    return store


def names(store: SqliteStore) -> list[str]:
    return [m.id for m in store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)]


def salvaged(home: Home) -> Salvage:
    done = SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database))
    assert done is not None
    return done


class TestDamage:
    @pytest.mark.parametrize("damage", ["text", "random", "short", "half"])
    def test_a_damaged_file_is_named_put_aside_and_a_fresh_store_opens(self, home: Home, damage: str) -> None:
        filled(home, 300).close()
        content = home.database.read_bytes()
        broken = {
            "text": b"this is no database\n" * 500,
            "random": os.urandom(len(content)),
            "short": content[:1000],
            "half": content[: len(content) // 2],
        }[damage]
        home.database.write_bytes(broken)
        with pytest.raises(StoreCorrupt, match="damaged") as caught:
            open_sqlite_store(home, clock=CLOCK)
        assert "quarantine" in caught.value.hint
        done = salvaged(home)
        aside = Path(done.aside)
        assert aside.parent == home.quarantine_dir
        assert aside.read_bytes() == broken
        assert done.recovered == 0 if damage != "half" else 0 < done.recovered < 300
        fresh = open_sqlite_store(home, clock=CLOCK)
        assert fresh.check() == ()
        assert len(names(fresh)) == done.recovered
        fresh.close()

    def test_damage_deep_in_the_file_is_an_error_and_found_by_check(self, home: Home) -> None:
        filled(home, 800).close()
        content = bytearray(home.database.read_bytes())
        page = 4096
        for number in range(12, len(content) // page):
            content[number * page : (number + 1) * page] = b"\xff" * page
        home.database.write_bytes(bytes(content))
        with pytest.raises(StoreCorrupt):  # noqa: PT012 - where it is noticed depends on the pages
            store = open_sqlite_store(home, clock=CLOCK)
            try:
                assert store.check() != ()
                names(store)
            finally:
                store.close()

    def test_quarantine_takes_the_log_files_along_and_never_overwrites(self, home: Home) -> None:
        home.ensure()
        places: list[Path] = []
        for content in (b"one", b"two"):
            home.database.write_bytes(content)
            Path(f"{home.database}-wal").write_bytes(content + b" log")
            places.append(Path(salvaged(home).aside))
        assert [place.read_bytes() for place in places] == [b"one", b"two"]
        assert [Path(f"{place}-wal").read_bytes() for place in places] == [b"one log", b"two log"]
        home.database.unlink()
        with pytest.raises(NotFound):
            SqliteBackend().salvage(home, clock=CLOCK, file_id=-1)

    def test_a_store_that_was_moved_away_takes_no_more_writes(self, home: Home) -> None:
        store = filled(home)
        salvaged(home)
        with pytest.raises(StoreError, match="moved or replaced"):
            store.apply([Add(memory=memory("mem_lost"))])
        store.close()

    def test_a_database_of_another_program_is_left_alone(self, home: Home) -> None:
        home.ensure()
        with closing(sqlite3.connect(home.database)) as other:
            other.execute("CREATE TABLE bookmarks (url TEXT)")
            other.commit()
        before = home.database.read_bytes()
        with pytest.raises(StoreError, match="another program"):
            open_sqlite_store(home, clock=CLOCK)
        assert home.database.read_bytes() == before

    def test_check_finds_derived_rows_that_disagree(self, home: Home) -> None:
        filled(home, 3).close()
        with closing(sqlite3.connect(home.database)) as raw:
            raw.execute("DELETE FROM text_words_data WHERE id > 10")
            raw.execute("UPDATE scopes SET active = 7")
            raw.execute("DELETE FROM versions WHERE memory = 1")
            raw.execute("INSERT INTO vectors (memory, identity, vector) VALUES (99, 98, x'00')")
            raw.commit()
        store = open_sqlite_store(home, clock=CLOCK)
        steps: list[tuple[int, int]] = []
        found = "\n".join(store.check(progress=lambda done, whole: steps.append((done, whole))))
        assert steps == [(step, steps[-1][1]) for step in range(len(steps))]
        assert steps[-1][0] == steps[-1][1]
        for part in ("text_words", "1 scopes count", "1 memories have no history", "vectors names a row"):
            assert part in found
        store.close()


class TestSchema:
    def test_a_store_that_a_newer_tacit_migrates_while_it_is_open_reads_nothing_more(
        self, home: Home
    ) -> None:
        store = filled(home)
        with closing(sqlite3.connect(home.database)) as raw:
            raw.execute("PRAGMA user_version = 99")
        with pytest.raises(StoreNewer):
            names(store)
        with pytest.raises(StoreNewer):
            store.put_value("a", "b")
        store.close()


class TestNoWriting:
    def test_a_folder_where_a_file_stands_cannot_be_a_home(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(StoreReadOnly):
            open_sqlite_store(Home(tmp_path / "file" / "home"), clock=CLOCK)

    def test_a_read_only_file_system(self, mounted: Path) -> None:
        place = Home(mounted / "home")
        filled(place).close()
        _run("mount", "-o", "remount,ro", str(mounted))
        with pytest.raises(StoreReadOnly):
            open_sqlite_store(place, clock=CLOCK)

    def test_a_lock_file_that_cannot_be_opened_stops_writers_only(self, home: Home) -> None:
        store = filled(home)
        home.lock_file.unlink(missing_ok=True)
        home.lock_file.mkdir()  # cannot be opened for writing, whoever asks
        with pytest.raises(StoreReadOnly, match="lock file"):
            store.put_value("a", "b")
        assert names(store) == ["mem_0"]
        store.close()

    def test_a_full_device_loses_nothing_and_serves_again(self, mounted: Path) -> None:
        place = Home(mounted / "home")
        store = filled(place)
        stored = 0
        with pytest.raises(StoreFull) as caught:  # noqa: PT012 - the write that no longer fits is the point
            for stored in range(2000):
                store.apply([Add(memory=memory(f"mem_big{stored}", f"{stored} " + "word " * 2000))])
        assert "space" in caught.value.hint
        assert len(names(store)) == 1 + stored
        assert store.search.lexical("linter", scope=EVERYONE, limit=1).hits
        store.close()
        again = open_sqlite_store(place, clock=CLOCK)
        assert len(names(again)) == 1 + stored
        assert again.check() == ()
        again.close()

    def test_a_file_that_may_not_grow(self, home: Home) -> None:
        """The same as a full device, where the tests may not mount one."""
        store = filled(home)
        with store._database.write(durable=True) as writer:
            pages = writer.execute("PRAGMA page_count").fetchone()[0]
        store._database._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreFull):
            store.apply([Add(memory=memory("mem_small")), Add(memory=memory("mem_big", "word " * 50_000))])
        assert names(store) == ["mem_0"]
        assert store.check() == ()
        store.close()


def _run(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own; only root can make one."""
    folder = tmp_path / "device"
    folder.mkdir()
    if not _run("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)):
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    assert _run("umount", "-l", str(folder))


class TestBusy:
    def test_a_writer_that_waits_too_long_says_so(self, home: Home) -> None:
        store = filled(home)
        other = FileLock(home.lock_file)
        with other:
            short_wait(store, 0.05)
            with pytest.raises(StoreBusy) as caught:
                store.put_value("a", "b")
        assert "Try again" in caught.value.hint
        store.put_value("a", "b")
        assert store.get_value("a") == "b"
        store.close()

    def test_a_foreign_transaction_is_waited_for_and_then_reported(self, home: Home) -> None:
        store = filled(home)
        short_wait(store, 0.05)
        with closing(sqlite3.connect(home.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusy):
                store.put_value("a", "b")
            assert names(store) == ["mem_0"]  # readers do not wait for writers
            other.execute("ROLLBACK")
        store.close()


def short_wait(store: SqliteStore, seconds: float) -> None:
    store._database.wait_s = seconds
    store._database._writer.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


class TestBackup:
    def test_a_backup_is_one_sound_file_taken_while_others_write(self, home: Home, tmp_path: Path) -> None:
        store = filled(home, 50)
        store.backup(tmp_path / "copy.db")
        store.apply([Add(memory=memory("mem_later"))])
        assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.db", "home"]
        assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
        with closing(sqlite3.connect(tmp_path / "copy.db")) as raw:
            assert raw.execute("SELECT count(*) FROM memories").fetchone() == (50,)
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.close()

    def test_restore_brings_the_copy_back_and_keeps_the_former_store(
        self, home: Home, tmp_path: Path
    ) -> None:
        store = filled(home)
        store.backup(tmp_path / "copy.db")
        copy = (tmp_path / "copy.db").read_bytes()
        store.apply([Rewrite(memory=memory("mem_0", "changed since")), Add(memory=memory("mem_later"))])
        store.close()
        aside = SqliteBackend().restore(tmp_path / "copy.db", home, clock=CLOCK)
        assert aside is not None
        again = open_sqlite_store(home, clock=CLOCK)
        assert names(again) == ["mem_0"]
        assert again.get(["mem_0"], scope=EVERYONE)[0].content == "run the linter"
        assert again.check() == ()
        again.close()
        assert (tmp_path / "copy.db").read_bytes() == copy
        former = Home(tmp_path / "former")
        former.ensure()
        aside.rename(former.database)
        for part in ("-wal", "-shm"):
            if Path(f"{aside}{part}").exists():
                Path(f"{aside}{part}").rename(f"{former.database}{part}")
        store = open_sqlite_store(former, clock=CLOCK)
        assert sorted(names(store)) == ["mem_0", "mem_later"]
        store.close()

    def test_restore_into_an_empty_home(self, home: Home, tmp_path: Path) -> None:
        store = filled(home)
        store.backup(tmp_path / "copy.db")
        store.close()
        other = Home(tmp_path / "other")
        assert SqliteBackend().restore(tmp_path / "copy.db", other, clock=CLOCK) is None
        again = open_sqlite_store(other, clock=CLOCK)
        assert names(again) == ["mem_0"]
        again.close()

    def test_a_bad_backup_leaves_the_store_alone(self, home: Home, tmp_path: Path) -> None:
        store = filled(home, 300)
        store.backup(tmp_path / "copy.db")
        store.close()
        content = (tmp_path / "copy.db").read_bytes()
        (tmp_path / "text.db").write_text("no database " * 1000)
        with closing(sqlite3.connect(tmp_path / "other.db")) as raw:
            raw.execute("CREATE TABLE x (y)")
        (tmp_path / "newer.db").write_bytes(content)
        with closing(sqlite3.connect(tmp_path / "newer.db")) as raw:
            raw.execute("PRAGMA user_version = 99")
        for name, error in (
            ("text.db", NotABackup),
            ("other.db", NotABackup),
            ("newer.db", StoreNewer),
            ("missing.db", NotFound),
        ):
            with pytest.raises(error):
                SqliteBackend().restore(tmp_path / name, home, clock=CLOCK)
        again = open_sqlite_store(home, clock=CLOCK)
        assert len(names(again)) == 300
        again.close()
        assert list(home.quarantine_dir.iterdir()) == []
        assert not [p for p in home.root.iterdir() if p.name.endswith(".part")]


def test_a_number_too_large_is_refused(home: Home) -> None:
    store = filled(home)
    huge = memory("mem_huge", validity=Validity(valid_from_ms=2**70))
    with pytest.raises(InvalidInput, match="too large"):
        store.apply([Add(memory=memory("mem_b")), Add(memory=huge)])
    assert names(store) == ["mem_0"]
    store.close()


def test_the_files_are_for_their_owner_alone(home: Home) -> None:
    store = filled(home)
    for path in (home.database, home.lock_file, Path(f"{home.database}-wal")):
        if path.exists():
            assert path.stat().st_mode & 0o077 == 0, path
    store.close()
