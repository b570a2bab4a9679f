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
