"""What a prompt gets: the memories of its topic under the seed's headings, within its tokens; a new topic is said to be one."""

from __future__ import annotations

import re
from collections import Counter

from e2e.drivers.machine import wait_for
from e2e.drivers.session import Session
from live.multispace.past import past_of
from presets.acceptance import acceptance
from tacit.providers.tokens import ExactCounter

HEADINGS = (
    "## Relevant Context",
    "### ⚠️ Note: Activity Shift Detected",
    "### Recent Related Work",
    "### Potentially Related",
    "### Session Context",
    "### Temporal Hints",
)
BUDGET = 1150
FLOW = "Designed authentication flow: login -> validate -> issue JWT -> store refresh token."
PASSWORDS = "Implemented password hashing using bcrypt with cost factor 12 and at least 12 characters."
PAINT = "The gallery stores watercolor paper flat and in the dark."
ASKED = "Implement authentication for the admin area: which login flow and which JWT do we have?"
CODES = "We decided to keep the codes in Redis, not in Postgres."
NOTHING = "No relevant memories found. This appears to be a new topic."
STEPS = (
    "the request is checked against the schema", "the account is looked up by its address",
    "the password is compared with its hash", "a locked account is refused with a hint",
    "the device is compared with the known ones", "an unknown device needs a second factor",
    "the second factor is a code of six digits", "the token is signed with the current key",
    "the refresh token is stored with its family", "the answer carries both tokens in cookies",
    "the event is written to the audit log", "the counter of failures is set to zero",
)  # fmt: skip


def headings(block):
    """Headings of a block in their order."""
    return [line for line in block.splitlines() if line.startswith("#")]


def lines(block):
    """Lines of memories."""
    return [line for line in block.splitlines() if line.startswith("- **[")]


@acceptance("multispace", "AC-P5-01-01", "AC-P5-04-01", "REQ-P5-04", "EC-P5-06", "VC-4")
def test_a_prompt_gets_the_memories_of_its_topic_under_the_seeds_headings(live):
    machine = live("preset: multispace")
    for text in (FLOW, PASSWORDS, PAINT, "JWT expires after an hour."):
        machine.remember(text, kind="fact", when="")
    block = Session(machine, "s1").say(ASKED)
    assert FLOW.replace(">", "&gt;") in block or FLOW in block
    assert "JWT expires after an hour." in block
    assert PAINT not in block
    assert headings(block) == [HEADINGS[0], *HEADINGS[2:4]]
    assert len(lines(block)) >= 2
    assert all(re.match(r"- \*\*\[\d{4}-\d\d-\d\d\]\*\* \S", line) for line in lines(block))


@acceptance("multispace", "AC-P5-01-02", "REQ-P5-02", "REQ-P5-07", "EC-P5-02", "EC-P5-05", "VC-2", "VC-6")
def test_many_long_memories_keep_to_the_tokens_and_are_cut_at_sentence_ends(live):
    machine = live("preset: multispace")
    with past_of(machine) as past:
        for number in range(2 * len(STEPS)):
            step = STEPS[number % len(STEPS)]
            rest = " ".join(f"After that {other}." for other in STEPS if other != step)
            past.state(
                f"In step {number} of the authentication login flow {step}. {rest}", days_ago=40 - number
            )
    block = Session(machine, "s1").say(ASKED)
    count = ExactCounter().count
    assert count(block) <= BUDGET
    reserved = sum(map(count, lines(block)))
    assert reserved <= 900, "400 and 300 of their own, and the 200 that no alert took"
    assert len(lines(block)) >= 6
    assert all(line.endswith("....") for line in lines(block)[:-1])
    assert all(count(line) <= 100 for line in lines(block))
    log = machine.home.log_file.read_text(encoding="utf-8")
    before, after = map(int, re.search(r"Truncated memory mem_\w+ from (\d+) to (\d+) tokens", log).groups())
    assert before > 100
    assert after <= 80


