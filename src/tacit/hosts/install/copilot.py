"""The edits for GitHub Copilot CLI: a file of hooks and the MCP server.

In: folders and the launcher. Out: targets. Copilot reads every `*.json` of its folder of hooks, so ours is a file of its own (measured on
1.0.102). A command that ends with an error would deny the call that it is asked about, so ours ends without one even where the launcher
is gone.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from tacit.hosts.install.target import STAMP, JsonMember, OwnFile, Target

EVENTS: tuple[tuple[str, str, int], ...] = (
    ("SessionStart", "", 10),
    ("UserPromptSubmit", "", 5),
    ("PreToolUse", "", 5),
    ("PostToolUse", "", 5),
    ("PostToolUseFailure", "", 5),
    ("SubagentStart", "", 5),
    ("SubagentStop", "", 5),
    ("Stop", "", 5),
    ("PreCompact", "", 5),
    ("SessionEnd", "", 10),
)
"""(event, matcher, timeout in seconds). The names choose the payload that says which event it is."""
HOOKS_FILE = "tacit.json"
HOOKS_MARK = " copilot tacit-install:"


def targets(*, user_home: Path, project_root: Path | None, launcher: Path) -> tuple[Target, ...]:
    """The files of the user's scope, or of a project's."""
    folder = user_home / ".copilot" if project_root is None else project_root / ".github"
    servers = folder / ("mcp-config.json" if project_root is None else "mcp.json")
    server = {"type": "local", "command": str(launcher), "args": ["mcp", "--host", "copilot"], "tools": ["*"]}
    return (
        OwnFile(
            path=folder / "hooks" / HOOKS_FILE,
            why="calls Tacit when a session, prompt or tool call begins or ends (hooks)",
            content=hooks(launcher),
            mark=HOOKS_MARK,
        ),
        JsonMember(
            path=servers,
            why="gives Copilot the memory tools (MCP server)",
            keys=("mcpServers", "tacit"),
            value=server,
        ),
    )


def hooks(launcher: Path) -> str:
    """The file of hooks."""
    command = (
        f"{shlex.quote(str(launcher))} copilot {STAMP} || true"  # the hook client reads no more than the host
    )
    entries = {
        event: [
            {
                "type": "command",
                "bash": command,
                "timeoutSec": timeout,
                **({"matcher": matcher} if matcher else {}),
            }
        ]
        for event, matcher, timeout in EVENTS
    }
    return json.dumps({"version": 1, "hooks": entries}, indent=2) + "\n"
