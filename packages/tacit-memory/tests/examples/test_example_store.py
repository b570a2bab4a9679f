"""The example store: one package with one entry point. It passes the contract of every store, and a daemon runs on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.stores import NOW
from contracts.test_store_contract import *  # noqa: F403 - the contract, run on the fixture `store` below
from e2e.drivers.machine import RULE
from examples.installed import EXAMPLES, ExampleMachine
from plugins import install_project
from tacit.app.wiring import open_engine, store_backend
from tacit.config.home import Home
from tacit.errors import InvalidSetting
from tacit.ports.store import Store
from tacit.providers.clock import FakeClock

ACME = {"TACIT_STORE__PROVIDER": "acme"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the example is installed into, visible to this process."""
    folder = tmp_path / "site"
    install_project(EXAMPLES / "store", folder)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("acme_store", None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW)


@pytest.fixture
def store(site: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    made = store_backend("acme").open(Home(tmp_path / "home"), clock=clock)
    yield made
    made.close()


def test_an_engine_keeps_its_memories_in_the_file_of_the_example(site: Path, tmp_path: Path):
    home = tmp_path / "home"
    settings = {"store": {"provider": "acme"}, "embedder": {"provider": "fake"}}
    engine = open_engine(home, overrides=settings)
    (change,) = engine.remember(RULE, kind="preference", cwd="")
    engine.close()
    assert not (home / "tacit.db").exists()
    assert RULE in (home / "acme.json").read_text()
    engine = open_engine(home, overrides=settings)
    assert [item.candidate.memory.id for item in engine.recall("ruff commit").pack.items] == [
        change.memory.id
    ]
    engine.close()


@pytest.mark.slow
def test_a_daemon_on_the_example_store_hands_over_after_a_restart_what_was_stored_before():
    with ExampleMachine("store", **ACME) as machine:
        machine.start_daemon()
        machine.remember(RULE)
        assert RULE in machine.start()
        machine.stop_daemon()
        machine.start_daemon()
        assert RULE in machine.start()
        assert machine.contents() == [RULE]
        assert not machine.home.database.exists()


@pytest.mark.slow
def test_a_store_that_is_not_installed_is_refused_and_no_other_one_is_opened():
    with ExampleMachine() as machine:
        said = machine.said("config", "set", "store.provider", "acme", code=3)
        assert "'sqlite'" in said
        assert "tacit.stores" in said
        machine.home.ensure()
        machine.home.config_file.write_text("store:\n  provider: acme\n")
        with pytest.raises(InvalidSetting, match="'sqlite'"):
            open_engine(machine.home.root)
        assert machine.start() == ""
        assert not machine.home.database.exists()
