"""Damage and the ways back, with real processes: the daemon, the command line, the hook. No readable statement is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

import damage
from e2e.drivers.machine import Machine, wait_for
from tacit.backends.sqlite import open_sqlite_store
from tacit.model.changes import Add
from tacit.model.ids import new_id
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL
from tacit.providers.clock import SystemClock

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
long = pytest.mark.long
SEED = int(os.environ.get("TACIT_DAMAGE_SEED", "20261122"))
WORDS = "amber birch canyon delta ember fjord glacier harbor island juniper kettle lagoon meadow nectar orchard".split()
SECRET = "The vault on the hill opens with quokka marmalade"


def fill(machine: Machine, count: int = 12, *, check: bool = True) -> set[str]:
    """Statements of unlike words, written before the first daemon starts."""
    chance = random.Random(count)
    listed = [f"{' '.join(chance.sample(WORDS, 6))} {n}" for n in range(count)]
    store = open_sqlite_store(machine.home, clock=SystemClock())
    now = SystemClock().now_ms()
    for number, content in enumerate(listed):
        store.apply([Add(memory=Memory(
            id=new_id("mem", now_ms=now, entropy=chance.randbytes(5)), kind="fact", content=content, scope=UNIVERSAL,
            provenance=Provenance(tier=TrustTier.USER), validity=Validity(valid_from_ms=now), created_at_ms=now + number,
            updated_at_ms=now + number,
        ))])  # fmt: skip
    store.close()
    assert not check or contents(machine) == set(listed)
    return set(listed)


def contents(machine: Machine) -> set[str]:
    found = json.loads(machine.tacit("list", "--json", "--all", "--status", "all").stdout)
    return {memory["content"] for memory in found["memories"]}


def holding(folder: Path, needle: str) -> list[str]:
    return [str(p) for p in folder.rglob("*") if p.is_file() and needle.encode() in p.read_bytes()]


def first_line(machine: Machine, **fields: object) -> str:
    """What the host shows the person at the start of a session."""
    machine.starts = getattr(machine, "starts", 0) + 1
    given = {"source": "startup", "session_id": f"told-{machine.starts}", **fields}
    reply = machine.hook(machine.payload("SessionStart", **given))
    return json.loads(reply or b"{}").get("systemMessage", "")


def told(machine: Machine) -> str:
    """The first line that a session is shown; the daemon that meets the damage says nothing and leaves."""
    lines: list[str] = []
    wait_for(lambda: lines.append(first_line(machine)) or lines[-1])
    assert len(lines) <= 3
    return lines[-1]


def damage_root(machine: Machine) -> None:
    """Overwrite the page that leads to all memories. No daemon may run."""
    with closing(sqlite3.connect(machine.home.database)) as database:
        root = database.execute("select rootpage from sqlite_master where name = 'memories'").fetchone()[0]
    damage.write(machine.home.database, (root - 1) * damage.PAGE, b"\xee" * damage.PAGE)


def test_a_damaged_store_is_repaired_told_once_and_what_was_purged_stays_gone(machine):
    """The main ways in one story; the tests marked `long` take each of them further."""
    said = fill(machine, 30, check=False)
    damage_root(machine)
    line = told(machine)
    assert line.startswith(
        "Tacit's store was damaged and has been repaired: 30 memories recovered, none is known"
    )
    assert "\n" not in line
    assert "damaged" not in first_line(machine)
    assert set(machine.contents()) == said
    machine.remember("The backup of the shelf runs at noon")
    machine.kill()  # what was said last stands in the log alone
    assert "damaged" not in first_line(machine)
    assert set(machine.contents()) == {*said, "The backup of the shelf runs at noon"}
    machine.remember(SECRET)
    kept = machine.root / "kept.db"
    machine.tacit("backup", str(kept))
    moved = machine.root / "moved.db"
    kept.rename(moved)  # a backup that the home knows nothing of any more
    machine.request("POST", "/v1/purge", {"text": SECRET, "cwd": str(machine.project)})
    machine.stop()
    damage_root(machine)
    assert "31 memories recovered" in told(machine)
    assert holding(machine.home.root, "quokka") == []
    assert b"quokka" in moved.read_bytes()
    machine.tacit("restore", str(moved), "--yes")
    assert "damaged" not in first_line(machine)
    assert len(machine.contents()) == 31
    machine.stop()
    assert holding(machine.home.root, "quokka") == []


@long
def test_one_damaged_page_loses_nothing(machine):
    """The audit's case: one page is overwritten, statements go on, and after a restart all of them are there."""
    said = fill(machine, 30)
    assert len(said) == 30
    damage_root(machine)
    machine.tacit("stop")
    machine.start()
    assert contents(machine) == said
    (aside,) = machine.home.quarantine_dir.glob("*.db")
    status = machine.tacit("status").stdout
    assert str(aside) in status
    assert "30 memories were recovered" in status
    assert "no memory is known to be lost" in status
    doctor = " ".join(finding["detail"] for finding in machine.findings())
    assert "30 memories were recovered" in doctor
    assert "recovered 30 memories" in machine.home.log_file.read_text()


