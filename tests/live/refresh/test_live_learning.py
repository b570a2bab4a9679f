"""How what the refreshed section needs gets into the memory: the seeding sentence of scenario 11, and the design's `add`."""

from __future__ import annotations

import json

from e2e.drivers.machine import wait_for
from e2e.drivers.session import Session
from e2e.test_e2e_project_files import call_tool
from live.refresh.plugin import TOPICS, PluginSession, section
from presets.acceptance import acceptance
from writer_server import Reply, openai_answer, writer_server

SENTENCE = "Our auth uses JWT tokens in httpOnly cookies. Deployment is Kubernetes with Helm on GCP."
"""Word for word what session 1 of the scenario says."""
FACTS = ("Our auth uses JWT tokens in httpOnly cookies", "Deployment is Kubernetes with Helm on GCP")
PRESET = "preset: refresh"
WRITER = """
capture:
  extractor:
    provider: openai
    endpoint: {address}
    model: small
    api_key_env: WRITER_KEY
    least_chars: 0"""


@acceptance("refresh", "SCENARIO-11-seed", "SCENARIO-11-turn-1", "SCENARIO-11-turn-2")
def test_the_seeding_sentence_is_learned_where_a_model_writes_sessions_up(live):
    with writer_server() as writer:
        machine = live(PRESET + WRITER.format(address=writer.address))
        machine.environ["WRITER_KEY"] = "k"
        first = Session(machine, "one")
        first.start()
        first.say(SENTENCE)
        first.stops("Good to know.")
        statements = [
            {
                "content": fact, "kind": "fact", "message": 1, "quote": fact, "further": [], "when": [],
                "confidence": 0.9, "fates": [],
            }
            for fact in FACTS
        ]  # fmt: skip
        writer.replies.append(Reply(body=json.dumps(openai_answer({"statements": statements}))))
        first.end()
        wait_for(lambda: set(FACTS) <= {text.rstrip(".") for text in machine.contents()})
        assert SENTENCE in writer.sent
        second = PluginSession(machine, "s2")
        second.start()
        for prompt, word in TOPICS[:2]:
            assert word in second.relevant(prompt)


@acceptance("refresh", "ADD-confirmed", "TOOL-modes", "PHASE-1")
def test_adding_again_with_the_users_words_confirms_what_the_agent_added(live):
    machine = live("preset: refresh")
    words = "The staging server is called heron"
    machine.wake()
    assert "unconfirmed" in call_tool(machine, "memory_add", content=words)
    session = PluginSession(machine, "s2")
    assert "heron (agent's note" in session.start()
    session.say("by the way, the staging server is called heron")
    told = call_tool(machine, "memory_add", content=words, user_words="the staging server is called heron")
    assert "unconfirmed" not in told
    assert any("heron" in text for text in machine.contents()), "it is listed"
    context = section(PluginSession(machine, "s3").start(), "Tech Context")
    assert "heron" in context
    assert "agent's note" not in context
    found = call_tool(machine, "memory_search", query="Where do we try things out before a release?")
    assert "heron" in found
    assert "heron" in call_tool(machine, "memory_list")
    for tool in ("memory_profile", "memory_context"):
        assert call_tool(machine, tool)
    gone = call_tool(machine, "memory_forget", id=machine.ask("list")["memories"][0]["id"])
    assert "user" in gone, "only the user ends their own word"
