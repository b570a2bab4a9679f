"""What a prompt gets: the memories of its topic under the seed's headings, within its tokens; a new topic is said to be one."""

from __future__ import annotations

import re

from e2e.drivers.session import Session
from presets.acceptance import acceptance

HEADINGS = (
    "## Relevant Context",
    "### ⚠️ Note: Activity Shift Detected",
    "### Recent Related Work",
    "### Potentially Related",
    "### Session Context",
    "### Temporal Hints",
)
FLOW = "Designed authentication flow: login -> validate -> issue JWT -> store refresh token."
PASSWORDS = "Implemented password hashing using bcrypt with cost factor 12 and at least 12 characters."
PAINT = "The gallery stores watercolor paper flat and in the dark."
ASKED = "Implement authentication for the admin area: which login flow and which JWT do we have?"


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
