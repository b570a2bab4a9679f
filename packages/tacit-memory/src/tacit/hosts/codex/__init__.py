"""Codex: hooks that the user approves once, MCP server."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

CODEX = BuiltInHost(
    name="codex",
    title="Codex",
    package=__name__,
    program="codex",
    npm_packages=("@openai/codex",),
    places=(".local/bin/codex", ".bun/bin/codex"),
    data=(".codex",),
    data_variable=("CODEX_HOME",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
    writer="codex",
)
