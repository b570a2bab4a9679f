"""Rules that name their moment, through hook client and daemon: each arrives with the call it names, a prohibition before it.

The rules are stored after the sessions began: a small store fits into a start pack, and would never be asked for.
"""

from __future__ import annotations

from e2e.drivers.machine import Machine
from live.focused.work import Told, Work

LINT = "Run `make lint` before every commit."
PUSH = "Never push to main."
CODEGEN = "Run `npm run codegen` after changing anything under proto/."
LEDGER = "Amounts in src/ledger/ are integers in cents."
BACKFILL = "Always pass --dry-run first when you run scripts/backfill.py."
ISSUE = "Before you open a GitHub issue, look for a closed one with the same title."
RULES = (LINT, PUSH, CODEGEN, LEDGER, BACKFILL, ISSUE)

AT_THE_CALL = {
    "before every commit": (LINT, "Looks right. Wrap it up.", "Bash", {"command": "git add -A && git commit -m 'Cache the token'"}),
    "after changing": (CODEGEN, "The customer needs a nickname.", "Edit", {"file_path": "proto/customer.proto", "old_string": "1;", "new_string": "2;"}),
    "a path": (LEDGER, "The discount is subtracted twice.", "Edit", {"file_path": "src/ledger/discount.py", "old_string": "a", "new_string": "b"}),
    "a command": (BACKFILL, "The old accounts still have no region.", "Bash", {"command": "python scripts/backfill.py --all"}),
    "a tool": (ISSUE, "That is a bug of the parser. Report it.", "mcp__github__create_issue", {"title": "Crash on empty rows"}),
}  # fmt: skip


def told(text: str) -> list[str]:
    """The rules in a block, in order."""
    return [rule for rule in RULES if rule in text]


def begin(machine: Machine, *names: str, rules: tuple[str, ...] = RULES) -> list[Work]:
    """Sessions that began before `rules` were stored."""
    sessions = [Work(machine, name) for name in names]
    assert [session.start() for session in sessions] == [""] * len(names)
    for rule in rules:
        machine.remember(rule, when="")
    return sessions


def test_a_rule_arrives_with_the_call_that_it_names_once_per_context(live):
    rules = tuple(rule for rule in RULES if rule != PUSH)
    # Without a start pack, only what the summary dropped comes after a compaction.
    machine = live("preset: focused\nrecall: {budgets: {start: 0}}")
    sessions = begin(machine, *AT_THE_CALL, rules=rules)
    for session, (rule, prompt, tool, given) in zip(sessions, AT_THE_CALL.values(), strict=True):
        assert told(session.say(prompt)) == [], prompt
        assert told(session.calls(tool, **given).starts) == [rule], rule
        assert session.calls(tool, **given) == Told(""), f"again: {rule}"
        assert told(session.start("compact")) == [rule], f"after a compaction: {rule}"
