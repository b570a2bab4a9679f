"""The agents of docs/guide/bring-your-own-agent.md as they stand there: real processes, a real daemon, the shipped model, a stub model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.drivers.prefix import compare_prefixes
from e2e.drivers.sandbox import Sandbox
from e2e.drivers.typescript import require_build
from scripted_model import ScriptedReply
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit.hosts.probe.wire import CallTool, Say
from user_voice import user_token

pytestmark = pytest.mark.e2e

GUIDE = Path(__file__).parents[2] / "docs/guide/bring-your-own-agent.md"
RULE = "Run `make lint` before every commit."
RELEASE = "Releases are announced in the channel harbor, in Portuguese."
FIX = "`npm run seed` fails with `ECONNREFUSED 127.0.0.1:5433` until `docker compose up db` has run."
HELLO = "Good morning!"
SHIP = "Announce the release of version 2.4 to our users."
FILL = "Fill the shop with some data."
NAME = "From now on, name every feature branch after its ticket, such as SHOP-12-cart."
FAILING = "echo 'Error: connect ECONNREFUSED 127.0.0.1:5433' >&2; exit 1"
SCRIPT = (
    ScriptedReply(
        when="Fill the shop",
        answers=(CallTool(name="bash", input={"command": FAILING}), Say(text="It is down.")),
    ),
)


@pytest.fixture
def machine():
    with Sandbox(SCRIPT) as made:
        write_launcher(Home(made.tacit_home))
        yield made


class Agent:
    """An agent of the guide that reads prompts from standard input; one answer a line."""

    def __init__(self, machine: Sandbox, language: str) -> None:
        if language == "python":
            (code,) = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
            program = machine.write("agent.py", code)
            command = [sys.executable, "-I", str(program)]
        else:
            command = ["node", str(require_build() / "examples" / "agent.js")]
        environment = machine.environment(MODEL_URL=machine.stub.url, MODEL_KEY="none")
        self.process = machine.start(command, environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, prompt: str) -> str:
        """The answer to one prompt."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{prompt}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        """Close standard input; the exit code."""
        self.process.communicate(timeout=60)
        return self.process.returncode


def remember(machine: Sandbox, content: str, **more: object) -> None:
    client = DaemonClient(Home(machine.tacit_home), token=user_token(machine.tacit_home))
    client.request("POST", "/v1/memories", {"content": content, "cwd": str(machine.project), **more})


def blocks(message: object) -> list[str]:
    """The moments of the blocks in one message."""
    return re.findall(r'<tacit-memory surface=\\"(\w+)\\"', json.dumps(message))


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_agent_of_the_guide_has_a_memory(machine: Sandbox, language: str) -> None:
    machine.wake_daemon()
    remember(machine, RULE, when="commit")
    agent = Agent(machine, language)
    assert agent.ask(HELLO).startswith("STUB-OK")
    remember(machine, RELEASE, when="release")
    remember(machine, FIX, kind="error_pattern")
    agent.ask(SHIP)
    assert agent.ask(FILL) == "It is down."
    agent.ask(NAME)
    assert agent.end() == 0

    requests = machine.stub.agent_requests
    assert len(requests) == 5
    system, hello, _, ship, _, fill, call, failed, *_ = requests[-1].messages
    assert blocks(system) == ["start"]
    assert "make lint" in system["content"]
    assert (blocks(hello), blocks(fill), blocks(call)) == ([], [], [])
    assert blocks(ship) == ["prompt"]
    assert ship["content"].startswith(SHIP)
    assert "channel harbor" in ship["content"]
    assert blocks(failed)[-1:] == ["failure"]
    assert "docker compose up db" in failed["content"].split("ECONNREFUSED", 1)[1]
    assert compare_prefixes(requests).kept_share == 1.0
    kept = machine.wait_for_memory("SHOP-12")
    assert any("SHOP-12" in text for text in kept)
    assert sum("harbor" in text for text in kept) == 1, "what was handed over is not learned again"
    (session,) = machine.ask_daemon("/v1/sessions")["sessions"]
    assert session["key"].startswith("plain")
