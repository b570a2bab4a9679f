"""What use teaches `focused`, through hook client, daemon and transcripts: a memory that sessions were given and never used stays silent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.session import Session
from live.focused.work import COMMIT_PROMPT, DECISIONS

SETTINGS = "recall: {budgets: {start: 0}}"
SESSIONS = 6


def _day(machine: Machine, memory_id: str, *, useful: bool = False, says: str = "") -> list[bool]:
    """Whether the memory was given, session by session; the transcripts show no use of it, only that the agent `says` something."""
    given: list[bool] = []
    for number in range(SESSIONS):
        session = Session(machine, f"s{number}")
        if says:  # it comes after what the session was given, and at a time of its own
            session.began = datetime.now(UTC) + timedelta(minutes=1 + number)
        session.start()
        given.append("ticket number" in session.say(COMMIT_PROMPT))
        session.stops(says or "Done.")
        session.end()
        shown = sum(given)
        wait_for(lambda shown=shown: _counts(machine, memory_id)[0] >= shown)
        if useful and given[-1]:
            machine.request("POST", "/v1/feedback", {"id": memory_id, "useful": True})
    return given


def _counts(machine: Machine, memory_id: str) -> tuple[int, int]:
    memory = machine.request("GET", f"/v1/memories/{memory_id}")["memory"]
    return memory["shown_count"], memory["use_count"]


def _stored(live) -> tuple[Machine, str]:
    machine = live(SETTINGS)
    changes = [machine.remember(content, kind="decision", when="") for content in DECISIONS]
    return machine, changes[0]["memory"]["id"]


def test_a_memory_that_was_never_used_stays_silent_in_the_end(live):
    machine, memory_id = _stored(live)
    given = _day(machine, memory_id)
    assert given[0]
    assert not given[-1]
    assert _counts(machine, memory_id)[1] == 0
