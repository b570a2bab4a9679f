"""The setting `store.provider: memory`, as a person tries it: hooks, commands and a daemon in a home of their own."""

from __future__ import annotations

import pytest

from e2e.drivers.machine import Machine

pytestmark = pytest.mark.slow


def test_a_trial_in_memory_works_as_usual_and_leaves_no_database():
    with Machine() as machine:
        machine.home.ensure()
        machine.tacit("config", "set", "store.provider", "memory")
        machine.remember()
        machine.goes_on()
        machine.tacit("forget", machine.request("GET", "/v1/memories")["memories"][0]["id"])
        assert len(machine.contents()) == 1
        machine.stop()
        assert machine.contents() == []
        assert not machine.home.database.exists()
        assert not list(machine.home.backups_dir.glob("*"))


def test_a_home_with_a_database_is_left_alone_and_the_reason_is_said():
    with Machine() as machine:
        machine.remember()
        machine.stop()
        machine.tacit("config", "set", "store.provider", "memory")
        assert machine.prompt("Commit the parser, please") == ""
        said = machine.said("list", code=6)
        assert "has a database" in said
        assert "TACIT_HOME" in said
        machine.tacit("config", "set", "store.provider", "sqlite")
        machine.tacit("stop")
        machine.goes_on()
