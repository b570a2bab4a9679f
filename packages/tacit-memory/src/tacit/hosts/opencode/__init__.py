"""OpenCode: plugin, MCP server."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

OPENCODE = BuiltInHost(
    name="opencode",
    title="OpenCode",
    package=__name__,
    program="opencode",
    npm_packages=("opencode-ai", "@opencode-ai/cli"),
    places=(".opencode/bin/opencode", ".local/bin/opencode", ".bun/bin/opencode"),
    data=(".local", "share", "opencode"),
    data_variable=("XDG_DATA_HOME", "opencode"),
    start={"event": "session.start"},
    reads_sessions=True,
)
