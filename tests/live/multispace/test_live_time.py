"""Hints of time and age: days of the user's own clock, rhythms of several days, and what is old is lowered, not lost."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from e2e.drivers.session import Session
from live.multispace.past import past_of
from presets.acceptance import acceptance

ZONES = ("Asia/Tokyo", "America/Los_Angeles", "Pacific/Auckland")
PARTS = (
    (5, "at night"),
    (12, "in the morning"),
    (17, "in the afternoon"),
    (22, "in the evening"),
    (24, "at night"),
)
TOPIC = "Rotation of the refresh tokens of the mobile app"
PROMPT = "Implement the rotation of refresh tokens of the mobile app: revoke the old token on each use."
SAME_TIME = "- Same time of day as previous work on"


def part_in(zone):
    """The part of the day that it is in `zone`."""
    hour = datetime.now(tz=zone).hour
    return next(name for end, name in PARTS if hour < end)


@acceptance("multispace", "REQ-P5-09", "TC-P5-09", "VC-8")
def test_hints_speak_of_the_users_own_clock_and_of_rhythms(live):
    machine = live("preset: multispace")
    zone = next(name for name in ZONES if part_in(ZoneInfo(name)) != part_in(UTC))
    machine.environ["TZ"] = zone
    with past_of(machine) as past:
        for days_ago, what in (
            (21, "revokes the old one"),
            (14, "allows one grace call"),
            (7, "logs the device"),
        ):
            past.state(f"{TOPIC} {what}.", days_ago=days_ago)
    hints = Session(machine, "s1").say(PROMPT).split("### Temporal Hints\n")[1]
    assert SAME_TIME in hints
    assert f"{part_in(ZoneInfo(zone))}\n" in hints
    assert f"{part_in(UTC)}\n" not in hints


@acceptance("multispace", "REQ-P5-09")
def test_one_coincidence_is_no_rhythm(live):
    machine = live("preset: multispace")
    with past_of(machine) as past:
        past.state(f"{TOPIC} revokes the old one.", days_ago=14)
        past.state(f"{TOPIC} allows one grace call.", days_ago=8.4)
    block = Session(machine, "s1").say(PROMPT)
    assert "revokes the old one" in block
    assert SAME_TIME not in block


@acceptance("multispace", "REQ-P5-09", "TC-P5-09")
def test_yesterdays_session_is_named_where_the_prompt_goes_on_with_it(live):
    machine = live("preset: multispace")
    with past_of(machine) as past:
        past.hook("SessionStart", days_ago=1.01, session="y1", source="startup")
        said = f"Remember that the {TOPIC[0].lower()}{TOPIC[1:]} revokes the old token."
        past.hook("UserPromptSubmit", days_ago=1.009, session="y1", prompt=said)
        past.state("The wine cellar is kept at twelve degrees.", days_ago=0.5)
    session = Session(machine, "s1")
    assert "yesterday" not in session.say("Which temperature does the wine cellar need?")
    assert "- Continuation from yesterday's session" in session.say(PROMPT)


@acceptance("multispace", "REQ-P5-09")
def test_a_file_that_another_session_just_edited_is_recent_activity(live):
    machine = live("preset: multispace")
    machine.remember(f"{TOPIC} revokes the old one.", kind="fact", when="")
    other = {"session_id": "other", "tool_name": "Edit", "tool_use_id": "t1"}
    edited = {
        "tool_input": {"file_path": str(machine.project / "src/auth.rs")},
        "tool_response": {"success": True},
    }
    machine.hook(machine.payload("SessionStart", session_id="other", source="startup"))
    machine.hook(machine.payload("PostToolUse", **other, **edited))
    assert "- Recent activity (within last hour): src/auth.rs" in Session(machine, "s1").say(PROMPT)


@acceptance("multispace", "REQ-P5-01", "REQ-P5-08", "AC-P5-03-01")
def test_an_old_outcome_is_lowered_but_not_left_out(live):
    machine = live("preset: multispace")
    old = "Tried the rotation of refresh tokens in the browser app."  # the nearer of the two
    new = "Implemented the rotation of refresh tokens with a table of token families."
    with past_of(machine) as past:
        past.state(old, days_ago=97, kind="outcome")
        past.state(new, days_ago=0.5, kind="outcome")
    block = Session(machine, "s1").say(PROMPT)
    assert old in block
    assert new in block.partition(old)[0]
