"""Cursor: hooks, MCP server, a rule."""

from __future__ import annotations

from tacit.hosts.built_in import BuiltInHost

CURSOR = BuiltInHost(
    name="cursor",
    title="Cursor",
    package=__name__,
    program="cursor",
    places=(".local/bin/cursor-agent", "/Applications/Cursor.app/Contents/Resources/app/bin/cursor"),
    start={"hook_event_name": "sessionStart"},
    runs_here=False,
)
