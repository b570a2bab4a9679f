"""Alerts of a shift: against this session's turns and the last two hours of work, told once, quoting what was left."""

from __future__ import annotations

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
