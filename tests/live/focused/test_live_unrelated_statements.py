"""Statements that share words and speak of different things, through the command line, daemon and shipped model: all of them stay active.

Where the words look as if two could not both hold, `tacit review` may ask; nothing ends without an answer.
"""

from __future__ import annotations

STATEMENTS = (
    ("outcome", "Implemented `session delete` (task #015): `SessionDB.deleteSession` and the command remove the session's repo and its record."),
    ("guideline", "In a session repo, commit to the branch named after the session (e.g. `task#002`), never to `main`."),
    ("guideline", "Create new rules and new tasks in the main workspace, not in a session repo."),
)  # fmt: skip


def test_three_statements_on_one_subject_all_stay(live):
    machine = live("preset: focused")
    machine.wake()
    for kind, content in STATEMENTS:
        assert "replaces" not in machine.tacit("remember", "--kind", kind, content).stdout
    listed = {memory["content"].rstrip(".") for memory in machine.ask("list")["memories"]}
    assert listed == {content.rstrip(".") for _, content in STATEMENTS}
