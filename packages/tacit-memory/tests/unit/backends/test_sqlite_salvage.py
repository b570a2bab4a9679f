"""A damaged database: every row that plain SQL can read is in the new one, and what was purged is not."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import damage
from samples import memory_named
from tacit.backends.sqlite import SqliteBackend, open_sqlite_store
from tacit.backends.sqlite.backend import inode_of
from tacit.backends.sqlite.rebuilding import log_is_damaged
from tacit.config.home import Home
from tacit.errors import StoreCorrupt, StoreError
from tacit.model.changes import Add, Removal, Rewrite
from tacit.model.memory import Memory, Relation
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.ports.models import EmbedderIdentity
from tacit.ports.store import Handover, MemoryFilter, ProjectRecord, Salvage
from tacit.providers.clock import FakeClock

SEED = int(os.environ.get("TACIT_DAMAGE_SEED", "20261122"))
CLOCK = FakeClock(now_ms=1_700_000_000_000)
SHOP = project_scope("shop-0123456789")
EVERYONE = ScopeFilter.of(UNIVERSAL, SHOP)
IDENTITY = EmbedderIdentity(name="fake", dimensions=8)


def memory(number: int, words: int = 6, edition: int = 0) -> Memory:
    content = f"Statement {number}, edition {edition}: " + " ".join(f"word{number}x{n}" for n in range(words))
    scope, importance = SHOP if number % 3 else UNIVERSAL, 1.0 if number % 5 else 0.25
    return memory_named(
        f"mem_{number:06d}", content, scope=scope, at_ms=number, importance=importance, pinned=number % 7 == 0
    )


def write_rows(home: Home, count: int = 90) -> None:
    """A store of every sort of row; some memories are longer than a page."""
    import numpy as np

    store = open_sqlite_store(home, clock=CLOCK)
    random = Random(1)
    for start in range(0, count, 10):
        added = [memory(n, 900 if n % 9 == 0 else random.randint(2, 60)) for n in range(start, start + 10)]
        vectors = np.array([[random.random() for _ in range(8)] for _ in added], np.float32)
        store.apply([Add(memory=one) for one in added], vectors=vectors, identity=IDENTITY)
    store.apply([Rewrite(memory=memory(n, 30, edition=1)) for n in range(0, count, 4)])
    store.count_usage(used=[f"mem_{n:06d}" for n in range(0, count, 6)])
    store.relate(
        Relation(source_id=f"mem_{n:06d}", target_id=f"mem_{n + 1:06d}", type="related_to", weight=0.5)
        for n in range(0, count - 1, 2)
    )
    for number in range(25):
        key = SessionKey(host="claude-code", session_id=f"s{number}")
        store.save_session(SessionState(key=key, started_at_ms=number, last_signal_at_ms=number))
        store.hand_over(Handover(key=f"h{number}", session=key, payload="{}" * 300, at_ms=number))
        store.put_value(f"value:{number}", "x" * number * 40)
    store.put_project(ProjectRecord(id="shop-0123456789", name="shop", root="/shop", first_seen_ms=1))
    for number in range(5, 12):
        store.put_value(f"value:{number}", None)
    store.close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store, whole in its file."""
    home = Home(tmp_path_factory.mktemp("sound") / "home")
    write_rows(home)
    return home.database


@pytest.fixture
def home(home: Home, sound: Path) -> Home:
    """A home with the sound store."""
    damage.copy_database(sound, home.database)
    return home


@pytest.fixture(scope="module")
def with_log(tmp_path_factory: pytest.TempPathFactory, sound: Path) -> Path:
    """A store whose last writes stand in the log alone, as after `kill -9`."""
    home = Home(tmp_path_factory.mktemp("log") / "home")
    home.ensure()
    damage.copy_database(sound, home.database)
    store = open_sqlite_store(home, clock=CLOCK)
    for number in range(200, 230):
        store.apply([Add(memory=memory(number, 40))])
    kept = home.root / "kept.db"
    damage.copy_database(home.database, kept)
    store.close()
    return kept


