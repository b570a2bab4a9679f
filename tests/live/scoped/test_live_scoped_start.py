"""What a session of `scoped` is given at its start: from its first one on, by scope, within the tokens of each part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session
from live.scoped.driving import (
    lines,
    remember_at,
    scoped_machine,
    speaks,
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


@acceptance("scoped", "AGE", "THRESHOLD-start")
def test_a_rule_of_half_a_year_ago_comes_and_a_fact_of_that_age_does_not(machine: Machine) -> None:
    block = Session(machine, "old").start()
    assert "- Answer in short sentences" in lines(block, "### Universal Rules")
    assert "- Prices are integers in cents" in lines(block, "### Shop Decisions")
    assert "screens" not in block


@acceptance("scoped", "QUIET")
def test_prompts_and_calls_stay_untouched_and_say_why(machine: Machine) -> None:
    session = Session(machine, "quiet")
    session.start()
    assert session.say("How are prices of the cart to be written down?") == ""
    assert session.runs("go test ./...", error="FAIL shop 0.1s") == ""
    told = machine.tacit("why", "--surface", "prompt").stdout
    assert "off in this preset" in told
    assert "does not fit" not in told
