"""The block itself: every session and subagent gets it, its sections leave room for each other, and nothing stands there twice."""

from __future__ import annotations

from e2e.drivers.machine import wait_for
from e2e.drivers.session import Session
from live.refresh.plugin import PluginSession, section
from presets.acceptance import acceptance

TITLES = (
    "Project Brief", "Architecture", "Tech Context", "Product Context", "Progress & Status", "User Preferences",
)  # fmt: skip
KINDS = {
    "goal": "Reach milestone {n} of the checkout before its {n}th review meeting in the office.",
    "decision": "Module {n} of the ledger keeps a journal of its own with number {n}.",
    "fact": "Warehouse {n} answers on port {n}443 behind the office firewall.",
    "research": "Vendor {n} of label printers needs driver {n}.7 on the packing desks.",
    "todo": "Clean up the feature flag number {n} once customer {n} has moved.",
    "preference": "In reports of team {n} use chapter numbers up to level {n}.",
}
EACH = 50
BUDGET = 3000


def kinds(machine):
    return {one["kind"] for one in machine.ask("list", "--all")["memories"]}


@acceptance("refresh", "SECTIONS", "METRIC-flat", "PROP-tokens", "PHASE-3")
def test_fifty_of_each_kind_leave_room_for_every_section(live):
    machine = live("preset: refresh")
    machine.wake()
    for kind, words in KINDS.items():
        for n in range(1, EACH + 1):
            machine.remember(words.format(n=n), kind=kind, when="")
    session = PluginSession(machine, "s1")
    block = session.start()
    lines = {title: len(section(block, title).splitlines()) for title in TITLES}
    assert min(lines.values()) >= 4, lines
    assert lines["Architecture"] == max(lines.values()), "decisions have the largest share"
    sizes = set()
    for number in range(4):
        text = session.say(f"Which desk prints the labels of shelf {number}?")
        assert text.count("[MEMORY]") == 1
        assert len(text) < 4 * BUDGET
        sizes.add(text.partition("## Relevant")[0])
    assert len(sizes) == 1, "the fixed sections stay byte for byte"


@acceptance("refresh", "FINAL-epoch", "SECTIONS", "HOST-rules")
def test_what_the_host_loaded_is_left_out_and_what_was_just_said_can_be_asked_for(live):
    machine = live("preset: refresh")
    (machine.project / "AGENTS.md").write_text("# Rules\n\n- Always run `make lint` before every commit.\n")
    machine.tacit("init", "--yes")
    assert any("make lint" in text for text in machine.contents())
    machine.remember("Invoices are archived after ninety days.", kind="decision", when="")
    session = PluginSession(machine, "s1")
    block = session.start()
    assert "ninety days" in section(block, "Architecture")
    assert "make lint" not in block, "OpenCode has loaded AGENTS.md itself"
    assert "make lint" not in session.say("What has to happen before I commit?")
    session.say("Remember that the colour of the brand is teal.")
    wait_for(lambda: any("teal" in text for text in machine.contents()))
    assert "teal" in session.relevant("What color is our brand?")


@acceptance("refresh", "CONTEXT", "SECTIONS", "FLOW-turn-1")
def test_context_prints_what_a_session_gets(live):
    machine = live("preset: refresh")
    machine.remember("Prices are integers in cents.", kind="decision", when="")
    machine.remember("Answer in short sentences.", kind="preference", scope="universal")
    printed = machine.tacit("context").stdout.strip()
    assert printed.startswith("[MEMORY]\n## Architecture\n- Prices are integers in cents.")
    assert printed.endswith("## User Preferences\n- Answer in short sentences.\n[/MEMORY]")
    assert PluginSession(machine, "s1").start() == printed
    assert machine.start() == printed, "and a session of Claude Code"


@acceptance("refresh", "SUBAGENTS", "PHASE-3", "PHASE-2", "EDGE-eviction")
def test_a_subagent_gets_the_block_with_what_its_task_needs(live):
    machine = live("preset: refresh\nrecall:\n  budgets:\n    start: 50")
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


@acceptance("refresh", "SECTIONS")
def test_the_last_session_stands_there_though_it_repeats_a_decision(live):
    machine = live("preset: refresh")
    decision = "We decided to archive invoices after ninety days, not after thirty."
    earlier = Session(machine, "one")
    earlier.start()
    earlier.say(decision)
    wait_for(lambda: "decision" in kinds(machine))
    earlier.edited("src/archive.py")
    earlier.stops("Noted.")
    earlier.end()
    wait_for(lambda: "digest" in kinds(machine))
    block = PluginSession(machine, "s2").start()
    assert "ninety days" in section(block, "Architecture")
    assert "ninety days" in section(block, "Last Session")
