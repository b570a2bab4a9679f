"""The block itself: every session and subagent gets it, its sections leave room for each other, and nothing stands there twice."""

from __future__ import annotations

from live.refresh.plugin import PluginSession
from presets.acceptance import acceptance


@acceptance("refresh", "CONTEXT", "SECTIONS", "FLOW-turn-1")
def test_context_prints_what_a_session_gets(live):
    machine = live("preset: refresh")
    machine.remember("Prices are integers in cents.", kind="decision", when="")
    machine.remember("Answer in short sentences.", kind="preference", scope="universal")
    printed = machine.tacit("recall").stdout.strip()
    assert printed.startswith("[MEMORY]\n## Architecture\n- Prices are integers in cents.")
    assert printed.endswith("## User Preferences\n- Answer in short sentences.\n[/MEMORY]")
    assert PluginSession(machine, "s1").start() == printed
    assert machine.start() == printed, "and a session of Claude Code"
