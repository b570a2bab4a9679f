"""Prompts that no person wrote. In: the text of a prompt, or where a host says it comes from. Out: yes or no.

The one list that hosts, recall, the situation's reader and capture share. Hosts put notices, command wrappers and summaries
where a person's words stand; each has a fixed opening (seen in Claude Code, OpenCode and Gemini CLI). Looks at the opening
only: what a person pastes further down is theirs.
"""

from __future__ import annotations

import re

PROGRAM_SOURCES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})
"""What Claude Code says of a prompt that it made itself (`source`, `promptSource`, `turnOrigin`)."""
LOOKED_AT_CHARS = 400
_OPENING = re.compile(
    r"\s*(?:"
    r"<(?:task[-_]notification|system[-_]reminder|hook_context|command-(?:name|message|args|contents)|local-command"
    r"|bash-(?:input|stdout|stderr)|user-memory-input|teammate-message)\b"
    r"|\[(?:Request interrupted|SYSTEM NOTIFICATION|SUGGESTION MODE)"
    r"|Caveat: The messages below were generated"
    r"|This session is being continued from a previous conversation"
    r"|Stop hook feedback"
    r"|Base directory for this skill:"
    r"|/tacit\b"  # our own commands are for Tacit, not for the agent
    r")",
    re.IGNORECASE,
)


def machine_made(text: str) -> bool:
    """Whether a program wrote `text`, judged by how it begins."""
    return _OPENING.match(text[:LOOKED_AT_CHARS]) is not None
