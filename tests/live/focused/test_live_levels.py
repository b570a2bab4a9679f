"""The levels of `focused` through hook client and daemon: one prompt, one store, and a memory only where the user asked for more."""

from __future__ import annotations

from e2e.drivers.session import Session
from live.focused.work import COMMIT_PROMPT, DECISIONS

OF_ANOTHER_SUBJECT = "Explain how a hash map works."


def test_a_memory_that_may_help_comes_at_eager_and_not_at_quiet(live):
    machine = live("recall: {level: quiet}")
    sessions = {level: Session(machine, level) for level in ("quiet", "eager")}
    for session in sessions.values():
        session.start()
    for content in DECISIONS:  # after the start pack
        machine.remember(content, kind="decision", when="")
    for level, session in sessions.items():
        with machine.setting("recall.level", level):
            lines = [line for line in session.say(COMMIT_PROMPT).splitlines() if line.startswith("- ")]
            assert len(lines) == (level == "eager")
            assert all("ticket number" in line for line in lines)
            assert session.say(OF_ANOTHER_SUBJECT) == ""
