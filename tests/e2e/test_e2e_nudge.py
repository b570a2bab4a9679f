"""The agent in the session writes: the nudge comes after five messages without a note, what it stores with `memory_add` comes at the right action later.

Real clients, real daemon, shipped model; only the model behind the agent is a stub that does what a script says.
"""

from __future__ import annotations

import time

import pytest

from e2e.drivers.claude import ALLOWED_TOOLS
from e2e.host_matrix import proves
from e2e.test_e2e_mcp import PREFIX, AsInstalled, load_tools
from tacit.app.nudges import EVERY, NUDGE, START_LINE
from tacit.hosts.probe.stub_model import CallTool, Reply, Say

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


class ShellAndNotes(AsInstalled):
    """The client of a person who lets the shell and the notes run."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--allowedTools", f"{ALLOWED_TOOLS} {PREFIX}memory_add"]


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


def test_claude_code_is_nudged_once_and_what_it_stores_comes_at_the_action(sandbox, claude):
    client = ShellAndNotes(sandbox, claude.executable)
    client.install()
    sandbox.remember(KNOWN, kind="guideline", when="always")
    sandbox.wake_daemon()
    load_tools(sandbox)  # the client lists them when it gets to it
    release = CallTool(name="Bash", input={"command": RELEASE})
    add = CallTool(name=f"{PREFIX}memory_add", input=ADDED)
    sandbox.stub.script.append(Reply(when="second approval", answers=(add, Say(text="done"))))
    sandbox.stub.script.append(Reply(when="Tag the release", answers=(release, Say(text="done"))))

    sandbox.stub.clear()
    with client.session() as session:
        for number in range(EVERY - 1):
            session.ask(f"what is in file {number}")
        assert sandbox.stub.agent_requests[-1].find(START_LINE)
        sandbox.remember(RULE, kind="guideline", when="release")  # so that the next prompt gets a block
        session.ask(ASKED)
        counts = [nudges(request) for request in sandbox.stub.agent_requests]
        assert counts[-1] == 1, "it stays in the history, once"
        assert counts == sorted(counts)
        session.ask("thanks")
        assert nudges(sandbox.stub.agent_requests[-1]) == 1
    (memory,) = wait_for(lambda: stored(sandbox))
    assert memory["content"] == ADDED["content"]
    assert memory["provenance"]["tier"] == "user", "the user's words say the same"
    assert memory["trigger"]["phrases"] == ["before the exporter is published, or deployed"]
    assert not any(
        NUDGE[:30] in one["content"] for one in sandbox.ask_daemon("/v1/memories?limit=100")["memories"]
    )

    sandbox.configure("recall:\n  budgets:\n    start: 0\n    prompt: 0\n")
    time.sleep(1.1)  # the settings' files are looked at once a second
    sandbox.stub.clear()
    client.ask(LATER)
    first, *_, last = sandbox.stub.agent_requests
    assert not first.find("second approval"), "nothing before the action"
    assert last.find(ADDED["content"]), "the release brings it"
    assert nudges(last) == 0


@proves("opencode", "action")
def test_opencode_is_nudged_once_and_what_it_stores_comes_at_the_action(sandbox, opencode):
    opencode.install()
    sandbox.wake_daemon()
    sandbox.remember(KNOWN, kind="guideline", when="always")
    add = CallTool(name="tacit_memory_add", input=ADDED)
    release = CallTool(name="bash", input={"command": RELEASE, "description": "release"})
    sandbox.stub.script.append(Reply(when="second approval", answers=(add, Say(text="done"))))
    sandbox.stub.script.append(Reply(when="Tag the release", answers=(release, Say(text="done"))))
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