@acceptance("multispace", "EC-P5-01")
def test_a_new_topic_is_said_to_be_one_once_a_session(live):
    session = Session(live("preset: multispace"), "s1")
    session.start()
    assert NOTHING in session.say("Implement the catalogue page of violin strings")
    assert session.say("Implement the importer of sourdough recipes now") == ""
    assert NOTHING in Session(session.machine, "s2").say("Implement the book of chess openings")


@acceptance("multispace", "REQ-P5-06", "TC-P5-08", "VC-7")
def test_the_service_answers_with_all_nine_fields(live):
    machine = live("preset: multispace")
    for text in (FLOW, PASSWORDS, "JWT expires after an hour."):
        machine.remember(text, kind="fact", when="")
    body = {"text": ASKED, "session_id": "lib", "cwd": str(machine.project)}
    found = machine.request("POST", "/v1/inject", body)
    assert found["failure"] is None
    result = found["result"]
    assert set(result) == {
        "formatted_context", "total_tokens", "divergence_alerts", "high_relevance_count", "single_space_count",
        "session_summary_included", "temporal_badges", "memories_included", "latency_ms",
    }  # fmt: skip
    assert 0 < result["total_tokens"] <= BUDGET
    counts = (result["high_relevance_count"], result["single_space_count"])
    assert min(counts) > 0
    assert sum(counts) == len(result["memories_included"])


@acceptance("multispace", "REQ-P5-05")
def test_spaces_speak_when_they_should(live):
    """Each space on a memory that only it, or it above all, is right about."""
    machine = live("preset: multispace")
    cause = machine.remember(
        "Stale module mocks cause 'log.cli is not a function'. Import the logger first.",
        kind="error_pattern", when="",
    )["memory"]["id"]  # fmt: skip
    table = machine.remember("`src/db/ledger.py` writes every booking twice.", kind="fact", when="")[
        "memory"
    ]["id"]
    audit = machine.remember(
        "The audit of `src/db/ledger.py` runs on Sundays.", kind="fact", when=""
    )["memory"]["id"]  # fmt: skip
    session = Session(machine, "s1")
    session.say("The tests fail with 'log.cli is not a function', what is it?")
    assert scores_of(machine)[cause]["causal"] == 1.0
    session.say("Show me the documentation of the logger and of module mocks.")
    assert scores_of(machine).get(cause, {}).get("causal", 0.0) < 0.5
    session.say("Show me what log.cli does.")
    assert scores_of(machine)[cause]["causal"] == 0.0, "a name of the symptom shows no failure"
    Session(machine, "s2").say("Why does src/db/ledger.py hold bookings twice?")
    found = scores_of(machine)
    assert found[table]["entity"] > 0
    assert found[audit]["graph"] > 0
    assert found[table]["code"] > 0
    Session(machine, "s3").say("Whyy are boookings writen twise?")
    assert scores_of(machine)[table]["character"] > 0.1


def scores_of(machine):
    """Scores by memory and space of the last prompt; 0 in a space that says nothing."""
    (trace, *_) = machine.ask("why", "--surface", "prompt")["traces"]
    return {one["memory_id"]: Counter(dict(one["scores"])) for one in trace["candidates"]}


@acceptance("multispace", "REQ-P5-04", "FLOW")
def test_the_last_session_is_summed_up_and_says_no_decision_twice(live):
    machine = live("preset: multispace")
    first = Session(machine, "s1")
    first.start()
    first.say("Implement the user registration endpoint with email verification.")
    first.say(CODES)
    first.edited("src/registration.py")
    first.stops("The endpoint is in. Still open: resending the code after a minute.")
    first.end()
    wait_for(lambda: "digest" in {memory["kind"] for memory in machine.ask("list", "--all")["memories"]})
    block = Session(machine, "s2").say("Where do we keep the codes of the registration?")
    assert block.count(CODES.rstrip(".")) == 1
    assert headings(block) == [HEADINGS[0], HEADINGS[2], HEADINGS[4]]
    summary = block.split("### Session Context\n")[1]
    assert "Last session focused on src/registration.py." in summary
    assert "Open: resending the code after a minute." in summary
