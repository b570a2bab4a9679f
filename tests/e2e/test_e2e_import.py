"""An import of many statements: interrupted it keeps what it stored, run again it adds the rest and nothing twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from e2e.drivers.machine import Machine
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL
from tacit.ports.store import StoreStats
from tacit.providers.clock import FakeClock, SystemClock
from user_voice import as_user

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NOW = 1_780_000_000_000


def stated(number: int) -> Memory:
    word = "".join("bdfgklmnpr"[int(digit)] + "aeiouaeiou"[int(digit)] for digit in f"{number:06d}")
    return Memory(
        id=f"mem_{number:06d}", kind="fact", content=f"The {word} of {word[::-1]} stands in room {number}.",
        scope=UNIVERSAL, provenance=Provenance(tier=TrustTier.USER), validity=Validity(valid_from_ms=1),
        created_at_ms=NOW + number, updated_at_ms=NOW + number,
    )  # fmt: skip


def stats(machine: Machine) -> StoreStats:
    store = open_sqlite_store(machine.home, clock=SystemClock())
    try:
        return store.stats()
    finally:
        store.close()


def stored(machine: Machine) -> int:
    """How many statements the store holds, active or waiting."""
    return stats(machine).memories_total


@pytest.mark.parametrize(
    ("option", "count"),
    [
        ("--mine", 150),
        pytest.param("--mine", 1500, marks=pytest.mark.long),
        pytest.param("--universal", 1500, marks=pytest.mark.long),
    ],
)
def test_an_interrupted_import_goes_on_where_it_was(option: str, count: int) -> None:
    with Machine() as machine:
        other = Home(machine.root / "other")
        store = open_sqlite_store(other, clock=FakeClock(now_ms=NOW * 2))
        store.apply([Add(memory=stated(number)) for number in range(count)])
        store.close()
        source = machine.root / "all.jsonl"
        machine.tacit("export", "--output", str(source), TACIT_HOME=str(other.root))
        command = [sys.executable, "-m", "tacit.cli.main", "import", str(source), option]
        process = subprocess.Popen(
            command, cwd=machine.project, env=as_user(machine.environ, machine.home), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            if machine.home.database.exists() and stored(machine) > 20:
                process.send_signal(signal.SIGINT)
                break
        said, _ = process.communicate(timeout=120)
        assert b"Traceback" not in said
        kept = stored(machine)
        assert kept > 20
        machine.tacit("import", str(source), option)
        assert stored(machine) == count
        machine.tacit("import", str(source), option)
        assert stored(machine) == count
        assert stats(machine).vectors_missing == 0
