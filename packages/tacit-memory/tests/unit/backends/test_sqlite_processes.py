"""Several processes on one store, and processes that are killed while they write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import SystemClock

WORKER = Path(__file__).with_name("sqlite_worker.py")
EVERYONE = ScopeFilter.of(UNIVERSAL)


class Workers:
    """Processes of one test; those that still run are killed at its end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.started: list[subprocess.Popen[str]] = []

    def start(self, job: str, name: str, seconds: float) -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), job, str(self.root), name, str(seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def finish(self, process: subprocess.Popen[str]) -> list[str]:
        """Lines the process printed; it must have ended without an error."""
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        return out.split()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    made = Workers(tmp_path / "home")
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def stored(root: Path) -> dict[str, str]:
    store = open_sqlite_store(Home(root), clock=SystemClock())
    found = store.list_memories(MemoryFilter(), scope=EVERYONE, limit=1_000_000)
    assert store.check() == ()
    store.close()
    return {memory.id: memory.content for memory in found}


@pytest.mark.slow
def test_writers_and_readers_of_several_processes_share_a_store(workers: Workers) -> None:
    writers = [workers.start("write", f"w{number}", 1.5) for number in range(3)]
    readers = [workers.start("read", f"r{number}", 1.5) for number in range(2)]
    acknowledged = [name for writer in writers for name in workers.finish(writer)]
    assert all(int(workers.finish(reader)[0]) > 0 for reader in readers)
    found = stored(workers.root)
    assert {name.split("_")[1] for name in acknowledged} == {"w0", "w1", "w2"}
    assert {name: f"whole {name}" for name in acknowledged}.items() <= found.items()


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_it_had_acknowledged(workers: Workers) -> None:
    acknowledged: list[str] = []
    for number in range(2):
        writer = workers.start("write", f"k{number}", 60)
        assert writer.stdout is not None
        acknowledged.append(writer.stdout.readline().strip())  # it writes by now
        time.sleep(0.3 + 0.1 * number)
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += writer.stdout.read().split()
        assert writer.wait(timeout=120) == -signal.SIGKILL
        # The lock of a killed process is free at once, and the next process finds a sound store.
        found = stored(workers.root)
        assert {name: f"whole {name}" for name in acknowledged}.items() <= found.items()
    assert len(acknowledged) > 3


def test_a_write_of_another_process_is_seen_by_the_next_search(workers: Workers) -> None:
    store = open_sqlite_store(Home(workers.root), clock=SystemClock())
    assert store.search.lexical("whole", scope=EVERYONE, limit=5).hits == ()
    names = workers.finish(workers.start("write", "x", 0.2))
    found = {hit.memory_id for hit in store.search.lexical("whole", scope=EVERYONE, limit=1000).hits}
    assert found == set(names)
    assert {m.id for m in store.get(names, scope=EVERYONE)} == set(names)
    store.close()
