"""The block itself: every session and subagent gets it, its sections leave room for each other, and nothing stands there twice."""

from __future__ import annotations

from live.refresh.plugin import PluginSession, section
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


@acceptance("refresh", "SUBAGENTS", "PHASE-3", "PHASE-2", "EDGE-eviction")
def test_a_subagent_gets_the_block_with_what_its_task_needs(live):
    machine = live("preset: refresh")
    machine.remember("Prices are integers in cents.", kind="decision", pinned=True)
    for words in ("Deployment is Kubernetes with Helm on GCP.", "The main datastore is PostgreSQL 16."):
        machine.remember(words, kind="fact", when="")
    parent = PluginSession(machine, "s1")
    parent.start()
    child = PluginSession(machine, "c1", parentID="s1", agent="general")
    block = child.send("subagent", messageID="c1m1", text="Set up the deployment pipeline and report back.")
    assert block.startswith("[MEMORY]\n")
    assert "integers in cents" in section(block, "Architecture")
    assert "Helm" in block
    assert "Helm" not in section(block, "Tech Context")
    claude = machine.payload(
        "SubagentStart", agent_id="a1", agent_type="general-purpose", task="Set up the deployment pipeline"
    )
    assert "integers in cents" in machine.hook(claude).decode()
    for one in (child, parent):
        one.send("deleted")
    known = machine.request("GET", "/v1/sessions")
    assert not [one for one in known["sessions"] if one["key"].startswith("opencode/")]
