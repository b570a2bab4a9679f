"""Claude Code: hooks, MCP server, slash command."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

CLAUDE_CODE = BuiltInHost(
    name="claude-code",
    title="Claude Code",
    package=__name__,
    program="claude",
    npm_packages=("@anthropic-ai/claude-code",),
    places=(".local/bin/claude", ".claude/local/claude"),
    data=(".claude",),
    data_variable=("CLAUDE_CONFIG_DIR",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
    writer="claude",
    tool_prefix="mcp__tacit__",
    rules_command="permissions",
    machine_folders={
        "darwin": "/Library/Application Support/ClaudeCode",
        "win32": "C:/Program Files/ClaudeCode",
        "": "/etc/claude-code",
    },
)
