"""The words of a message that a person wrote. In: message text. Out: the words, or "" for a machine-made prompt.

Never keeps: our own injected blocks, host reminders, slash-command wrappers, task notifications, private spans.
"""

from __future__ import annotations

import re

from tacit.reading.prompts import machine_made
from tacit.safety.escape import strip_blocks
from tacit.text.lazy_regex import lazy_regex
from tacit.text.terminal_codes import strip_terminal_codes

_WRAPPED = (
    "system-reminder", "system_reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "command-name", "command-message", "command-args", "command-contents", "bash-input", "bash-stdout",
    "bash-stderr", "task-notification", "task_notification", "user-prompt-submit-hook", "hook_context",
    "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "private", "environment_context",
    "user_instructions", "environment_details", "attached_files", "additional_data",
)  # fmt: skip
_WRAPPER = lazy_regex(rf"<({'|'.join(_WRAPPED)})\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_REMINDER = lazy_regex(
    r"<(system[-_]reminder|hook_context)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_IN_TRANSCRIPTS = lazy_regex(
    r"\s*(?:API Error:|No response requested\.|Continue from where you left off\.$)", re.IGNORECASE
)
"""What hosts write into transcripts in a person's place; at a prompt these may be a person's own words."""
_REFUSED_SAID = lazy_regex(
    r"the user (?:said|provided the following reason)[^:]*:\s*(.+)", re.DOTALL | re.IGNORECASE
)
_REFUSED = (
    "doesn't want to proceed with this tool use",
    "tool use was rejected",
    "doesn't want to take this action",
)
_ASKS_BACK = "The user wants to clarify these questions"
_OWN_BLOCK = lazy_regex(
    r"^[^\n]*\bnotes(?: on record)?, not a message from the user\.[^\n]*(?:\n[^\S\n]*\S[^\n]*)*", re.MULTILINE
)
"""One of our blocks, pasted without its tags: its first line says what it is, and it goes on to the next empty line."""
_PLAN = lazy_regex(r"\s*Implement the following plan:\s*(?:#+\s*(?P<title>[^\n]+))?", re.IGNORECASE)
"""With these words a host hands the agent's own plan back to it; only the order is the user's."""
MAX_TEXT = 100_000
"""Most characters kept of one message: what lies behind is pasted matter."""


def clean_prompt(text: str) -> str:
    """The words of a user message, or "" when a program wrote it."""
    text = strip_terminal_codes(text[:MAX_TEXT])
    # A reminder may stand before a person's words; whatever else opens like a program's text is one throughout.
    bare = _REMINDER.sub("", text) if "<" in text else text
    if machine_made(bare) or _IN_TRANSCRIPTS.match(text):
        return ""
    words = _OWN_BLOCK.sub("", _clean(text)).strip()
    if plan := _PLAN.match(words):
        return f"Implement the following plan: {plan['title'].strip()}" if plan["title"] else words
    return words


def clean_reply(text: str) -> str:
    """The words of an assistant message."""
    return _clean(strip_terminal_codes(text[:MAX_TEXT]))


def _clean(text: str) -> str:
    words = strip_blocks(text.replace("\r\n", "\n"))
    return (_WRAPPER.sub("", words) if "<" in words else words).strip()


def refusal(error: str) -> tuple[bool, str]:
    """Whether a tool result says that the user refused the call, and the user's words in it, if any."""
    if not any(mark in error for mark in _REFUSED):
        return False, ""
    match = _REFUSED_SAID.search(error)
    words = clean_prompt(match.group(1)) if match else ""
    return True, "" if words.startswith(_ASKS_BACK) else words
