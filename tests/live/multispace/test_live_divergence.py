"""Alerts of a shift: against this session's turns and the last two hours of work, told once, quoting what was left."""

from __future__ import annotations

import pytest

from e2e.drivers.session import Session
from presets.acceptance import acceptance

SHIFT = "### ⚠️ Note: Activity Shift Detected"
ALERT = "⚠️ DIVERGENCE DETECTED"
WORK = (
    "Let SessionDB keep the creation date of every session record.",
    "Write a migration in SessionDB for session records without that date.",
    "Show the creation date when the session records are listed.",
    "Sort listed session records by their creation date.",
)
TERRAFORM = (
    "Terraform module for an AWS VPC with two public subnets.",
    "Give the VPC module outputs for the ids of its public subnets.",
    "Route the private subnets of the VPC through a NAT gateway.",
)
LOGIN = (
    "The login form locks an account after five wrong passwords.",
    "A locked login account opens again after fifteen minutes.",
    "Login sessions are kept in Redis for one day.",
    "The login page sends its form to /api/login.",
    "Two-factor login codes are six digits long.",
)
RULES = """# Shop

- Dates are ISO 8601 in UTC.
- Money is an integer number of cents.
- Tests live beside the module that they test.
- Names of tables are plural nouns.
- Logs are written as JSON, one line for each event.
- Every public function has a docstring.
- Feature flags are removed after two releases.
"""


@acceptance("multispace", "AC-P5-02-01", "AC-P5-02-02", "REQ-P5-03", "VC-3")
def test_a_shift_from_the_turns_of_this_session_is_told_once_at_the_top(live):
    session = Session(live("preset: multispace"), "s1")
    session.start()
    assert not [block for block in map(session.say, WORK) if SHIFT in block]
    first, *later = map(session.say, TERRAFORM)
    lines = first.splitlines()
    assert lines[2:5] == ["## Relevant Context", SHIFT, ALERT]
    quoted = [line for line in lines if line.startswith("Recent activity in Semantic space")]
    assert len(quoted) == 1
    assert any(words[:40] in quoted[0] for words in WORK)
    assert 1 <= first.count(ALERT) <= 3
    assert not [block for block in later if SHIFT in block]


@acceptance("multispace", "AC-P5-02-01", "EC-P5-03")
def test_a_shift_from_what_was_stated_in_the_last_two_hours_is_told_once(live):
    machine = live("preset: multispace")
    for statement in LOGIN:
        machine.remember(statement, kind="fact", when="")
    session = Session(machine, "s1")
    session.start()
    first, *later = map(session.say, TERRAFORM)
    quoted = [line for line in first.splitlines() if line.startswith("Recent activity in")]
    assert 1 <= len(quoted) <= 3
    assert all(any(statement[:30] in line for statement in LOGIN) for line in quoted)
    assert not [block for block in later if SHIFT in block]


@acceptance("multispace", "AC-P5-02-02")
def test_imported_rules_are_no_activity(live):
    machine = live("preset: multispace")
    (machine.project / "CLAUDE.md").write_text(RULES, encoding="utf-8")
    machine.tacit("init", "--yes")
    assert len(machine.contents()) >= 5
    session = Session(machine, "s1")
    session.start()
    assert not [block for block in map(session.say, TERRAFORM) if SHIFT in block]


@pytest.mark.parametrize("said", ["Yes, go on.", "commit this"])
@acceptance("multispace", "AC-P5-02-02")
def test_a_short_word_is_no_shift(live, said):
    session = Session(live("preset: multispace"), "s1")
    session.start()
    for words in WORK[:3]:
        session.say(words)
    assert SHIFT not in session.say(said)
