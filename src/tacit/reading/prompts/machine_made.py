"""Prompts that no person wrote, and commands to Tacit. In: the text of a prompt. Out: yes or no; a command.

The one list that hosts, recall, the situation's reader and capture share. Hosts put notices, command wrappers and summaries
where a person's words stand; each has a fixed opening (seen in Claude Code, OpenCode and Gemini CLI). Looks at the opening
only: what a person pastes further down is theirs.

`typed_command` reads the commands to Tacit that the user types as a prompt. Only a prompt that is the command counts, on one line: a
text that was pasted may hold such a line. Commands that need no authority of the user (`wrong`, `why`, `off`) are left to the agent
that the host asks to run them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

_PROGRAM_SOURCES = frozenset({"system", "loop_wakeup", "schedule_wakeup", "poll_event"})
_SCRIPTED = ("sdk", "mcp", "claude-code-github-action")
"""How the entrypoints begin that no person types into."""
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


def by_program(origin: object, *sources: object, entrypoint: str | None = None) -> bool:
    """Whether Claude Code says that no person typed a prompt.

    Args:
        origin: the field `origin` of the prompt; its `kind` is `human` where a person typed it.
        sources: the fields `source`, `promptSource` and `turnOrigin`.
        entrypoint: the field `entrypoint` of a line of the transcript; "" = it has none. None = a hook, which is not told it.
            Editors and the desktop app send what a person types as `sdk`, too: there the entrypoint tells.
    """
    kind = cast("Mapping[str, object]", origin).get("kind") if isinstance(origin, Mapping) else origin
    if kind not in (None, ""):
        return kind != "human"
    scripted = entrypoint is not None and (not entrypoint or entrypoint.startswith(_SCRIPTED))
    return any(
        isinstance(source, str) and (source in _PROGRAM_SOURCES or (source == "sdk" and scripted))
        for source in sources
    )


def machine_made(text: str) -> bool:
    """Whether a program wrote `text`, judged by how it begins."""
    return _OPENING.match(text[:LOOKED_AT_CHARS]) is not None


_COMMAND = re.compile(r"/tacit(?::|[ \t]+)(?:(?P<verb>remember)[ \t]+(?P<text>\S.*)|forget[ \t]+(?P<id>\S+))")
_QUOTES = ('""', "''", "\u201c\u201d", "\u2018\u2019")


def typed_command(prompt: str) -> str:
    """The command that `prompt` is: `remember TEXT` or `forget ID`; "" when it is none of them."""
    line = prompt.strip()
    command = _COMMAND.fullmatch(line)
    if command is None or len(line.splitlines()) != 1:
        return ""
    if command["verb"] is None:
        return f"forget {command['id']}"
    return f"remember {_unquoted(command['text'])}"


def _unquoted(text: str) -> str:
    """`text` without the pair of quotation marks around the whole of it."""
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if (
            text[0] == opening
            and text[-1] == closing
            and inner.strip()
            and not {opening, closing} & set(inner)
        ):
            return inner.strip()
    return text


SUMMARY_TAKEN = "Got it. Thanks for the additional context!"
"""Gemini CLI (0.61.0) writes these words as an answer of the model after the summary of a compressed conversation."""
_ADDED_FILES = re.compile(r"--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)


def without_added_files(text: str) -> str:
    """Return a prompt to Gemini CLI without the contents of the files that it includes with `@path`."""
    return _ADDED_FILES.sub("", text).rstrip() if "--- Content" in text else text
