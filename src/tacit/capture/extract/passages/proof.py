"""Whether a success followed what the agent said, before the user said anything. In: its words, its tool calls. Out: yes or no.

A success proves how things are, never how they shall be: rules and decisions need the user. It is a command that had failed
before and now succeeds, or a check (tests, a build, a linter) that passes, and no later check fails. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.capture.turn import ToolUse
from tacit.model.kinds import BUILTIN_KINDS
from tacit.reading.commands import command_actions, main_command

CHECKS = frozenset({"run_tests", "run_lint_build"})
_HEAD_CHARS = 60


def proved(span: str, kind: str, tools: Sequence[ToolUse]) -> bool:
    """Whether `tools`, in their order, prove the words `span` of the turn that made them; words said last prove nothing."""
    if not BUILTIN_KINDS.of_stored(kind).provable:
        return False
    head = _flat(span)[:_HEAD_CHARS]
    first = next((place for place, use in enumerate(tools) if head in _flat(use.said)), None)
    if first is None:
        return False
    outcome = False
    failed = {use.command for use in tools[:first] if use.failed}
    for use in tools[first:]:
        if use.tool != "bash" or not use.finished:
            continue
        if use.failed:
            failed.add(use.command)
            outcome = outcome and not _is_check(use.command)
        elif use.command in failed or _is_check(use.command):
            outcome = True
    return outcome


def _is_check(command: str) -> bool:
    return command_actions(main_command(command))[0][0] in CHECKS


def _flat(text: str) -> str:
    return " ".join(text.split())