def assert_all_are_there(home: Home) -> None:
    with closing(open_sqlite_store(home, clock=CLOCK)) as store:
        assert len(store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)) == 90


def recovered(home: Home) -> Salvage | None:
    """What the next start does."""
    inode = inode_of(home.database)
    try:
        store = open_sqlite_store(home, clock=CLOCK)
        problems = store.check()
        store.close()
        if not any("damaged" in problem for problem in problems):
            return None
    except StoreCorrupt:
        pass
    return SqliteBackend().salvage(home, clock=CLOCK, file_id=inode)


def survives(home: Home, before: damage.Rows, work: Path, what: str) -> Salvage | None:
    readable = damage.readable_rows(home.database, before, work)
    done = recovered(home)
    store = open_sqlite_store(home, clock=CLOCK)
    assert store.check() == (), what
    store.close()
    after = damage.all_rows(home.database)
    names = {row[0]: row[1] for row in before["memories"]}
    ids = {row[1] for row in readable["memories"]} | {
        names[version[0]] for version in readable["versions"] if version[0] in names
    }
    related = _related(readable["relations"], names)
    missing = {row for row in related if row[0] in ids and row[1] in ids}
    missing -= _related(after["relations"], {row[0]: row[1] for row in after["memories"]})
    assert not missing, f"{what}: relations lost {sorted(missing)[:5]}"
    for table in readable.keys() - {"relations"}:
        lost = {_key(row) for row in readable[table]} - {_key(row) for row in after[table]}
        assert not lost, f"{what}: {table} lost {sorted(lost)[:5]}"
    assert ids <= {row[1] for row in after["memories"]}, f"{what}: a memory is lost whose history can be read"
    return done


def _related(rows: set[tuple[object, ...]], names: dict[object, object]) -> set[tuple[str, str, str]]:
    """Relations by the ids of their memories, whose numbers are given anew; what becomes of a memory becomes of its relations."""
    return {(str(names.get(source)), str(names.get(target)), str(kind)) for source, target, kind, *_ in rows}


def _key(row: tuple[object, ...]) -> tuple[str, ...]:
    """A row without the numbers that are given anew (those of scopes, and of changes)."""
    return tuple(str(value) for value in row if not isinstance(value, int) or value > 1000)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", damage.IN_FILE, ids=lambda how: how.__name__)
def test_no_readable_row_is_lost_whatever_is_damaged(sound, tmp_path, how, rounds):
    before = damage.all_rows(sound)
    for round_number in range(rounds):
        random = Random(f"{SEED} {how.__name__} {round_number}")
        home = Home(tmp_path / f"{round_number}")
        home.ensure()
        damage.copy_database(sound, home.database)
        how(home.database, random)
        survives(home, before, tmp_path / f"{round_number}.db", f"seed {SEED}, {how.__name__} {round_number}")


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", damage.IN_LOG, ids=lambda how: how.__name__)
def test_writes_behind_damage_in_the_log_are_lost_but_not_in_silence(with_log, tmp_path, how, rounds):
    damage.copy_database(with_log, tmp_path / "whole.db")
    before = damage.all_rows(tmp_path / "whole.db")  # reading it puts the log into the file
    for round_number in range(rounds):
        random = Random(f"{SEED} {how.__name__} {round_number}")
        home = Home(tmp_path / f"{round_number}")
        home.ensure()
        damage.copy_database(with_log, home.database)
        how(home.database, random)
        what = f"seed {SEED}, {how.__name__} {round_number}"
        done = survives(home, before, tmp_path / f"{round_number}.db", what)
        lost = before["memories"] - damage.all_rows(home.database)["memories"]
        assert not lost or (done and done.cut and Path(f"{done.aside}-wal").exists()), what


def test_a_log_is_not_called_damaged_for_an_end_that_was_interrupted(with_log, tmp_path):
    for at, cut in enumerate((1, 24, 3000, 4120, 9000)):
        work = tmp_path / f"{at}.db"
        damage.copy_database(with_log, work)
        wal = Path(f"{work}-wal")
        assert not log_is_damaged(work)
        with wal.open("r+b") as file:
            file.truncate(wal.stat().st_size - cut)
        assert not log_is_damaged(work)


