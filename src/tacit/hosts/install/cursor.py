"""The edits for Cursor: hooks, the MCP server and, in a project, a rule for what its hooks cannot carry.

In: folders and the launcher. Out: targets. The files and events are those of cursor.com/docs/hooks, /mcp and /rules; they were not run.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tacit.hosts.install import jsonc
from tacit.hosts.install.target import STAMP, JsonMember, OwnFile, Target, version_in

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


def targets(*, user_home: Path, project_root: Path | None, launcher: Path) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's."""
    folder = (user_home if project_root is None else project_root) / ".cursor"
    files: list[Target] = [
        HookList(path=folder / "hooks.json", launcher=launcher),
        JsonMember(
            path=folder / "mcp.json",
            why="gives Cursor the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value={"command": str(launcher), "args": ["mcp", "--host", "cursor"]},
        ),
    ]
    if project_root is not None:  # the rules of a user are no files
        why = "has the agent search the memory at a prompt, where Cursor's hooks take no text (rule)"
        files.append(OwnFile(path=folder / "rules" / "tacit.mdc", why=why, content=_RULE, mark=RULE_MARK))
    return tuple(files)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookList:
    """The `hooks` of Cursor's `hooks.json`: one entry of ours per event, behind those of others."""

    path: Path
    launcher: Path
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks)"

    def holds(self, text: str) -> bool:
        """Whether every event has exactly our entry, and no other event has one."""
        actual = [(event, entry) for event, _, entry in self._ours(text)]
        expected = [(event, self._entry(matcher, timeout)) for event, matcher, timeout in EVENTS]
        return sorted(actual, key=lambda pair: pair[0]) == sorted(expected, key=lambda pair: pair[0])

    def present(self, text: str) -> bool:
        """Whether any entry of ours is in it."""
        return next(self._ours(text), None) is not None

    def version(self, text: str) -> int:
        """The oldest version among our entries."""
        return min((version_in(json.dumps(entry)) for _, _, entry in self._ours(text)), default=1)

    def add(self, text: str | None) -> str:
        """The text with an entry per event."""
        text = _OPENING if not text or not text.strip() else text
        if jsonc.find(jsonc.read(text, path=self.path), ("version",)) is None:
            text = jsonc.put(text, ("version",), 1, path=self.path)
        for event, matcher, timeout in EVENTS:
            text = jsonc.append(text, ("hooks", event), self._entry(matcher, timeout), path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """The text without our entries, and without the lists that are empty then."""
        touched: set[str] = set()
        while (found := next(self._ours(text), None)) is not None:
            event, index, _ = found
            touched.add(event)
            text = jsonc.cut(text, ("hooks", event), path=self.path, index=index)
        if not touched:
            return text
        for keys in (*(("hooks", event) for event in sorted(touched)), ("hooks",)):
            node = jsonc.find(jsonc.read(text, path=self.path), keys)
            if node is not None and not node.value:
                text = jsonc.cut(text, keys, path=self.path)
        return None if text == _OPENING else text

    def _entry(self, matcher: str, timeout: int) -> dict[str, object]:
        # Cursor takes one command line; the hook client reads no more of it than the host.
        command = f"{shlex.quote(str(self.launcher))} cursor {STAMP}"
        return {"command": command, "timeout": timeout, **({"matcher": matcher} if matcher else {})}

    def _ours(self, text: str) -> Iterator[tuple[str, int, object]]:
        """(event, index, entry) of every entry of ours."""
        hooks = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        for member in hooks.members if hooks is not None else ():
            for index, item in enumerate(member.node.items):
                if _is_ours(item.value):
                    yield member.key, index, item.value


def _is_ours(entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    command = cast("Mapping[str, object]", entry).get("command")
    return isinstance(command, str) and "tacit-hook" in command and " cursor tacit-install:" in command
