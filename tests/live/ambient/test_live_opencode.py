"""The `ambient` preset in the real OpenCode: blocks in the history, forks, compactions, no start pack."""

from __future__ import annotations

import re

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.machine import PATIENT_MS
from e2e.drivers.opencode import OpenCode
from e2e.drivers.sandbox import Sandbox
from live.ambient.office import ASKED, UNRELATED
from presets.acceptance import acceptance

pytestmark = pytest.mark.e2e

SETTINGS = """
preset: ambient
agents:
  plan:
    recall:
      history_blocks: 0
"""
BLOCK = r"\[Context from memory\]"


@pytest.fixture(scope="module")
def office():
    """One machine, one server; each test has a session of its own."""
    client = require_client("opencode")
    with Sandbox() as machine:
        machine.search_path = f"{client.parent}:{machine.search_path}"
        machine.configure(SETTINGS)
        opencode = OpenCode(machine, client)
        opencode.install()
        machine.remember(*(memory for memory, _ in ASKED), kind="fact")
        machine.wake_daemon()
        with opencode.serve(TACIT_HOOK_DEADLINE_MS=PATIENT_MS) as server:
            yield machine, server


def newest(machine):
    return machine.stub.agent_requests[-1]


def carried(request) -> set[str]:
    """The memories of a request."""
    return {memory for memory, _ in ASKED if request.find(re.escape(memory))}


@acceptance("ambient", "P7", "P2-cap", "P2-every", "ADR-1", "ADR-5", "CFG-blocks")
def test_each_prompt_has_a_block_of_its_own_and_three_stay(office):
    machine, server = office
    session = server.create_session()
    for number, (_, prompt) in enumerate(ASKED):
        server.prompt(session, prompt)
        request = newest(machine)
        assert not request.find("Known from earlier work")
        newest_three = {memory for memory, _ in ASKED[max(0, number - 2) : number + 1]}
        assert carried(request) == newest_three, f"after {prompt!r}"
        assert len(request.find(BLOCK)) == min(3, number + 1)
    server.prompt(session, UNRELATED)
    assert carried(newest(machine)) == {memory for memory, _ in ASKED[-3:]}


@acceptance("ambient", "P4-zero", "ADR-2", "P2-every", "B-agent")
def test_an_agent_without_history_has_the_block_of_its_prompt_alone(office):
    machine, server = office
    session = server.create_session()
    for memory, prompt in ASKED[:3]:
        server.prompt(session, prompt, agent="plan")
        assert carried(newest(machine)) == {memory}
    server.prompt(session, UNRELATED, agent="plan")
    assert carried(newest(machine)) == set(), "nothing new matches, and the old block goes all the same"


@acceptance("ambient", "ADR-8")
def test_a_fork_keeps_the_blocks_of_the_messages_that_it_holds(office):
    machine, server = office
    session = server.create_session()
    for _, prompt in ASKED[:2]:
        server.prompt(session, prompt)
    whole = server.fork(session)
    server.prompt(whole, UNRELATED)
    assert carried(newest(machine)) == {memory for memory, _ in ASKED[:2]}
    second = [m for m in server.messages(session) if m["info"]["role"] == "user"][1]
    first_only = server.fork(session, messageID=second["info"]["id"])
    server.prompt(first_only, UNRELATED)
    assert carried(newest(machine)) == {ASKED[0][0]}
    server.prompt(first_only, ASKED[1][1])
    assert carried(newest(machine)) == {memory for memory, _ in ASKED[:2]}, "what it lost may come again"
    server.prompt(whole, ASKED[1][1])
    assert len(newest(machine).find(re.escape(ASKED[1][0]))) == 1, "what it holds need not"


@acceptance("ambient", "P3-compaction", "ADR-3", "CFG-total")
def test_a_compaction_reads_no_block_and_brings_back_what_was_there_alone(office):
    machine, server = office
    session = server.create_session()
    memory, prompt = ASKED[0]
    server.prompt(session, prompt)
    machine.stub.clear()
    server.summarize(session)
    assert machine.stub.model_requests
    assert not any(request.find(BLOCK) for request in machine.stub.model_requests)
    server.prompt(session, UNRELATED)
    assert carried(newest(machine)) == {memory}
