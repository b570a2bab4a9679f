"""What the `typed` preset learns: a decision that the user states, and one project or agent has settings of its own."""

from __future__ import annotations

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
