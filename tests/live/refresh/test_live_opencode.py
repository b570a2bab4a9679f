"""The block in the requests of the real OpenCode client: its place, the topic, subagents, a compaction, what OpenCode loads itself."""

from __future__ import annotations

import json

import pytest

from e2e.drivers.clients import require_client
from e2e.drivers.opencode import OpenCode
from e2e.drivers.sandbox import Sandbox
from live.refresh.plugin import SEEDED, TOPICS, section
from presets.acceptance import acceptance
from scripted_model import find_places

pytestmark = pytest.mark.e2e
TASK = {"description": "deploy", "prompt": "Set up the deployment pipeline.", "subagent_type": "general"}


@pytest.fixture
def served():
    """A machine with the preset as it ships, and OpenCode's server on it."""
    client = require_client("opencode")
    with Sandbox() as machine:
        machine.search_path = f"{client.parent}:{machine.search_path}"
        machine.configure("preset: refresh\n")
        opencode = OpenCode(machine, client)
        opencode.install()
        machine.write("AGENTS.md", "# Rules\n\n- Always run `make lint` before every commit.\n")
        machine.wake_daemon()
        machine.tacit("init", "--yes")
        machine.remember("Prices are integers in cents.", kind="decision", pinned=True)
        machine.remember(*SEEDED, kind="fact", when="")
        with opencode.serve() as server:
            yield machine, server


def memory_block(request) -> str:
    """The one `[MEMORY]` block of a request; it stands in a system message."""
    (place,) = find_places(request.body, r"\[MEMORY\]\n")
    index = int(place.path.partition("[")[2].partition("]")[0])
    assert request.messages[index]["role"] == "system"
    return place.text[place.offset :].partition("[/MEMORY]")[0] + "[/MEMORY]"


def requests_of(machine, session: str):
    """What the agent of a session sent to the model."""
    return [one for one in machine.stub.agent_requests if one.headers.get("x-session-id") == session]


@acceptance(
    "refresh", "PHASE-3", "PHASE-4", "PHASE-5", "SCENARIO-11-turn-1", "SCENARIO-11-turn-2", "SCENARIO-11-turn-3",
    "SUBAGENTS", "HOST-rules", "FLOW-compaction", "EDGE-compaction", "PROP-tokens", "METRIC-flat",
)  # fmt: skip
def test_every_request_carries_the_block_of_its_turn(served):
    machine, server = served
    session = server.create_session()
    for prompt, word in (*TOPICS, TOPICS[0]):
        server.prompt(session, prompt)
        block = memory_block(requests_of(machine, session)[-1])
        relevant = section(block, "Relevant to Current Task")
        assert word in relevant, f"{prompt}: {block}"
        assert len(relevant.splitlines()) == 1
        assert "integers in cents" in section(block, "Architecture")
        assert "make lint" not in block
    before = len(requests_of(machine, session))
    server.prompt(session, 'go on STUB_TOOL {"name":"bash","input":{"command":"echo ok","description":"ok"}}')
    turn = requests_of(machine, session)[before:]
    assert len(turn) == 2
    assert len({memory_block(one) for one in turn}) == 1, "tool steps carry the same bytes"
    server.prompt(session, TOPICS[1][0])
    server.summarize(session)
    server.prompt(session, "ok")
    after = requests_of(machine, session)[-1]
    assert after.find("What did we do so far")
    assert "integers in cents" in memory_block(after)
    assert "Helm" in section(memory_block(after), "Relevant to Current Task")
    server.prompt(session, f"delegate it STUB_TOOL {json.dumps({'name': 'task', 'input': TASK})}")
    children = {one.headers.get("x-session-id") for one in machine.stub.agent_requests} - {session}
    (child,) = children
    block = memory_block(requests_of(machine, child)[0])
    assert "integers in cents" in section(block, "Architecture")
    assert "Helm" in section(block, "Relevant to Current Task")
    assert not requests_of(machine, child)[0].find("<tacit-memory")
