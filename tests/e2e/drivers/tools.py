"""The MCP server as a host asks it: over the pipe that the launcher opens."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.drivers.machine import Machine


def ask_tools(
    launcher: Path, environ: Mapping[str, str], method: str, cwd: Path | None = None, **params: object
) -> dict[str, Any]:
    """What the server answers a new client that asks for this."""
    about = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": method, "params": params},
    )
    told = subprocess.run(
        [launcher, "mcp"],
        input="".join(f"{json.dumps(one)}\n" for one in messages),
        capture_output=True, text=True, cwd=cwd, env=environ, timeout=60,
    )  # fmt: skip
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert 2 in [one.get("id") for one in answers], told.stderr
    return next(one["result"] for one in answers if one.get("id") == 2)


def call_tool(machine: Machine, name: str, **arguments: object) -> str:
    """The text that a tool answers in the project of the machine."""
    environ, folder = machine.environ, machine.project
    asked = {"name": name, "arguments": arguments}
    return ask_tools(machine.launcher, environ, "tools/call", folder, **asked)["content"][0]["text"]
