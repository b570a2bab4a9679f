"""`scoped` under the names its users know: the design's keys, a project's name, one agent or folder alone."""

from __future__ import annotations

import pytest

from e2e.drivers.machine import Machine, wait_for
from live.scoped.driving import scoped_machine
from presets.acceptance import acceptance

TITLE = "## Developer Memory"


@acceptance("scoped", "NAMES")
@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("SESSION_CAP", "recall.scoped.session_tokens"),
        ("MEMORY_BUDGET.universal", "recall.scoped.universal"),
        ("QUERY_BUDGET.project", "recall.scoped.asked_project"),
    ],
)
def test_a_name_of_the_design_leads_to_the_setting(machine: Machine, name: str, setting: str) -> None:
    assert f"`{setting}`" in machine.said("config", "set", name, "250", code=3)
    machine.tacit("config", "set", setting, "250")
    assert machine.ask("config", "get", setting) == {setting: 250}


@acceptance("scoped", "PART")
def test_one_folder_or_one_agent_alone_has_the_preset() -> None:
    with scoped_machine("preset: focused") as machine:
        config = machine.home.root / "config.yaml"
        machine.remember("Answer in short sentences", scope="universal")
        assert TITLE not in machine.start()
        config.write_text(f"projects:\n  {machine.project}:\n    preset: scoped\n")
        wait_for(lambda: TITLE in machine.start())
        other = machine.root / "other"
        other.mkdir()
        assert TITLE not in machine.start(cwd=str(other))
        config.write_text("agents:\n  reviewer:\n    preset: scoped\n")
        wait_for(lambda: TITLE in machine.start(cwd=str(other), agent_type="reviewer"))
        assert TITLE not in machine.start(cwd=str(other))