def test_bytes_changed_inside_a_statement_are_damage_that_the_check_finds(home):
    content = home.database.read_bytes()
    at = -1
    while (at := content.find(b'"content":"Statement 31', at + 1)) >= 0:
        if content[at - at % damage.PAGE] == 0x0D:  # the row, not its history
            damage.write(home.database, at, b"\x00\x01\x02\xff\xfe")
    store = open_sqlite_store(home, clock=CLOCK)
    with pytest.raises(StoreCorrupt):
        store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)
    store.close()
    assert recovered(home) is not None  # the mark that was left makes the next start look at the whole
    assert_all_are_there(home)


def test_what_the_salvage_cannot_read_comes_from_the_newest_backup(tmp_path):
    home = Home(tmp_path / "home")
    write_rows(home, 40)
    store = open_sqlite_store(home, clock=CLOCK)
    store.backup(home.backups_dir / "tacit-000001-20231114T000000.db")
    store.apply([Rewrite(memory=memory(3, edition=7)), Add(memory=memory(77))])
    store.close()
    content = home.database.read_bytes()
    for number in range(1, len(content) // damage.PAGE):
        # Both copies of one memory, its row and its history.
        if b"word5x" in content[number * damage.PAGE : (number + 1) * damage.PAGE]:
            damage.write(home.database, number * damage.PAGE, b"\xee" * damage.PAGE)
    done = SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database))
    assert done is not None
    assert done.from_backup > 0
    assert done.lost_count == 0
    store = open_sqlite_store(home, clock=CLOCK)
    found = {one.id: one for one in store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)}
    assert len(found) == 41
    assert "edition 7" in found["mem_000003"].content  # newer than the backup's
    assert store.check() == ()
    store.close()


def test_a_purge_reaches_backups_and_quarantine_and_is_repeated_on_what_comes_back(tmp_path):
    """Purge, damage, restore: the statement is in no file of the home."""
    home = Home(tmp_path / "home")
    write_rows(home, 40)
    secret = replace(memory(99, 0), content="The vault opens with quokka marmalade.")
    store = open_sqlite_store(home, clock=CLOCK)
    store.apply([Add(memory=secret)])
    unknown = tmp_path / "elsewhere.db"
    store.backup(unknown)
    store.backup(home.backups_dir / "tacit-000001-20231114T000000.db")
    store.close()
    damage.write(home.database, 9 * damage.PAGE, b"\xee" * damage.PAGE)
    done = SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database))
    assert done is not None
    assert b"quokka" in Path(done.aside).read_bytes()

    from tacit.safety.forgotten_words import ForgottenWords

    words = ForgottenWords([secret.content])
    store = open_sqlite_store(home, clock=CLOCK)
    gone = Removal(memories=(secret.id,))
    for copy in (None, Path(done.aside), *home.automatic_backups()):
        assert store.rewrite_texts(lambda text, _: words.without(text), dry_run=False, copy=copy, gone=gone)
    store.close()
    assert holding(home, b"quokka") == []

    SqliteBackend().restore(unknown, home, clock=CLOCK)
    assert holding(home, b"quokka") == []
    damage.write(home.database, 9 * damage.PAGE, b"\xee" * damage.PAGE)
    assert SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database)) is not None
    assert holding(home, b"quokka") == []
    assert b"quokka" not in home.purge_log.read_bytes()
    assert home.purge_log.stat().st_mode & 0o077 == 0
    store = open_sqlite_store(home, clock=CLOCK)
    assert len(store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)) == 40
    store.close()

    home.purge_log.unlink()
    home.purge_log.mkdir()
    with pytest.raises(StoreError, match="names what was purged, cannot be read"):
        SqliteBackend().restore(unknown, home, clock=CLOCK)


def holding(home: Home, needle: bytes) -> list[str]:
    return [path.name for path in home.root.rglob("*") if path.is_file() and needle in path.read_bytes()]


