"""What `memory_context` answers in a session of `scoped`: in the order of the question, within scope, tokens and number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session
from live.scoped.driving import (
    NOTHING,
    ask,
    decisions,
    remember_at,
    scoped_machine,
    speaks,
)
from presets.acceptance import acceptance

RETRIES = "Invoice gateway retries: at most five attempts, thirty seconds apart"
DECISION = {"kind": "decision"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A Go repository whose memory holds 120 newer decisions about invoices, gateways and attempts, and one older answer."""
    with scoped_machine() as opened:
        speaks(opened.project, "main.go", "shop.go")
        remember_at(opened, 40, (RETRIES, DECISION))
        remember_at(opened, 2, *[(text, DECISION) for text in decisions(0, 20)])
        remember_at(
            opened,
            2,
            ("Wrap errors with %w", {"kind": "preference", "scope": "language:go"}),
            ("Never swallow an exception in tests", {"kind": "correction", "scope": "language:go"}),
            ("Type hints stand on public functions", {"kind": "preference", "scope": "language:python"}),
            ("Read a failing test before changing it", {"kind": "guideline", "scope": "universal"}),
            ("Errors of the importer name the file and the line", DECISION),
            ("Set a breakpoint in the tokenizer first", {"kind": "preference", "scope": "project:shop:task:debugging"}),
            ("Old invoices go to the cold store", {"kind": "preference", "scope": "project:shop"}),
        )  # fmt: skip
        yield opened


@pytest.fixture
def session(machine: Machine, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session that has begun, alone at work."""
    begun = Session(machine, request.node.name)
    begun.start()
    yield begun
    begun.end()


def found(answer: str) -> list[str]:
    """The memories of an answer, best first within each heading, without their ids."""
    found = [line[2:].rpartition(" (id ")[0] for line in answer.splitlines() if line.startswith("- ")]
    return [re.sub(r" \(\d{4}-\d{2}-\d{2}\)$", "", line) for line in found]


@acceptance("scoped", "MODE-2")
@pytest.mark.usefixtures("session")
def test_a_memory_is_found_by_meaning(machine: Machine) -> None:
    assert RETRIES in found(ask(machine, "how often do we try again when billing does not answer"))[:3]


@acceptance("scoped", "BUDGET-cap", "EMPTY", "COMPACTION", "EXIT-6", "EXIT-7")
def test_two_answers_a_session_and_an_empty_one_costs_nothing(machine: Machine) -> None:
    session = Session(machine, "two-answers")
    session.start()
    for question in ("weather in Lisbon", "symphonies by Mahler", "recipes for bread"):
        assert ask(machine, question).startswith(NOTHING)
    assert "memory" in ask(machine)  # what a new session gets: free
    assert found(ask(machine, "error handling"))
    assert found(ask(machine, "invoices"))
    assert "has had its 2 answers" in ask(machine, "refunds")
    session.start("compact")
    assert found(ask(machine, "refunds"))
    session.end()
    other = Session(machine, "another")
    other.start()
    assert found(ask(machine, "refunds"))
    other.end()
