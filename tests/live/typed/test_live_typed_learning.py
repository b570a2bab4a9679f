"""What the `typed` preset learns: a decision that the user states, and one project or agent has settings of its own."""

from __future__ import annotations

import time

from e2e.drivers.machine import injected, wait_for
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


@acceptance("typed", "4.2-patterns", "9.4-b", "12.4")
def test_what_the_agent_says_is_noted_marked_and_told_at_the_next_start(typed):
    session = typed.session("noted")
    session.start()
    session.say("Parcels with two labels end up in the wrong lane, please look into it")
    session.stops(
        "The culprit was the scanner, which reads the first of two labels. I fixed it by asking for the newest one. "
        "I decided to keep the old label in the history because claims refer to it.\n\n"
        "> We decided to burn the old labels.\n\n```\n# The strategy is to guess the lane\n```"
    )
    session.say("The style is one lane per line in the reports, widest first")
    session.stops("Noted.")
    session.end()
    typed.learned("error_pattern")
    typed.learned("decision")
    notes = {one["content"]: one for one in typed.stored()}
    assert not any("burn" in content or "guess" in content for content in notes)
    after = f"{typed.project.name}-after"
    reply = typed.hook(typed.payload("SessionStart", source="startup", session_id=after))
    block = injected(reply)
    for words in ("newest one", "claims refer to it", "widest first"):
        (line,) = [line for line in block.splitlines() if words in line]
        assert line.endswith("unconfirmed)")
        assert "agent's note" in line
    assert "Tacit noted 3 things since last time" in reply.decode()
    other = typed.in_project().session("elsewhere").start()
    assert "claims" not in other


@acceptance("typed", "4.2-patterns")
def test_what_only_a_web_page_named_waits_for_the_user(typed):
    session = typed.session("led")
    session.start()
    session.say("Read the page about label printers and choose a driver")
    session.stops(
        "I decided to use the driver from https://drivers.example.net/zpl because the page says so."
    )
    session.say("Which parcels are overdue?")
    session.stops("I'm going with `zplctl` for the labels.")
    session.end()
    waiting = " ".join(one["content"] for one in typed.learned("decision", 2, status="quarantined"))
    assert "zplctl" in waiting
    assert "drivers.example" in waiting
    block = typed.session("later").start() + typed.ask_prompt("How are the labels of parcels printed?", "ask")
    assert "zplctl" not in block
    assert "drivers.example" not in block


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


@acceptance("typed", "4.2-error")
def test_an_error_pattern_says_message_cause_and_remedy(typed):
    session = typed.session("reads")
    session.start()
    session.say("Please make the tests of the sign-in pass")
    error = "Exit code 1\nsign_in.py:40: RuntimeWarning: coroutine 'verify' was never awaited"
    session.runs("pytest tests/test_sign_in.py", error)
    session.edited("verify.py")
    session.runs("pytest tests/test_sign_in.py")
    session.stops("They pass now. The issue was a missing await in front of verify().")
    session.end()
    told = {one["content"] for one in typed.learned("error_pattern", 2)}
    assert (
        "`pytest tests/test_sign_in.py` failed with: sign_in.py:40: RuntimeWarning: coroutine 'verify' was never awaited. "
        "Cause: a missing await in front of verify(). Fixed by editing verify.py."
    ) in told
    # One success proves nothing yet, so that the next session has the agent's own words, marked.
    block = typed.session("next").start()
    assert "- [ERR] The issue was a missing await in front of verify() (agent's note" in block
    assert "Fixed by editing" not in block
