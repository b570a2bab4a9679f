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
