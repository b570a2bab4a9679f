"""`scoped` under the names its users know: the design's keys, a project's name, one agent or folder alone."""

from __future__ import annotations

from e2e.drivers.machine import wait_for
from live.scoped.driving import scoped_machine
from presets.acceptance import acceptance

TITLE = "## Developer Memory"


@acceptance("scoped", "PART", "NAMES")
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
        refused = machine.said("config", "set", "QUERY_BUDGET.project", "250", code=3)
        assert "`recall.scoped.asked_project`" in refused
