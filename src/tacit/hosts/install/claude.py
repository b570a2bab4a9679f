"""The edits for Claude Code: hooks in its settings, the MCP server, one slash command.

In: folders and the launcher. Out: targets. The events and their forms were measured on 2.1.328 (docs/adr/0007-hosts.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tacit.hosts.install.hook_settings import HookSettings, group_of, not_plain_json
from tacit.hosts.install.target import STAMP, JsonMember, OwnFile, Target, plugin_text

TOOLS = r"^(Read|Edit|Write|MultiEdit|NotebookEdit|Bash|WebFetch|WebSearch|Task|Agent|mcp__(?!(plugin_)?tacit_).+)$"
"""Calls that a rule may govern, and those that start a subagent: only they tell its task. Calls of our own tools are left out."""
CALLS = TOOLS.replace(".+)$", ".+|mcp__(plugin_tacit_)?tacit__memory_(add|update|forget|get))$")
"""The same, and those of our own tools that count for a session: their hook tells for which."""
EVENTS: tuple[tuple[str, str, int], ...] = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", CALLS, 5),
    ("PostToolUse", TOOLS, 5),
    ("PostToolUseFailure", "", 5),
    ("SubagentStart", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 10),
)
"""(event, matcher, timeout in seconds). The hook client has its own, much shorter deadline; this one only bounds a
mistake. Without its own timeout SessionEnd would be ended after 1.5 seconds."""

COMMAND_MARK = "# installed by tacit install claude-code"


def targets(*, user_home: Path, project_root: Path | None, launcher: Path) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's."""
    server = {"type": "stdio", "command": str(launcher), "args": ["mcp"]}
    if project_root is None:
        folder, servers = user_home / ".claude", user_home / ".claude.json"
    else:
        folder, servers = project_root / ".claude", project_root / ".mcp.json"
    return (
        HookSettings(
            path=folder / "settings.json",
            groups=tuple((event, _group(matcher, timeout, launcher)) for event, matcher, timeout in EVENTS),
            unread=partial(not_plain_json, reader="Claude Code"),
        ),
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


def _group(matcher: str, timeout: int, launcher: Path) -> Mapping[str, object]:
    handler = {
        "type": "command",
        "command": str(launcher),
        "args": ["claude-code", STAMP],  # the hook client reads no more than the host
        "timeout": timeout,
    }
    return group_of(handler, matcher)