def test_bytes_of_a_purged_statement_on_an_unreadable_page_of_quarantine_go_too(tmp_path):
    home = Home(tmp_path / "home")
    write_rows(home, 20)
    aside = home.quarantine_dir / "tacit-old-0.db"
    damage.copy_database(home.database, aside)
    count = aside.stat().st_size // damage.PAGE
    damage.write(
        aside,
        (count - 1) * damage.PAGE,
        b"\xee" * 300 + b"the vault opens with quokka marmalade" + b"\xee" * 300,
    )
    from tacit.safety.forgotten_words import ForgottenWords

    words = ForgottenWords(["The vault opens with quokka marmalade."])
    store = open_sqlite_store(home, clock=CLOCK)
    looked = store.rewrite_texts(
        lambda text, _: words.without(text), dry_run=True, copy=aside, gone=Removal(memories=("mem_x",))
    )
    assert looked
    assert b"quokka" in aside.read_bytes()  # looking changes nothing
    store.rewrite_texts(
        lambda text, _: words.without(text), dry_run=False, copy=aside, gone=Removal(memories=("mem_x",))
    )
    store.close()
    assert b"quokka" not in aside.read_bytes()
    with closing(sqlite3.connect(aside)) as raw:
        assert raw.execute("SELECT count(*) FROM memories").fetchone()[0] == 20


def test_a_session_that_began_anew_after_its_purge_is_kept(tmp_path):
    home = Home(tmp_path / "home")
    clock = FakeClock(now_ms=1_000)
    key = SessionKey(host="claude-code", session_id="s1")
    store = open_sqlite_store(home, clock=clock)
    store.apply([Add(memory=memory(1))])
    store.save_session(SessionState(key=key, started_at_ms=5, last_signal_at_ms=5))
    store.backup(tmp_path / "old.db")
    store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(sessions=(key,)))
    store.save_session(SessionState(key=key, started_at_ms=2_000, last_signal_at_ms=2_000))
    store.close()
    assert SqliteBackend().salvage(home, clock=clock, file_id=inode_of(home.database)) is not None
    store = open_sqlite_store(home, clock=clock)
    assert store.load_session(key) is not None
    store.close()
    SqliteBackend().restore(tmp_path / "old.db", home, clock=clock)
    store = open_sqlite_store(home, clock=clock)
    assert store.load_session(key) is None
    store.close()


KILLED = """
import sys
from pathlib import Path
from tacit.backends.sqlite import SqliteBackend, open_sqlite_store
from tacit.backends.sqlite.backend import inode_of
from tacit.config.home import Home
from tacit.providers.clock import SystemClock
what, home, other = sys.argv[1], Home(Path(sys.argv[2])), Path(sys.argv[3])
print("go", flush=True)
if what == "salvage":
    SqliteBackend().salvage(home, clock=SystemClock(), file_id=inode_of(home.database))
elif what == "restore":
    SqliteBackend().restore(other, home, clock=SystemClock())
else:
    open_sqlite_store(home, clock=SystemClock()).backup(home.backups_dir / "tacit-000001-20231114T000000.db")
"""


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [2, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["salvage", "restore", "backup"])
def test_kill_9_at_any_moment_leaves_a_sound_home(sound, tmp_path, what, rounds):
    before = {row[1] for row in damage.all_rows(sound)["memories"]}
    random = Random(f"{SEED} kill {what}")
    longest = 0.3
    for round_number in range(rounds):
        home = Home(tmp_path / f"{what}{round_number}")
        home.ensure()
        damage.copy_database(sound, home.database)
        if what == "salvage":
            damage.copy_database(sound, home.backups_dir / "tacit-000001-20231114T000000.db")
            damage.write(home.database, 0, b"\xee" * 100)
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, what, str(home.root), str(sound)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        if round_number == 0:
            process.wait(timeout=60)
            longest = time.monotonic() - began
        else:
            time.sleep(random.random() * longest)
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)
        process.stdout.close()
        recovered(home)
        store = open_sqlite_store(home, clock=CLOCK)
        assert store.check() == ()
        store.close()
        assert {row[1] for row in damage.all_rows(home.database)["memories"]} == before
        assert not [path for path in home.root.iterdir() if path.name.endswith((".new", ".aside"))]


