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