@long
@pytest.mark.parametrize(
    "how", [*damage.IN_FILE, "index", "config", "shm"], ids=lambda how: getattr(how, "__name__", how)
)
def test_whatever_is_damaged_hooks_go_on_and_statements_stay(machine, how):
    said = fill(machine)
    machine.tacit("stop")
    chance = random.Random(f"{SEED} {how}" if isinstance(how, str) else f"{SEED} {how.__name__}")
    database = machine.home.database
    original = damage.all_rows(database)
    if how == "index":
        for path in machine.home.index_dir.rglob("*"):
            path.write_bytes(chance.randbytes(500))
    elif how == "config":
        machine.home.config_file.write_bytes(chance.randbytes(3000))
    elif how == "shm":
        damage.shared_memory(database, chance)
    else:
        how(database, chance)
    readable = damage.readable_rows(database, original, machine.root / "work.db")
    expected = {json.loads(str(row[-2]))["content"] for row in readable["memories"]}
    expected |= {json.loads(str(row[5]))["content"] for row in readable["versions"]}
    machine.start()  # holds that the hook ends with 0 and says nothing on standard error
    machine.prompt("Where is the harbor of the island?")
    if how == "config":
        machine.home.config_file.unlink()
    found = contents(machine)
    assert expected <= found, f"seed {SEED}"
    if how in ("index", "config", "shm"):
        assert found == said


@long
@pytest.mark.parametrize(
    "statement",
    ["PRAGMA user_version = 1465806037", "DROP TABLE named_values", "DELETE FROM state", "index is a file"],
)
def test_a_home_that_does_not_fit_its_schema_keeps_its_statements(machine, statement):
    said = fill(machine)
    machine.tacit("stop")
    if statement == "index is a file":
        shutil.rmtree(machine.home.index_dir)
        machine.home.index_dir.write_text("x")
    else:
        with closing(sqlite3.connect(machine.home.database)) as database:
            database.execute(statement)
            database.commit()
    machine.start()
    assert contents(machine) == said


@long
def test_statements_in_the_log_survive_a_kill_and_damage_of_the_log(machine):
    fill(machine, 4)
    for n in range(6):
        machine.tacit("remember", f"The backup of shelf {n} runs at {n} o'clock")
    pid = json.loads(machine.home.daemon_file.read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_gone(pid)
    wal = machine.home.database.with_name("tacit.db-wal")
    assert wal.stat().st_size > 20 * 4096
    damage.write(wal, 32 + 3 * (24 + 4096) + 2000, b"\xee" * 64)  # inside the fourth frame
    machine.start()
    found = contents(machine)
    assert {f"The backup of shelf {n} runs at {n} o'clock" for n in range(6)} <= found
    assert len(found) == 10


def wait_gone(pid: int) -> None:
    until = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.05)


@long
def test_purge_damage_restore_and_the_statement_is_nowhere(machine):
    fill(machine, 5)
    machine.tacit("remember", SECRET)
    (name,) = [
        m["id"]
        for m in json.loads(machine.tacit("list", "--json").stdout)["memories"]
        if "quokka" in m["content"]
    ]
    manual = machine.root / "manual.db"
    machine.tacit("backup", str(manual))
    moved = machine.root / "moved.db"
    machine.tacit("backup", str(moved.with_name("first.db")))
    moved.with_name("first.db").rename(moved)  # a backup that the home knows nothing of any more
    machine.tacit("stop")
    damage.write(machine.home.database, 5 * damage.PAGE, b"\xee" * damage.PAGE)
    machine.start()
    machine.tacit("list")
    machine.tacit("purge", name, "--yes")
    assert holding(machine.home.root, "quokka") == []
    assert b"quokka" not in manual.read_bytes()
    machine.tacit("stop")
    damage.write(machine.home.database, 5 * damage.PAGE, b"\xee" * damage.PAGE)
    machine.start()
    assert "quokka" not in " ".join(contents(machine))
    assert holding(machine.home.root, "quokka") == []
    assert b"quokka" in moved.read_bytes()
    machine.tacit("restore", str(moved), "--yes")
    found = contents(machine)
    assert len(found) == 5
    assert "quokka" not in " ".join(found)
    machine.tacit("stop")
    assert holding(machine.home.root, "quokka") == []


@long
def test_restore_reads_a_damaged_file(machine):
    said = fill(machine)
    machine.tacit("stop")
    aside = machine.root / "damaged.db"
    damage.copy_database(machine.home.database, aside)
    damage.write(aside, 0, b"\xee" * 100)
    machine.tacit("remember", "This came later and goes with the restore")
    told = machine.tacit("restore", str(aside), "--yes").stdout
    assert "12 memories could be read" in told
    assert contents(machine) == said
    assert machine.said("restore", str(machine.project / "none.db"), "--yes", code=4)


@long
def test_the_daemon_makes_a_backup_and_status_says_so(machine):
    said = fill(machine)
    assert "none yet" in machine.tacit("status").stdout
    until = time.monotonic() + 150
    while not machine.home.automatic_backups() and time.monotonic() < until:
        time.sleep(1)  # upkeep waits for a minute without requests
    (made,) = machine.home.automatic_backups()
    assert made.stat().st_mode & 0o077 == 0
    assert "the newest was made" in machine.tacit("status").stdout
    for word in WORDS:
        if any(word in one for one in contents(machine)):
            machine.tacit("purge", "--matching", word, "--all", "--yes")
    assert contents(machine) == set()
    assert not any(one.encode() in made.read_bytes() for one in said)
    assert len(said) == 12
