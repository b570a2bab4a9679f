"""What a subagent of Claude Code gets: the task comes from the call of its parent, the policy from the settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent import Agent
from tacit.app.evidence import sum_of, terms_text
from tacit.app.reasons import in_words
from tacit.app.values import Caller
from tacit.model.pack import Surface
from tacit.recall.pipelines.subagent import REASONS
from tacit.recall.render import INDEX_OPENING
from tacit.session.transitions import AGENT_MARK
from unit.app.test_app_engine import quiet

RULE = "Run `make lint` before every commit."
PINNED = "Answer in short sentences."
FACT = "The parser of invoices reads a page at a time; repair it there."
TASK = "Repair the parser of invoices that reads a page at a time, and run `make lint` before every commit."


class Parent(Agent):
    """A session that starts subagents."""

    def delegates(self, number, task, **kind):
        self.tool("PreToolUse", "Agent", f"t{number}", description="work", prompt=task, **kind)

    def starts(self, name, agent_type="general-purpose"):
        return self.send("SubagentStart", agent_id=name, agent_type=agent_type)


@pytest.fixture
def parent(make_engine, place):
    engine = quiet(make_engine)
    engine.remember(RULE, cwd=str(place))
    return Parent(engine, place)


def test_the_call_of_the_parent_tells_the_task(parent):
    parent.start()
    assert RULE not in parent.starts("a0")
    parent.delegates(1, TASK)
    assert RULE in parent.starts("a1")
    assert RULE not in parent.starts("a2"), "the task was given to one"


def test_a_task_goes_to_the_type_that_it_was_meant_for_oldest_first(parent):
    parent.start()
    parent.delegates(1, "List the files.", subagent_type="Explore")
    parent.delegates(2, TASK, subagent_type="Explore")
    assert RULE not in parent.starts("a1", "general-purpose")
    assert RULE not in parent.starts("a2", "Explore")
    assert RULE in parent.starts("a3", "Explore")


def test_a_task_that_was_never_taken_up_ends_with_the_turn(parent):
    parent.start()
    parent.delegates(1, TASK)
    parent.prompt("Leave it, look at the colors.")
    assert RULE not in parent.starts("a1")


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ({}, {RULE, PINNED, FACT}),
        ({"Explore": "none"}, {RULE, PINNED, FACT}),
        ({"*": "lean"}, {RULE, PINNED}),
        ({"*": "none", "general-purpose": "lean"}, {RULE, PINNED}),
        ({"*": "none"}, set()),
    ],
)
def test_the_settings_say_what_a_type_gets(make_engine, place, policies, expected):
    engine = make_engine(recall={"budgets": {"start": 0}, "subagents": policies})
    for text in (RULE, "Keep the invoices of a year in one folder.", "Never delete invoices by hand."):
        engine.remember(text, kind="preference", cwd=str(place))
    engine.remember(PINNED, kind="preference", when="always", pinned=True, cwd=str(place))
    engine.remember(FACT, kind="fact", cwd=str(place))
    parent = Parent(engine, place)
    parent.start()
    parent.delegates(1, TASK)
    text = parent.starts("a1")
    assert {one for one in (RULE, PINNED, FACT) if one in text} == expected
    lines = sum(line.startswith("- ") for line in text.splitlines())
    assert lines <= (2 if "lean" in policies.values() else 8)


def test_what_adds_up_to_the_relevance_for_a_task_is_told_in_points(parent):
    parent.engine.remember(FACT, kind="fact", cwd=str(parent.cwd))
    parent.start()
    parent.delegates(1, TASK)
    given = parent.starts("a1")
    (trace,) = parent.engine.why(surface=Surface.SUBAGENT)
    shown = {one.content: one for one in in_words(trace).candidates}
    for text in (RULE, FACT):
        assert (sum_of(shown[text].evidence) >= 100) == (text in given)
    assert {part.name for part in shown[FACT].evidence} == set(REASONS)
    assert "meaning +" in terms_text(shown[FACT].evidence)
    assert "near in meaning" in shown[FACT].reasons
    best = max(sum_of(one.evidence) for one in shown.values() if one.memory_id in trace.injected)
    assert f"reached {best} points" in in_words(trace).sentence
    known = replace(trace, injected=(shown[FACT].memory_id,))  # the context held the other one
    assert f"it reached {sum_of(shown[FACT].evidence)} points" in in_words(known).sentence


LONG = (
    "The {} in the yard is read by the night job, and its counts go to the ledger of the {} team, because it is closed on the first"
    " day of each month."
)


def listed(text):
    """The lines of an index in a block, without their ids."""
    _, _, lines = text.partition(INDEX_OPENING)
    return [line.partition(" ")[2] for line in lines.splitlines() if line and not line.startswith("<")]


def in_the_yard(make_engine, place, **recall):
    """A session whose store is about a yard; subagents get nothing whole."""
    engine = make_engine(recall={"budgets": {"start": 0, "subagent": 40}, **recall})
    for words in (("truck scale", "billing"), ("gate camera", "customs"), ("label printer", "parcel")):
        engine.remember(LONG.format(*words), kind="fact", cwd=str(place))
    parent = Parent(engine, place)
    parent.start()
    return parent


def test_what_suits_the_task_stands_there_as_headlines_best_first(make_engine, place):
    parent = in_the_yard(make_engine, place)
    parent.delegates(1, "Repair the label printer of the parcel team.")
    first, *_ = listed(parent.starts("a1"))
    assert first.startswith("The label printer in the yard")
    parent.delegates(2, "Move the gate camera; the customs team wants it.", subagent_type="Explore")
    first, *_ = listed(parent.starts("a2", "Explore"))
    assert first.startswith("The gate camera in the yard")
    assert not parent.starts("a3"), "without a task nothing suits it"


@pytest.mark.parametrize(
    "recall",
    [{"subagents": {"*": "lean"}}, {"budgets": {"start": 0, "subagent": 40, "index": 0}}],
    ids=["lean", "no index"],
)
def test_no_headlines_where_the_settings_want_none(make_engine, place, recall):
    parent = in_the_yard(make_engine, place, **recall)
    parent.delegates(1, "Repair the label printer of the parcel team.")
    assert not parent.starts("a1")


@pytest.mark.parametrize(("agent", "told"), [("general", True), ("explore", False)])
def test_a_subagent_that_cannot_call_mcp_tools_gets_no_headlines(make_engine, place, agent, told):
    engine = in_the_yard(make_engine, place).engine
    started = {
        "event": "session.start", "id": "e1", "sessionID": "s2", "parentID": "s1", "directory": str(place), "agent": agent,
        "text": "Repair the label printer of the parcel team.",
    }  # fmt: skip
    reply = engine.hook("opencode", started, deadline_ms=5000)
    assert ("The label printer in the yard" in reply) is told


def test_what_a_subagent_fetches_stands_in_its_own_context(make_engine, place):
    parent = in_the_yard(make_engine, place)
    parent.delegates(1, "Repair the label printer of the parcel team.")
    parent.starts("a1")
    given = {"ids": ["abcd"]}
    for agent, name in (({"agent_id": "a1"}, f"s1{AGENT_MARK}a1"), ({}, "s1")):
        parent.send(
            "PreToolUse", tool_name="mcp__tacit__memory_get", tool_use_id="t9", tool_input=given, **agent
        )
        caller = parent.engine.agents.in_its_session(Caller(cwd=str(place)), "memory_get", given.get)
        assert caller.session is not None
        assert caller.session.session_id == name
