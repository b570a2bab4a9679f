"""Gemini CLI: hooks, MCP server."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

GEMINI = BuiltInHost(
    name="gemini",
    title="Gemini CLI",
    package=__name__,
    program="gemini",
    npm_packages=("@google/gemini-cli",),
    places=(".local/bin/gemini", ".npm-global/bin/gemini"),
    data=(".gemini",),
    data_variable=("GEMINI_CLI_HOME", ".gemini"),
    start={"hook_event_name": "BeforeAgent"},
    reads_sessions=True,
    writer="gemini",
    tool_prefix="mcp_tacit_",
    rules_command="policies",
    machine_folders={
        "darwin": "/Library/Application Support/GeminiCli",
        "win32": "C:/ProgramData/gemini-cli",
        "": "/etc/gemini-cli",
    },
)
