"""The refreshed section follows the newest message, with the prompts of the design's scenario 11 and bars for the shipped model."""

from __future__ import annotations

import json

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


@acceptance("refresh", "DECISION-threshold", "DECISION-top")
def test_the_designs_numbers_stand_beside_the_bars_of_the_embedder(live):
    machine = live("preset: refresh")
    design = {"refresh.similarity_first": 0.45, "refresh.similarity_later": 0.55}
    for name, number in design.items():
        told = machine.ask("config", "explain", f"recall.{name}")
        layers = {one["layer"]: one for one in told["layers"]}
        assert layers["default"]["value"] == number
        assert told["layer"] == "embedder"
        assert 0.25 < told["value"] < number
        assert "of unrelated pairs reach it" in layers["embedder"]["place"]
    machine.tacit("config", "set", "recall.refresh.similarity_later", "0.99")
    told = machine.ask("config", "explain", "recall.refresh.similarity_later")
    assert (told["layer"], told["value"]) == ("user", 0.99)


@acceptance("refresh", "EDGE-empty", "DECISION-gate", "ROLLBACK", "DECISION-scope", "EDGE-latency")
def test_a_turn_keeps_replaces_or_empties_the_section_and_a_switch_turns_it_off(live):
    machine = live(BARE)
    for words in SEEDED:
        machine.remember(words, kind="fact", when="")
    machine.remember("I sign in everywhere with a hardware key.", kind="fact", when="", scope="universal")
    session = PluginSession(machine, "s1")
    session.start()
    assert "hardware key" in session.relevant("Which way do I log into my accounts?")
    again = session.relevant("And which way do I log into my accounts there?")
    assert "hardware key" not in again, "later turns search the project alone"
    before = session.relevant("How is auth handled?")
    assert "httpOnly" in before
    assert session.relevant("ok") == before
    assert session.relevant("yes do") == before
    assert session.relevant("run tests") == before, "an order of two words"
    assert session.relevant("Draw a watercolour of a violin for grandmother") == ""
    (trace,) = machine.ask("why", "--surface", "prompt", "-n", "1")["traces"]
    asked = [
        note.partition(":")[0] for s in trace["stages"] if s["stage"] == "retrieve" for note in s["notes"]
    ]
    assert asked == ["semantic"], "one search a turn"
    machine.request("PATCH", "/v1/settings", {"values": {"recall.refresh.top": 0}})
    session = PluginSession(machine, "s2")
    session.start()
    assert "httpOnly" not in session.say("How is auth handled?")


@acceptance("refresh", "EDGE-order", "FLOW-turn-1")
def test_a_host_without_a_place_in_the_system_prompt_gets_the_section_with_the_prompt(live):
    machine = live(BARE)
    for words in SEEDED:
        machine.remember(words, kind="fact", when="")
    machine.hook(machine.payload("SessionStart", source="startup"))
    given = [machine.prompt(prompt, prompt_id=prompt) for prompt, _ in TOPICS]
    for (_, word), text in zip(TOPICS, given, strict=True):
        assert text.startswith("[MEMORY]\n## Relevant to Current Task\n")
        assert word in text
        assert len(section(text, "Relevant to Current Task").splitlines()) == 1
    assert machine.prompt("How is auth handled again?", prompt_id="again") == "", (
        "the host keeps what it was given"
    )
    assert json.loads(machine.hook(machine.payload("Stop")) or b"{}") == {}
