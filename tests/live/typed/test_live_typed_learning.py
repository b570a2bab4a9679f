"""What the `typed` preset learns: a decision that the user states, and one project or agent has settings of its own."""

from __future__ import annotations

import time

from e2e.drivers.machine import wait_for
from presets.acceptance import acceptance


@acceptance("typed", "4.2-decision", "9.4-b")
def test_a_decision_that_the_user_states_is_stored_and_given(typed):
    session = typed.session()
    session.start()
    session.say("Should we use JWT or sessions?")
    session.stops("I decided to use JWT with RS256 for authentication.")
    session.say("We decided to use JWT with RS256 for authentication.")
    session.stops("Done.")
    session.end()
    (one,) = typed.learned("decision", status="active")
    assert "RS256" in one["content"]
    block = typed.session("next").start()
    assert "### Decision" in block
    assert "RS256" in block


@acceptance("typed", "4.2-preference")
def test_a_standard_and_a_style_are_learned_and_reports_are_not(typed):
    session = typed.session()
    session.start()
    for words in (
        "Our convention is one component per file.",
        "Always use single quotes in all modules.",
        "The style is missing on the buttons.",
        "Is our standard one class per module?",
        "The issue was a stale lock file; fixed by removing it.",
    ):
        session.say(words)
        session.stops("Noted.")
    session.end()
    wait_for(lambda: len(typed.stored()) == 2)
    stated = {one["content"]: one["kind"] for one in typed.stored() if one["kind"] != "digest"}
    assert stated == {
        "Our convention is one component per file": "fact",
        "Always use single quotes in all modules": "preference",
    }
    assert typed.request("GET", f"/v1/review?cwd={typed.project}")["review"] == []


@acceptance("typed", "4.2-error", "1.2-failure")
def test_a_fix_comes_at_the_next_failure_and_once_proven_everywhere(typed):
    error = "Exit code 1\nModuleNotFoundError: No module named 'shop.ledger'"

    def fixes(name):
        session = typed.session(name)
        session.start()
        session.say("Please run the tests of the ledger")
        session.runs("pytest tests/test_ledger.py", error)
        session.edited("pyproject.toml")
        session.runs("pytest tests/test_ledger.py")
        session.stops("They pass.")
        session.end()

    bug = "Please fix the bug in the ledger: pytest fails with No module named shop.ledger"
    fixes("first")
    (fix,) = typed.learned("error_pattern")
    assert "Fixed by editing pyproject.toml." in fix["content"]
    failed = typed.session("failed").runs("pytest -x", error)
    assert "editing pyproject.toml" in failed
    assert "[ERR]" in failed
    assert "pyproject.toml" not in typed.session("once").start() + typed.ask_prompt(bug, "once")
    fixes("second")
    wait_for(lambda: "### Error Pattern" in typed.session(f"twice{time.monotonic_ns()}").start())
    start = typed.session("twice").start()
    assert "editing pyproject.toml" in start[start.index("### Error Pattern") :]
    assert "editing pyproject.toml" in typed.ask_prompt(bug, "twice-bug")


@acceptance("typed", "6.1-capture")
def test_a_project_and_an_agent_have_settings_of_their_own_for_what_they_learn(typed_with):
    machine = typed_with("").in_project()
    rules_only = "capture: {kinds: [preference, correction, anti_pattern, guideline]}"
    agent = f"agents:\n  reviewer:\n    {rules_only}\n"
    machine.set(
        f"preset: focused\n{agent}projects:\n  {machine.project}:\n    preset: typed\n    {rules_only}\n"
    )
    said = ("We decided to keep orders in PostgreSQL.", "Always run `make lint` before every commit.")

    def told(name, **agent):
        session = machine.session(name)
        machine.start(session_id=session.name, **agent)
        for words in said:
            session.say(words)
            session.stops("Noted.")
        session.end()

    wait_for(lambda: machine.ask("config", "explain", "capture.importance")["value"] == "typed")
    told("one")
    (rule,) = machine.learned("preference")
    assert rule["importance"] == 1.0, "the importance of the preset of this project"
    assert not machine.stored(kind="decision")
    machine.in_project()
    told("two")
    machine.learned("decision")
    (rule,) = machine.learned("preference")
    assert rule["importance"] < 1.0
    machine.in_project()
    told("three", agent_type="reviewer")
    machine.learned("preference")
    assert not machine.stored(kind="decision"), "an agent has settings of its own as well"
