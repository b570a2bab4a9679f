"""The TypeScript client in real Node processes: against a real daemon with the shipped model, and in front of a stub model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from e2e.drivers.prefix import compare_prefixes
from e2e.drivers.sandbox import Sandbox
from e2e.drivers.typescript import PACKAGE, require_build, run_node
from scripted_model import ScriptedReply, find_places
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.daemon.launcher import write_launcher
from tacit.hosts.probe.wire import CallTool, Say
from user_voice import as_user

pytestmark = pytest.mark.e2e

GUIDE = Path(__file__).parents[2] / "docs/guide"
NAME = "From now on, name every feature branch after its ticket, such as SHOP-12-cart."
RULE = "Run `make lint` before every commit."
SCRIPT = (
    ScriptedReply(
        when="Renew the table",
        answers=(CallTool(name="bash", input={"command": "make schema"}), Say(text="It needs another step.")),
    ),
)


@pytest.fixture
def machine():
    require_build()
    with Sandbox(SCRIPT) as made:
        write_launcher(Home(made.tacit_home))
        made.wake_daemon()
        yield made


def moments_of(body: object) -> list[str]:
    """The moments of the blocks in a request, in order."""
    return re.findall(r'<tacit-memory surface=\\"(\w+)\\"', json.dumps(body))


def variables(machine: Sandbox) -> dict[str, str]:
    return as_user(machine.environment(MODEL_URL=machine.stub.url, MODEL_KEY="none"), machine.tacit_home)


def test_the_client_alone() -> None:
    build = require_build()
    tests = sorted(map(str, (build / "test").glob("*.test.js")))
    assert len(tests) == 3
    run_node("--test", *tests, environment={"PATH": "/usr/bin:/bin"}, cwd=PACKAGE)


@pytest.mark.parametrize("way", ["socket", "port"])
def test_the_client_and_a_daemon(machine: Sandbox, way: str) -> None:
    environment = variables(machine)
    if way == "port":
        _, told = DaemonClient(Home(machine.tacit_home)).request("POST", "/listen", {})
        environment["DAEMON_URL"] = f"http://127.0.0.1:{told['port']}"
    run_node(
        "--test", str(require_build() / "test/e2e/daemon.js"), environment=environment, cwd=machine.project
    )


@pytest.mark.parametrize("api", ["anthropic", "chat"])
def test_the_middleware_keeps_every_prefix_and_learns_by_choice(machine: Sandbox, api: str, report) -> None:
    machine.remember(RULE, when="commit")
    environment = {**variables(machine), "MODEL_API": api}
    run_node(
        "--test", str(require_build() / "test/e2e/ai-sdk.js"), environment=environment, cwd=machine.project
    )
    requests = machine.stub.agent_requests
    assert [one.api for one in requests] == [api] * 5, "four turns, one of them with a call"
    assert moments_of(requests[-1].body) == ["start", "prompt", "failure"]
    (shipped,) = (place for place in find_places(requests[-1].body, "channel harbor"))
    assert "Announce the release of version 2.4" in json.dumps(
        requests[-1].messages[int(shipped.path.split("[")[1].split("]")[0])]
    )
    assert len({json.dumps(one.body.get("system")) for one in requests}) == 1, "the system prompt stays"
    found = compare_prefixes(requests)
    report(f"prefix kept, AI SDK with {api}", f"{found.kept_share:.2f} of {len(requests)} requests")
    assert found.kept_share == found.kept_bytes_share == 1.0, found.breaks
    kept = machine.wait_for_memory("SHOP-12")
    assert any("SHOP-12" in text for text in kept)
    assert not any("Helm" in text for text in kept), "one conversation was not to be learned from"


def test_the_chat_of_the_guide_has_a_memory_and_learns(machine: Sandbox) -> None:
    machine.remember(RULE, when="commit")
    said = ("Check in what we changed in the billing module.", NAME)
    program = str(require_build() / "examples/chat.js")
    assert (
        run_node(program, *said, environment=variables(machine), cwd=machine.project)
        == "STUB-OK 1\nSTUB-OK 2\n"
    )
    first, second = machine.stub.model_requests
    assert moments_of(first.body) == ["start"]
    assert "make lint" in json.dumps(first.messages[0])
    assert second.messages[: len(first.messages)] == first.messages
    machine.wait_for_memory("SHOP-12")


def test_the_package_loads_nothing_but_itself_and_node() -> None:
    require_build()
    code = "".join(path.read_text("utf-8") for path in (PACKAGE / "dist").rglob("*.js"))
    names = re.findall(r'^(?:import|export)\b[^;]*?\bfrom "([^"]+)"', code, re.MULTILINE)
    assert len(names) > 10
    assert [name for name in names if not name.startswith(("node:", "./", "../"))] == []


@pytest.mark.parametrize(
    ("page", "name"), [("bring-your-own-agent.md", "agent.ts"), ("typescript.md", "chat.ts")]
)
def test_the_guide_shows_the_programs_that_are_tested(page: str, name: str) -> None:
    shown = re.findall(r"^```ts\n(.*?)^```", (GUIDE / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert (PACKAGE / "examples" / name).read_text("utf-8") in shown
