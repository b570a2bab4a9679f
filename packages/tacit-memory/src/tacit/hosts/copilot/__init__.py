"""GitHub Copilot CLI: hooks, MCP server."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

COPILOT = BuiltInHost(
    name="copilot",
    title="GitHub Copilot CLI",
    package=__name__,
    program="copilot",
    npm_packages=("@github/copilot",),
    places=(".local/bin/copilot",),
    data=(".copilot",),
    data_variable=("COPILOT_HOME",),
    start={"hook_event_name": "SessionStart"},
    reads_sessions=True,
)
