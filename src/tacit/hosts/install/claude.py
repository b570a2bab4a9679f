"""The edits for Claude Code: hooks in its settings, the MCP server, one slash command.

In: folders and the launcher. Out: targets. The events and their forms were measured on 2.1.328 (docs/adr/0007-hosts.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import cast

from tacit.hosts.install import jsonc
from tacit.hosts.install.target import STAMP, JsonMember, OwnFile, Target, plugin_text, version_in

TOOLS = r"^(Read|Edit|Write|MultiEdit|NotebookEdit|Bash|WebFetch|WebSearch|Task|Agent|mcp__(?!(plugin_)?tacit_).+)$"
"""Calls that a rule may govern, and those that start a subagent: only they tell its task. Calls of our own tools are left out."""
EVENTS: tuple[tuple[str, str, int], ...] = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", TOOLS, 5),
    ("PostToolUse", TOOLS, 5),
    ("PostToolUseFailure", "", 5),
    ("SubagentStart", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 10),
)
"""(event, matcher, timeout in seconds). The hook client has its own, much shorter deadline; this one only bounds a
mistake. Without its own timeout SessionEnd would be ended after 1.5 seconds."""

LAUNCHER_NAMES = ("tacit-hook", "tacit-hook.exe")
COMMAND_MARK = "# installed by tacit install claude-code"


def targets(*, user_home: Path, project_root: Path | None, launcher: Path) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's."""
    server = {"type": "stdio", "command": str(launcher), "args": ["mcp"]}
    if project_root is None:
        folder, servers = user_home / ".claude", user_home / ".claude.json"
    else:
        folder, servers = project_root / ".claude", project_root / ".mcp.json"
    return (
        HookSettings(path=folder / "settings.json", launcher=launcher),
        JsonMember(
            path=servers,
            why="gives Claude the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value=server,
        ),
        OwnFile(
            path=folder / "commands" / "tacit.md",
            why="adds the slash command /tacit",
            content=plugin_text("claude-code", "user-commands", "tacit.md").replace(
                COMMAND_MARK, f"{COMMAND_MARK}, {STAMP}", 1
            ),
            mark=COMMAND_MARK,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The `hooks` of a Claude Code settings file: one group of ours per event, behind those of others."""

    path: Path
    launcher: Path
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks)"

    def holds(self, text: str) -> bool:
        """Whether every event has exactly our group, and no other event has one."""
        actual = [(event, group) for event, _, group in self._ours(text)]
        expected = [(event, self._group(matcher, timeout)) for event, matcher, timeout in EVENTS]
        return sorted(actual, key=lambda pair: pair[0]) == sorted(expected, key=lambda pair: pair[0])

    def present(self, text: str) -> bool:
        """Whether any hook of ours is in it."""
        return next(self._ours(text), None) is not None

    def version(self, text: str) -> int:
        """The oldest version among our groups."""
        return min((version_in(json.dumps(group)) for _, _, group in self._ours(text)), default=1)

    def add(self, text: str | None) -> str:
        """The text with a group per event."""
        text = "{}\n" if not text or not text.strip() else text
        for event, matcher, timeout in EVENTS:
            text = jsonc.append(text, ("hooks", event), self._group(matcher, timeout), path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """The text without our handlers, and without the lists that are empty then."""
        touched: set[str] = set()
        while (entry := next(self._ours(text), None)) is not None:
            event, index, group = entry
            touched.add(event)
            foreign = [n for n, handler in enumerate(_handlers(group)) if not _is_ours(handler)]
            if foreign:  # someone wrote a handler of their own into our group
                at = next(n for n, handler in enumerate(_handlers(group)) if _is_ours(handler))
                text = self._cut_handler(text, event, index, at)
            else:
                text = jsonc.cut(text, ("hooks", event), path=self.path, index=index)
        if not touched:
            return text
        for event in touched:
            node = jsonc.find(jsonc.read(text, path=self.path), ("hooks", event))
            if node is not None and node.value == []:
                text = jsonc.cut(text, ("hooks", event), path=self.path)
        node = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        if node is not None and node.value == {}:
            text = jsonc.cut(text, ("hooks",), path=self.path)
        return None if text == "{}\n" else text

    def _group(self, matcher: str, timeout: int) -> dict[str, object]:
        handler = {
            "type": "command",
            "command": str(self.launcher),
            "args": ["claude-code", STAMP],  # the hook client reads no more than the host
            "timeout": timeout,
        }
        return {"matcher": matcher, "hooks": [handler]} if matcher else {"hooks": [handler]}

    def _ours(self, text: str) -> Iterator[tuple[str, int, object]]:
        """(event, index, group) of every group with a handler of ours."""
        hooks = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        for member in hooks.members if hooks is not None else ():
            for index, item in enumerate(member.node.items):
                if any(_is_ours(handler) for handler in _handlers(item.value)):
                    yield member.key, index, item.value

    def _cut_handler(self, text: str, event: str, index: int, at: int) -> str:
        array = jsonc.find(jsonc.read(text, path=self.path), ("hooks", event))
        assert array is not None
        group = array.items[index]
        inside = jsonc.cut(text[group.start : group.end], ("hooks",), path=self.path, index=at)
        return text[: group.start] + inside + text[group.end :]


def unread_settings(path: Path, text: str) -> str:
    """Why Claude Code would ignore this settings file as a whole; "" when it reads it.

    Comments and closing commas, which editors allow in it, it does not: measured on 2.1.328.
    """
    try:
        json.loads(text.removeprefix("\ufeff") or "{}")
    except ValueError as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return (
            f"Claude Code ignores all of {path}{line}: it takes plain JSON, without comments and closing commas. "
            "Take them out of it."
        )
    return ""


def _handlers(group: object) -> list[object]:
    if not isinstance(group, Mapping):
        return []
    handlers = cast("Mapping[str, object]", group).get("hooks")
    return cast("list[object]", handlers) if isinstance(handlers, list) else []


def _is_ours(handler: object) -> bool:
    if not isinstance(handler, Mapping):
        return False
    fields = cast("Mapping[str, object]", handler)
    command = fields.get("command")
    is_launcher = isinstance(command, str) and PureWindowsPath(command).name in LAUNCHER_NAMES
    return is_launcher or (fields.get("type") == "mcp_tool" and fields.get("server") == "tacit")
