"""Subagents of the real Claude Code: the task in the call of their parent decides what they get, and the settings how much."""

from __future__ import annotations

import pytest

from e2e.drivers.claude import ClaudeCode
from e2e.drivers.clients import require_client
from e2e.drivers.sandbox import Sandbox
from tacit.hosts.probe.stub_model import CallTool, Say, ScriptedReply, find_places

pytestmark = pytest.mark.e2e

GATE = "Run `make lint` before every commit."
SIZE = "src/billing/parse.py must not load a whole file; customers send gigabytes."
TASKS = {
    "general-purpose": "Repair the crash in src/billing/parse.py, then commit it.",
    "Explore": "Name the modules of this project.",
}


def delegate(settings: str) -> dict[str, list[str]]:
    """A session in which the model starts a subagent of each type; by type the memories that its first request holds."""
    with Sandbox() as sandbox:
        executable = require_client("claude")
        sandbox.search_path = f"{executable.parent}:{sandbox.search_path}"
        sandbox.configure(f"recall:\n  budgets: {{start: 0}}\n{settings}")
        sandbox.remember(GATE, kind="preference")
        sandbox.remember(SIZE, kind="fact")
        client = ClaudeCode(sandbox, executable)
        client.install()
        sandbox.wake_daemon()
        calls = [
            CallTool(name="Agent", input={"description": "work", "prompt": task, "subagent_type": kind})
            for kind, task in TASKS.items()
        ]
        sandbox.stub.script.append(ScriptedReply(when="^share the work", answers=(*calls, Say(text="done"))))
        assert client.ask("share the work").text == "done"
        return {kind: _told(sandbox, task) for kind, task in TASKS.items()}


def _told(sandbox: Sandbox, task: str) -> list[str]:
    """The memories in the requests of the subagent with this task; its task stands in its first message."""
    own = [
        one for one in sandbox.stub.agent_requests
        if one.messages and task in str(one.messages[0]) and "share the work" not in str(one.messages[0])
    ]  # fmt: skip
    assert own, f"no subagent was asked: {task}"
    return [text for text in (GATE, SIZE) if any(find_places(one.body, text[:30]) for one in own)]


def test_a_subagent_gets_what_its_task_needs() -> None:
    assert delegate("") == {"general-purpose": [GATE, SIZE], "Explore": []}
