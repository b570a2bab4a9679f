"""The refreshed section follows the newest message, with the prompts of the design's scenario 11 and bars for the shipped model."""

from __future__ import annotations

from live.refresh.plugin import SEEDED, TOPICS, PluginSession, section
from presets.acceptance import acceptance

BARE = "preset: refresh\nrecall:\n  budgets:\n    start: 0"
"""Without the fixed sections, which would hold the few memories already."""


@acceptance(
    "refresh", "SCENARIO-11-turn-1", "SCENARIO-11-turn-2", "SCENARIO-11-turn-3", "PHASE-4", "PHASE-5",
    "FLOW-turn-2", "DECISION-threshold", "EDGE-similar", "FLOW-compaction", "EDGE-compaction", "TOPIC-switch",
)  # fmt: skip
def test_each_prompt_of_scenario_11_brings_its_own_memory_alone(live):
    machine = live(BARE)
    for words in SEEDED:
        machine.remember(words, kind="fact", when="")
    session = PluginSession(machine, "s1")
    session.start()
    back = TOPICS[0]
    for prompt, word in (*TOPICS, back, TOPICS[2], back):
        relevant = session.relevant(prompt)
        assert word in relevant, f"{prompt}: {relevant}"
        assert len(relevant.splitlines()) == 1, f"another topic came with {prompt}: {relevant}"
    session.send("compacting")
    session.send("compacted")
    assert "httpOnly" in section(session.system, "Relevant to Current Task")
    assert "PostgreSQL" in session.relevant("What about database?")