NOT_OUR_SCHEMA = {
    "a number no release has": "PRAGMA user_version = 1465806037",
    "a negative number": "PRAGMA user_version = -7",
    "no number": "PRAGMA user_version = 0",
    "no row of state": "DELETE FROM state",
    "no state": "DROP TABLE state",
    "no named values": "DROP TABLE named_values",
    "no sessions": "DROP TABLE sessions",
    "no documents": "DROP TABLE documents",
    "no text index": "DROP TABLE text_words",
    "no memories": "DROP TABLE memories",
}


@pytest.mark.parametrize("statement", NOT_OUR_SCHEMA.values(), ids=NOT_OUR_SCHEMA)
def test_a_file_that_does_not_fit_its_schema_is_damaged_and_recovered(home, statement):
    with closing(sqlite3.connect(home.database)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute(statement)
        raw.commit()
    with pytest.raises(StoreCorrupt):
        open_sqlite_store(home, clock=CLOCK)
    assert SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database)) is not None
    store = open_sqlite_store(home, clock=CLOCK)
    assert len(store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1000)) == 90
    assert store.check() == ()
    store.close()


def test_a_missing_column_is_met_while_reading_and_recovered_at_the_next_start(home):
    with closing(sqlite3.connect(home.database)) as raw:
        raw.execute("ALTER TABLE sessions RENAME COLUMN body TO bodx")
        raw.commit()
    store = open_sqlite_store(home, clock=CLOCK)
    with pytest.raises(StoreCorrupt, match="no such column"):
        store.list_sessions(limit=5)
    store.close()
    with pytest.raises(StoreCorrupt):
        open_sqlite_store(home, clock=CLOCK)
    assert SqliteBackend().salvage(home, clock=CLOCK, file_id=inode_of(home.database)) is not None
    store = open_sqlite_store(home, clock=CLOCK)
    assert len(store.list_sessions(limit=100)) == 25
    store.close()


def test_text_that_is_no_json_is_met_while_sorting_and_recovered_at_the_next_start(home):
    with closing(sqlite3.connect(home.database)) as raw:
        raw.execute("UPDATE memories SET body = substr(body, 1, 40) WHERE number = 7")
        raw.commit()
    store = open_sqlite_store(home, clock=CLOCK)
    with pytest.raises(StoreCorrupt):
        store.list_memories(MemoryFilter(text="statement"), scope=EVERYONE, limit=1000)
    store.close()
    assert recovered(home) is not None
    assert_all_are_there(home)


def test_a_file_that_sql_cannot_open_gives_way_to_the_newest_backup(home):
    with closing(open_sqlite_store(home, clock=CLOCK)) as store:
        store.backup(home.backups_dir / "tacit-000001-20231114T000000.db")
        store.apply([Add(memory=memory(300))])
    damage.write(home.database, 18, b"\x5a\x77\xc8\x11")
    done = recovered(home)
    assert done is not None
    assert (done.recovered, done.from_backup, done.cut, done.incomplete) == (90, 90, True, True)
    assert_all_are_there(home)


def test_a_file_of_another_program_with_a_great_schema_number_is_left_alone(tmp_path):
    home = Home(tmp_path / "home")
    home.ensure()
    with closing(sqlite3.connect(home.database)) as other:
        other.execute("CREATE TABLE sessions (url TEXT)")
        other.execute("PRAGMA user_version = 20260101")
        other.commit()
    with pytest.raises(StoreError, match="another program") as caught:
        open_sqlite_store(home, clock=CLOCK)
    assert not isinstance(caught.value, StoreCorrupt)


def test_an_incomplete_backup_is_read_as_a_damaged_file(sound, tmp_path):
    source, home = tmp_path / "backup.db", Home(tmp_path / "home")
    damage.copy_database(sound, source)
    with closing(sqlite3.connect(source)) as raw:
        raw.execute("DROP TABLE named_values")
        raw.execute("PRAGMA user_version = 1465806037")
    SqliteBackend().restore(source, home, clock=CLOCK)
    assert_all_are_there(home)
