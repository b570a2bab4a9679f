"""What the `typed` preset hands over, through hook client and daemon with the shipped model."""

from __future__ import annotations

from e2e.drivers.machine import wait_for
from presets.acceptance import acceptance


@acceptance("typed", "6.1-config", "NAMES")
def test_the_configuration_of_the_design_is_pasted_as_it_stands(typed_with):
    """Section 6.1, with other numbers and one switch off."""
    machine = typed_with("").in_project()
    machine.set(
        """
preset: typed
memory:
  injection:
    enabled: true
    session_start: {enabled: true, budget_tokens: 1900}
    per_prompt: {enabled: true, budget_tokens: 700, min_relevance_score: 0.40}
    error_context: {enabled: false, budget_tokens: 300}
    learning_capture:
      enabled: true
      capture_decisions: false
      capture_preferences: true
      capture_errors: true
      capture_outcomes: false
      deduplication_threshold: 0.85
    types:
      - preference
      - decision
    isolation: {enabled: true, share_preferences: false}
"""
    )
    wait_for(lambda: machine.ask("config", "get", "recall.budgets")["recall.budgets.failure"] == 0)
    assert machine.ask("config", "get", "recall.budgets.prompt") == {"recall.budgets.prompt": 700}
    session = machine.session("pasted")
    machine.start(session_id=session.name)
    session.say("We decided to keep parcels in PostgreSQL.")
    session.say("Always weigh a parcel twice before it is billed.")
    session.edited("src/parcels.py")
    session.stops("Noted.")
    session.end()
    machine.learned("preference")
    assert {one["kind"] for one in machine.stored()} <= {"preference", "anti_pattern", "guideline"}
    assert {"inject_context", "get_context_for_task"} <= machine.listed_tools()
    refused = machine.said("config", "set", "session_start.budget_tokens", "1200", code=3)
    assert "`recall.budgets.start`" in refused


@acceptance("typed", "6.1-share", "7.1-public")
def test_shared_preferences_and_what_is_public_come_in_another_project(typed_with):
    machine = typed_with("memory: {injection: {isolation: {share_preferences: true}}}\n").in_project()
    session = machine.session("told")
    session.start()
    session.say("Never round a weight before the price is known.")
    session.say("We decided to bill parcels by the kilogram.")
    session.stops("I decided to keep weights in grams because scales report grams.")
    session.end()
    machine.learned("anti_pattern")
    machine.learned("decision", 2)
    machine.know("decision", "The carrier's hotline answers until six", sensitivity="public")
    machine.know(
        "preference", "The carrier's account is shown to accountants alone", sensitivity="restricted"
    )
    start = machine.in_project().session("here").start()
    assert "Never round a weight" in start
    assert "until six" in start
    for private in ("kilogram", "grams", "accountants"):
        assert private not in start
    assert "round a weight" in machine.ask_prompt("How exact are the weights before they are priced?")
    machine.set("preset: typed\n")
    wait_for(lambda: machine.ask("config", "get", "project.others") == {"project.others": "public"})
    start = machine.in_project().session("apart").start()
    assert "round a weight" not in start
    assert "until six" in start
