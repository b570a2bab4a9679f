"""What `memory_context` answers in a session of `scoped`: in the order of the question, within scope, tokens and number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session
from live.scoped.driving import (
    FORMS,
    NOTHING,
    ask,
    decisions,
    lines,
    remember_at,
    scoped_machine,
    speaks,
    tokens,
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
def test_the_memory_that_was_asked_for_comes_first(machine: Machine) -> None:
    answer = ask(machine, "how many attempts do invoice gateway retries have")
    assert found(answer)[0] == RETRIES
    assert tokens(answer) <= 520  # with the line that says how many more there are


@acceptance("scoped", "MODE-2")
@pytest.mark.usefixtures("session")
def test_a_memory_is_found_by_meaning(machine: Machine) -> None:
    assert RETRIES in found(ask(machine, "how often do we try again when billing does not answer"))[:3]


@acceptance("scoped", "BUDGET-query", "EXIT-2")
@pytest.mark.usefixtures("session")
def test_an_answer_keeps_to_the_tokens_of_each_scope(machine: Machine) -> None:
    answer = ask(machine, "error handling in tests of orders, refunds and invoices")
    for heading, budget in (
        ("### Universal Rules", 150),
        ("### Go Preferences", 150),
        ("### Shop Decisions", 200),
    ):
        assert 0 < tokens("\n".join(lines(answer, heading))) <= budget
    assert tokens(answer) <= 520


@acceptance("scoped", "TOOL")
@pytest.mark.usefixtures("session")
def test_a_scope_in_any_case_and_a_category_narrow_an_answer(machine: Machine) -> None:
    assert found(ask(machine, scope="language:GO", category="preference")) == ["Wrap errors with %w"]
    assert found(ask(machine, "what do I do about a broken test", category="rule")) == [
        "Read a failing test before changing it"
    ]


@acceptance("scoped", "TASK-scope", "DETECT-task")
@pytest.mark.usefixtures("session")
def test_a_task_is_seen_where_it_is_at_hand(machine: Machine) -> None:
    hint = "Set a breakpoint in the tokenizer first"
    assert hint not in machine.start()
    assert hint in found(ask(machine, "fix the bug: the parser crashes on an empty line"))
    assert hint in found(ask(machine, "where to stop the parser", scope="project:shop:task:debugging"))


@acceptance("scoped", "TOOL", "DETECT-project")
@pytest.mark.usefixtures("session")
def test_what_was_remembered_for_a_project_by_its_name_is_found_in_it(machine: Machine) -> None:
    assert "Old invoices go to the cold store" in found(
        ask(machine, "where do we archive bills", scope="project:shop")
    )


@acceptance("scoped", "BUDGET-cap", "EMPTY", "COMPACTION", "EXIT-6", "EXIT-7")
def test_two_answers_a_session_and_an_empty_one_costs_nothing(machine: Machine) -> None:
    session = Session(machine, "two-answers")
    session.start()
    for question in ("weather in Lisbon", "symphonies by Mahler", "recipes for bread"):
        assert ask(machine, question) == NOTHING
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


@acceptance("scoped", "BUDGET-cap", "COMPACTION", "EXIT-7")
def test_the_session_cap_counts_what_the_context_holds_and_cuts_an_answer() -> None:
    settings = "preset: scoped\nrecall: {scoped: {session_tokens: 900, answers_per_session: 9}}"
    with scoped_machine(settings) as machine:
        remember_at(machine, 2, *[(text, DECISION) for text in decisions(0, 20, FORMS[:4])])
        session = Session(machine, "capped")
        given = tokens(session.start())
        answers: list[str] = []
        for topic in ("orders", "metrics", "coupons", "webhooks", "tokens", "emails"):
            answers.append(ask(machine, f"{topic} in a batch"))
            if "has had its 900 tokens" in answers[-1]:
                break
        assert "has had its 900 tokens" in answers.pop()
        assert (
            700 < given + sum(map(tokens, answers)) <= 900 + 100
        )  # the frames of the blocks are not counted
        session.start("compact")
        assert found(ask(machine, "refunds in a batch"))
