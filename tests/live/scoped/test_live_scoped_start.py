"""What a session of `scoped` is given at its start: from its first one on, by scope, within the tokens of each part."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session
from live.scoped.driving import (
    FORMS,
    SETTINGS,
    decisions,
    lines,
    remember_at,
    scoped_machine,
    speaks,
    tokens,
)
from presets.acceptance import acceptance

GO = {"kind": "preference", "scope": "language:Go"}
EVERYWHERE = {"kind": "preference", "scope": "universal"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A Go repository with memories of every scope, most of them older than half a year; no session ran in it."""
    with scoped_machine() as opened:
        speaks(opened.project, "main.go", "shop.go", "README.md")
        remember_at(
            opened,
            200,
            ("Answer in short sentences", EVERYWHERE),
            ("global state in packages", {"kind": "anti_pattern", "scope": "universal"}),
            ("The laptop has two screens", {"kind": "fact", "scope": "universal"}),
            ("Prices are integers in cents", {"kind": "decision"}),
        )
        remember_at(
            opened,
            2,
            ("Wrap errors with %w", GO),
            ("Type hints stand on public functions", {"kind": "preference", "scope": "language:python"}),
        )
        yield opened


@acceptance("scoped", "DETECT-language", "FORMAT", "MODE-1", "EXIT-3", "EXIT-5", "EXIT-9")
def test_the_first_session_of_a_project_has_its_language_in_any_case(machine: Machine) -> None:
    block = Session(machine, "first").start()
    headings = [line for line in block.splitlines() if line.startswith("#")]
    assert headings == [
        "## Developer Memory", "### Universal Rules", "### Go Preferences", "### Shop Decisions",
    ]  # fmt: skip
    assert lines(block, "### Go Preferences") == ["- Wrap errors with %w"]
    assert "- Avoid: global state in packages" in lines(block, "### Universal Rules")


@acceptance("scoped", "AGE", "THRESHOLD-start")
def test_a_rule_of_half_a_year_ago_comes_and_a_fact_of_that_age_does_not(machine: Machine) -> None:
    block = Session(machine, "old").start()
    assert "- Answer in short sentences" in lines(block, "### Universal Rules")
    assert "- Prices are integers in cents" in lines(block, "### Shop Decisions")
    assert "screens" not in block


@acceptance("scoped", "SCENARIO-4", "SCORE-scope")
def test_rules_of_another_language_stay_out(machine: Machine) -> None:
    assert "Type hints" not in Session(machine, "go").start()
    python = machine.root / "scripts"
    python.mkdir()
    (python / "clean.py").write_text("")
    other = machine.start(cwd=str(python))
    assert lines(other, "### Python Preferences") == ["- Type hints stand on public functions"]
    assert "%w" not in other


@acceptance("scoped", "SCENARIO-1")
def test_a_folder_of_no_language_and_no_memories_gets_what_holds_everywhere(machine: Machine) -> None:
    empty = machine.root / "empty"
    empty.mkdir()
    block = machine.start(cwd=str(empty))
    assert [line for line in block.splitlines() if line.startswith("#")] == [
        "## Developer Memory", "### Universal Rules",
    ]  # fmt: skip


@acceptance("scoped", "QUIET")
def test_prompts_and_calls_stay_untouched_and_say_why(machine: Machine) -> None:
    session = Session(machine, "quiet")
    session.start()
    assert session.say("How are prices of the cart to be written down?") == ""
    assert session.runs("go test ./...", error="FAIL shop 0.1s") == ""
    told = machine.tacit("why", "--surface", "prompt").stdout
    assert "off in this preset" in told
    assert "does not fit" not in told


@pytest.fixture(scope="module")
def full() -> Iterator[Machine]:
    """A Go repository with many more memories of every scope than the start has tokens for."""
    with scoped_machine() as opened:
        speaks(opened.project, "main.go", "shop.go")
        for scope, forms in (("universal", FORMS[:2]), ("language:go", FORMS[2:4]), ("", FORMS[4:])):
            said = {"kind": "decision", "scope": scope}
            remember_at(opened, 100, *[(text, said) for text in decisions(0, 16, forms)])
            remember_at(opened, 1, *[(text, said) for text in decisions(16, 20, forms)])
        yield opened


@acceptance("scoped", "SCENARIO-2", "SCENARIO-3", "BUDGET-start", "BUDGET-greedy", "EXIT-2", "SCORE-recency")
def test_every_part_keeps_to_its_tokens_and_the_newest_come_first(full: Machine) -> None:
    block = Session(full, "full").start()
    assert tokens(block) <= 2000
    spent, fresh = 0, decisions(16, 20)
    for heading, budget in (
        ("### Universal Rules", 300),
        ("### Go Preferences", 300),
        ("### Shop Decisions", 400),
    ):
        found = lines(block, heading)
        used = tokens("\n".join(found))
        assert 0.75 * budget < used <= budget + 200, heading
        newest = [re.sub(r" \(\d{4}-\d\d-\d\d\)$", "", line.removeprefix("- ")) in fresh for line in found]
        assert newest[0], "of near statements the newest comes first, and the older ones stand beside it"
        assert sum(newest) == 8
        spent += used
    assert spent <= 1200


@acceptance("scoped", "THRESHOLD-start")
def test_a_threshold_of_the_user_decides_what_the_start_holds() -> None:
    settings = f"{SETTINGS}\nrecall: {{thresholds: {{start: 0.8}}}}"
    with scoped_machine(settings) as machine:
        remember_at(
            machine, 200, ("The staging port is 5433", {"kind": "fact"}), ("Use cents", {"kind": "decision"})
        )
        block = Session(machine, "one").start()
        assert "cents" in block
        assert "staging" not in block
