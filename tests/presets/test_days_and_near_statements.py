"""In every preset: near statements stand side by side, the newest first, each with its day; relative words carry theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent import Agent
from presets.driving import Workplace, workplace
from samples import DAY_MS, NOW_MS
from tacit.model.memory import day

PRESETS_WITH_A_START = ("focused", "typed", "scoped", "refresh")
OLD, NEW = "Deploy the shop to the blue cluster.", "Deploy the shop to the green cluster."


@pytest.fixture(params=PRESETS_WITH_A_START)
def lab(request: pytest.FixtureRequest, tmp_path) -> Iterator[Workplace]:
    with workplace(tmp_path, request.param) as place:
        yield place


def start_lines(lab: Workplace) -> list[str]:
    return Agent(lab.engine, lab.place, "s9", clock=lab.clock).start().splitlines()


def test_near_statements_stand_together_the_newest_first(lab: Workplace) -> None:
    lab.know(OLD, importance=0.9, days_ago=9)
    for number, thing in enumerate(("indexes", "invoices", "avatars", "webhooks")):
        lab.know(f"Name {thing} after their table and nothing else.", importance=0.8, days_ago=number + 1)
        lab.know(f"Keep {number} {thing} open in {thing}.py while testing.", importance=0.5)
    lab.know(NEW, importance=0.3, days_ago=2)
    lines = start_lines(lab)
    places = [number for number, line in enumerate(lines) if "cluster" in line]
    assert len(places) == 2, lines
    assert places[1] == places[0] + 1, lines
    assert "green" in lines[places[0]]
    for line, days in zip((lines[places[0]], lines[places[1]]), (2, 9), strict=True):
        assert day(NOW_MS - days * DAY_MS) in line


@pytest.mark.parametrize("kind", ["preference", "decision"])
def test_words_that_are_relative_in_time_carry_their_day(lab: Workplace, kind: str) -> None:
    lab.know("We move the shop to the new cluster tomorrow.", kind, days_ago=20)
    (line,) = (line for line in start_lines(lab) if "tomorrow" in line)
    assert day(NOW_MS - 20 * DAY_MS) in line


def test_of_equals_the_newest_come_where_not_all_fit(tmp_path) -> None:
    """Forty rules of one kind that nothing tells apart but their days: the list of twenty holds the newer half."""
    with workplace(tmp_path, "typed") as lab:
        for number in range(40):
            lab.know(f"Rule {number:02}: call the part number {number:02} by its own name only.", days_ago=20)
            lab.clock.advance(1)
        text = "\n".join(start_lines(lab))
    assert "Rule 39" in text
    assert "Rule 00" not in text
