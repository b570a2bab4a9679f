"""What the `typed` preset learns: a decision of the agent's waits for the user, and one project or agent has settings of its own."""

from __future__ import annotations

from e2e.drivers.machine import wait_for
from presets.acceptance import acceptance

ASKED = "Should we use JWT or sessions?"
DECIDED = "I decided to use JWT with RS256 for authentication."


@acceptance("typed", "4.2-decision", "9.4-b")
def test_a_decision_of_the_agents_waits_until_the_user_accepts_it(typed):
    session = typed.session()
    session.start()
    session.say(ASKED)
    session.stops(DECIDED)
    session.end()

    def waiting():
        return [one["memory"] for one in typed.request("GET", "/v1/review")["review"]]

    wait_for(lambda: any("RS256" in one["content"] for one in waiting()))
    prompt = "How do people sign in to our service, with cookies or tokens?"
    assert "RS256" not in typed.session("before").start() + typed.ask_prompt(prompt, "before")
    (one,) = [one for one in waiting() if "RS256" in one["content"]]
    assert one["kind"] == "decision"
    typed.request("POST", "/v1/review", {"action": "accept", "ids": [one["id"]]})
    assert "[DEC]" in typed.session("after").start()
    assert "RS256" in typed.session("later").start()


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
