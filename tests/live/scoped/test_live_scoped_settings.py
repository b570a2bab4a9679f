"""`scoped` under the names its users know: the design's keys, a project's name, one agent or folder alone."""

from __future__ import annotations

import pytest

from e2e.drivers.machine import Machine, wait_for
from live.scoped.driving import lines, scoped_machine
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


@acceptance("scoped", "TASK-scope", "DETECT-project")
def test_a_project_is_named_by_its_name_where_something_is_remembered(machine: Machine) -> None:
    machine.start()
    machine.tacit("remember", "--scope", "project:shop", "Deploys go through the blue queue")
    machine.tacit("remember", "--scope", "project:shop:task:debugging", "Read the trace first")
    found = lines(machine.start(), "### Shop Decisions")
    assert found == ["- Deploys go through the blue queue"]
    assert "No project 'shpo' is known" in machine.said(
        "remember", "--scope", "project:shpo", "Anything", code=3
    )
    other = machine.root / "copy" / "shop"
    other.mkdir(parents=True)
    machine.start(cwd=str(other))
    machine.remember("Another shop keeps euros", cwd=str(other))
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir()
    said = machine.tacit("remember", "--scope", "project:shop", "Which one?", code=3, cwd=elsewhere).stderr
    assert "2 projects are called 'shop'" in said


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


def test_a_language_that_nobody_knows_is_refused_with_the_known_ones(machine: Machine) -> None:
    machine.start()
    said = " ".join(machine.said("remember", "--scope", "language:pyton", "Use f-strings", code=3).split())
    assert "Unknown programming language 'pyton'. Did you mean 'python'? Known languages: " in said
    assert "Use f-strings" not in machine.contents()
    machine.tacit("remember", "--scope", "language:Python", "Use f-strings")
    assert "Use f-strings" in machine.contents()
