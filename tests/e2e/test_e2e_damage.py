"""Damage and the ways back, with real processes: the daemon, the command line, the hook. No readable statement is lost."""

from __future__ import annotations

import json
import random
import sqlite3
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
    """The ways in one story; `test_sqlite_salvage.py` takes each of them further."""
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
