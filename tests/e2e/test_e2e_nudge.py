"""The agent in the session writes: the nudge comes after five messages without a note, what it stores with `memory_add` comes at the right action later.

Real clients, real daemon, shipped model; only the model behind the agent is a stub that does what a script says.
"""

from __future__ import annotations

import time

import pytest

from e2e.host_matrix import proves
from tacit.app.delivery_texts import EVERY, NUDGE, START_LINE
from tacit.hosts.probe.stub_model import CallTool, Say, ScriptedReply

pytestmark = pytest.mark.e2e

KNOWN = "Never push to main without asking"
RULE = "Releases are signed with the key of the build server"
TEACHES = "Invoices over ten thousand need a second approval, so the exporter has to split them."
ASKED = f"{TEACHES} Please add that. Are releases signed with the key of the build server?"
LATER = "Tag the release and publish it, please."
ADDED = {
    "content": TEACHES.rstrip("."),
    "kind": "decision",
    "when": ["release", "before the exporter is published, or deployed"],
    "user_words": TEACHES,
}
RELEASE = "git init -q . && git tag --list"


def wait_for(what, timeout_s=20.0):
    end = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def stored(sandbox):
    listed = sandbox.ask_daemon("/v1/memories?limit=100")["memories"]
    return [one for one in listed if "second approval" in one["content"] and one["kind"] != "digest"]


def nudges(request):
    """How often the newest request of an agent holds the nudge."""
    return len(request.find(NUDGE))


@proves("opencode", "action")
def test_opencode_is_nudged_once_and_what_it_stores_comes_at_the_action(sandbox, opencode):
    opencode.install()
    sandbox.wake_daemon()
    sandbox.remember(KNOWN, kind="guideline", when="always")
    add = CallTool(name="tacit_memory_add", input=ADDED)
    release = CallTool(name="bash", input={"command": RELEASE, "description": "release"})
    sandbox.stub.script.append(ScriptedReply(when="second approval", answers=(add, Say(text="done"))))
    sandbox.stub.script.append(ScriptedReply(when="Tag the release", answers=(release, Say(text="done"))))
    with opencode.serve() as server:
        server.prompt(server.create_session(), "hello")
        session = server.create_session()
        for number in range(EVERY - 1):
            server.prompt(session, f"what is in file {number}")
        assert sandbox.stub.agent_requests[-1].find(START_LINE)
        sandbox.remember(RULE, kind="guideline", when="release")
        server.prompt(session, ASKED)
        assert nudges(sandbox.stub.agent_requests[-1]) == 1
        server.prompt(session, "thanks")
        assert nudges(sandbox.stub.agent_requests[-1]) <= 1
        (memory,) = wait_for(lambda: stored(sandbox))
        assert memory["content"] == ADDED["content"]
        assert memory["provenance"]["tier"] == "user"

        sandbox.configure("recall:\n  budgets:\n    start: 0\n    prompt: 0\n")
        time.sleep(1.1)
        server.prompt(server.create_session(), LATER)
        assert sandbox.stub.agent_requests[-1].find(ADDED["content"]), "the release brings it"
