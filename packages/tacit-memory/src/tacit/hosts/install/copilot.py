"""The edits for GitHub Copilot CLI: a file of hooks and the MCP server.

In: folders and the launcher. Out: targets. Copilot reads every `*.json` of its folder of hooks, so our hooks are in a separate file (measured on
1.0.102). If the command of a hook ends with an error, Copilot refuses the call. So our command ends without an error even if the launcher
is missing.
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
"""(event, matcher, timeout in seconds). With event names in this form, the payload names its event."""
HOOKS_FILE = "tacit.json"
HOOKS_MARK = " copilot tacit-install:"


def targets(*, user_home: Path, project_root: Path | None, launcher: Path) -> tuple[Target, ...]:
    """Return the files of the user's scope, or of a project's."""
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
    """Return the content of the file of hooks."""
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
