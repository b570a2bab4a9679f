"""The edits for GitHub Copilot CLI: a file of hooks and the MCP server.

In: folders and the launcher. Out: targets. Copilot reads every `*.json` of its folder of hooks, so our hooks are in a separate file (measured on
1.0.102). If the command of a hook ends with an error, Copilot refuses the call. So our command ends without an error even if the launcher
is missing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from tacit.hosts.install.files import (
    STAMP,
    JsonMember,
    OwnFile,
    Place,
    Target,
    files_of_project,
    read_settings,
)

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


def targets(place: Place) -> tuple[Target, ...]:
    """Return the files of the user's scope, or of a project's."""
    user_home, project_root, launcher = place.user_home, place.project_root, place.launcher
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


def switched_off(
    *, user_home: Path, project_root: Path | None, machine: Path, connected: bool
) -> Iterator[str]:
    """Say why the host runs no hooks of ours; see `switches`."""
    del machine
    if not connected:
        return
    for path, values in read_settings(
        *files_of_project(
            project_root, ".github/copilot/settings.local.json", ".github/copilot/settings.json"
        ),
        user_home / ".copilot" / "settings.json",
        user_home / ".copilot" / "config.json",
    ):
        if values.get("disableAllHooks") is True:
            yield f"Copilot CLI runs no hooks: disableAllHooks is true in {path}. Take it out."
