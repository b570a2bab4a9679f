"""The levels of `focused` through hook client and daemon: one prompt, one store, and a memory only where the user asked for more."""

from __future__ import annotations

import pytest

from e2e.drivers.session import Session
from live.focused.work import COMMIT_PROMPT, DECISIONS

OF_ANOTHER_SUBJECT = "Explain how a hash map works."


@pytest.mark.parametrize(("level", "told"), [("quiet", 0), ("eager", 1)])
def test_a_memory_that_may_help_comes_at_eager_and_not_at_quiet(live, level, told):
    machine = live(f"recall: {{level: {level}}}")
    session = Session(machine, "s1")
    session.start()
    for content in DECISIONS:  # after the start pack
        machine.remember(content, kind="decision", when="")
    lines = [line for line in session.say(COMMIT_PROMPT).splitlines() if line.startswith("- ")]
    assert len(lines) == told
    assert all("ticket number" in line for line in lines)
    assert session.say(OF_ANOTHER_SUBJECT) == ""
