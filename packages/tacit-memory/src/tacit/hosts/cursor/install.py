"""The edits for Cursor: hooks, the MCP server and, in a project, a rule that has the agent search the memory at a prompt.

In: folders and the launcher. Out: targets. The files and events follow cursor.com/docs/hooks, /mcp and /rules; they were not tested with Cursor.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.hosts.install import jsonc
from tacit.hosts.install.files import STAMP, HookSettings, JsonMember, OwnFile, Place, Target

EVENTS: tuple[tuple[str, str, int], ...] = (
    ("sessionStart", "", 10),
    ("beforeSubmitPrompt", "", 5),
    ("preToolUse", "Shell|Write|Delete|Task", 5),
    ("postToolUse", "", 5),
    ("postToolUseFailure", "", 5),
    ("afterAgentResponse", "", 5),
    ("preCompact", "", 5),
    ("sessionEnd", "", 10),
)
"""(event, matcher, timeout in seconds)."""
RULE_MARK = "<!-- installed by tacit install cursor"
_OPENING = '{\n  "version": 1\n}\n'
_RULE = f"""\
---
description: Search the memory before work on a request
alwaysApply: true
---

{RULE_MARK}, {STAMP} -->

Before you work on a request, call the tool `memory_search` of the MCP server `tacit` with the request in the user's words. It answers
with decisions, preferences and fixes from earlier sessions that apply to it, or says that nothing fits.
"""


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files of the user's scope, or of a project's."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
    folder = (user_home if project_root is None else project_root) / ".cursor"
    files: list[Target] = [
        hooks_in(folder / "hooks.json", launcher),
        JsonMember(
            path=folder / "mcp.json",
            why="gives Cursor the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value={"command": str(launcher), "args": ["mcp", "--host", "cursor"]},
        ),
    ]
    if project_root is not None:  # Cursor keeps the rules of a user in its settings
        why = "has the agent search the memory at a prompt, where Cursor's hooks take no text (rule)"
        files.append(OwnFile(path=folder / "rules" / "tacit.mdc", why=why, content=_RULE, mark=RULE_MARK))
    return tuple(files)


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorHooks(HookSettings):
    """The `hooks` of Cursor's `hooks.json`, which needs a version."""

    def add(self, text: str | None) -> str:
        """The text with the version and an entry for each event."""
        if text and text.strip() and jsonc.find(jsonc.read(text, path=self.path), ("version",)) is None:
            text = jsonc.put(text, ("version",), 1, path=self.path)
        return HookSettings.add(self, text)


def hooks_in(path: Path, launcher: Path) -> CursorHooks:
    """Our hooks in the `hooks.json` at `path`."""
    entries = tuple((event, _entry(matcher, timeout, launcher)) for event, matcher, timeout in EVENTS)
    return CursorHooks(path=path, groups=entries, opening=_OPENING)


def _entry(matcher: str, timeout: int, launcher: Path) -> Mapping[str, object]:
    # Cursor takes one command line; the hook client reads only the host's name of it.
    command = f"{shlex.quote(str(launcher))} cursor {STAMP}"
    return {"command": command, "timeout": timeout, **({"matcher": matcher} if matcher else {})}
