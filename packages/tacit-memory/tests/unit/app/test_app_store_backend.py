"""The setting `store.provider` through the engine: the store in memory, and what start-up costs without other packages."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.app.wiring import examine_backup, open_engine, restore_store
from tacit.config.home import Home
from tacit.errors import StoreError
from tacit.model.memory import TrustTier
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from user_voice import store_as

RULE = "Run `make lint` before every commit."
IN_MEMORY = {"store": {"provider": "memory"}, "embedder": {"provider": "fake"}}


def open_in_memory(home: Path, **more: object):
    return contextlib.closing(open_engine(home, overrides=IN_MEMORY, **more))  # pyright: ignore[reportArgumentType]


def test_the_store_in_memory_learns_hands_over_and_forgets_when_it_is_closed(tmp_path: Path):
    home = tmp_path / "home"
    with open_in_memory(home) as engine:
        engine.remember(RULE, cwd=str(tmp_path))
        start = {"event": "start", "session": "s1", "cwd": str(tmp_path)}
        assert "make lint" in engine.hook("plain", start, deadline_ms=10_000)
        assert "make lint" in engine.recall("what runs before a commit?", cwd=str(tmp_path)).block.text
        assert engine.check() == ()
    assert not (home / "tacit.db").exists()
    with open_in_memory(home) as engine:
        assert engine.status().store.memories_total == 0


def test_upkeep_of_the_store_in_memory_writes_no_backup_and_lets_go_what_has_had_its_time(tmp_path: Path):
    clock = FakeClock(1_800_000_000_000)
    with open_in_memory(tmp_path / "home", clock=clock, embedder=FakeEmbedder()) as engine:
        store_as(TrustTier.ASSISTANT, engine, "The build was red on Monday.", kind="observation", cwd="")
        clock.advance(365 * 86_400_000)
        assert engine.maintenance.upkeep().tended.faded == 1
        assert not list((tmp_path / "home" / "backups").glob("*"))


def test_the_store_in_memory_refuses_a_home_that_has_a_database(tmp_path: Path):
    home = tmp_path / "home"
    with contextlib.closing(open_engine(home, embedder=FakeEmbedder())) as engine:
        engine.remember(RULE, cwd="")
        engine.backup(tmp_path / "copy.db")
    before = (home / "tacit.db").read_bytes()
    with pytest.raises(StoreError, match="has a database") as raised:
        open_engine(home, overrides=IN_MEMORY)
    assert "TACIT_HOME" in raised.value.hint
    (home / "config.yaml").write_text("store:\n  provider: memory\n")
    with pytest.raises(StoreError, match="cannot become the store"):
        examine_backup(Home(home), tmp_path / "copy.db")
    with pytest.raises(StoreError, match="cannot become the store"):
        restore_store(Home(home), tmp_path / "copy.db")
    assert (home / "tacit.db").read_bytes() == before


@pytest.mark.slow
def test_built_in_stores_and_models_are_opened_without_a_look_at_the_installed_packages(tmp_path: Path):
    code = (
        "import sys\n"
        "read = []\n"
        "def note(event, given):\n"
        "    if event == 'open' and str(given[0]).endswith('entry_points.txt'):\n"
        "        read.append(given[0])\n"
        "sys.addaudithook(note)\n"
        "from tacit.app.wiring import Hosts, open_engine\n"
        "engine = open_engine()\n"
        "engine.hook('plain', {'event': 'start', 'session': 's', 'cwd': '/'}, deadline_ms=10000)\n"
        "engine.close()\n"
        "print(read)\n"
        "assert list(Hosts()) and read, 'the check itself sees nothing'\n"
    )
    environ = {
        **os.environ,
        "TACIT_HOME": str(tmp_path / "home"),
        "TACIT_EMBEDDER__PROVIDER": "fake",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # as the daemon does it
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
