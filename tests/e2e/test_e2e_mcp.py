"""The MCP tools in the hands of real clients: Claude Code calls them because the stub model asks it to."""

from __future__ import annotations

import json

import pytest

from e2e.drivers.claude import ClaudeCode
from e2e.drivers.tools import ask_tools
from e2e.host_matrix import proves
from scripted_model import ScriptedReply
from tacit.hosts.claude_code import install as claude_probe
from tacit.hosts.probe.wire import CallTool, Say
from tacit.mcp.server import INSTRUCTIONS
from tacit.mcp.tools import TOOLS
from tacit.providers.tokens import ExactCounter

pytestmark = pytest.mark.e2e

PREFIX = "mcp__tacit__"
CHECKOUT = "Payments go through Stripe Checkout; we never build card forms of our own."


class AsInstalled(ClaudeCode):
    """The client as a person starts it after `tacit install`: no option allows a tool."""

    def _command(self) -> list[str]:
        return [str(self.executable), "-p", "--model", claude_probe.MODEL]

    def _environment(self, **more: str) -> dict[str, str]:
        # Its list of tools is what has connected by then: not to be a question of how busy the machine is.
        return super()._environment(MCP_CONNECT_TIMEOUT_MS="90000", MCP_TIMEOUT="90000", **more)


class WithTools(AsInstalled):
    """The client of a person who lets all of Tacit's tools run."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--allowedTools", " ".join(f"{PREFIX}{tool.name}" for tool in TOOLS)]


@pytest.fixture
def client(sandbox, claude):
    made = WithTools(sandbox, claude.executable)
    sandbox.configure("mcp:\n  tools: full\n")
    made.install()
    sandbox.wake_daemon()
    load_tools(sandbox)
    return made


def load_tools(sandbox) -> None:
    """Have the daemon load its MCP server, as a first session does: the client waits for no list of tools."""
    told = ask_tools(sandbox.tacit_home / "bin" / "tacit-hook", sandbox.environment(), "tools/list")
    assert "memory_search" in [tool["name"] for tool in told["tools"]]


def results(sandbox) -> list[str]:
    """All tool results in the newest request, in order. The client gives the model the structured answers."""
    content = (m["content"] for m in sandbox.stub.agent_requests[-1].messages)
    parts = (part for each in content if isinstance(each, list) for part in each)
    return [json.dumps(part["content"]) for part in parts if part.get("type") == "tool_result"]


def structure(result: str) -> dict:
    """The structured answer in a tool result."""
    content = json.loads(result)
    text = content if isinstance(content, str) else content[0]["text"]
    return json.JSONDecoder().raw_decode(text)[0]


def script(sandbox, when: str, calls: list[tuple[str, dict[str, object]]]) -> None:
    made = [CallTool(name=f"{PREFIX}{tool}", input=given) for tool, given in calls]
    sandbox.stub.script.append(ScriptedReply(when=when, answers=(*made, Say(text="done"))))


@proves("claude-code", "on_demand")
def test_claude_code_calls_every_tool_and_the_model_reads_the_answers(sandbox, client, report):
    sandbox.remember(CHECKOUT, kind="decision")
    words = "From now on we round prices half to even in the invoice code."
    asking = [
        ("memory_search", {"query": "how do payments work with Stripe Checkout"}),
        ("memory_context", {}),
        ("inject_context", {"topic": "payments with Stripe Checkout", "memory_types": "decision"}),
        (
            "get_context_for_task",
            {"task_description": "build the card form for payments with Stripe Checkout"},
        ),
        ("memory_profile", {}),
        ("memory_stats", {}),
        ("memory_why", {}),
        (
            "memory_add",
            {"content": "We round prices half to even in the invoice code.", "user_words": words},
        ),
        ("memory_list", {}),
    ]
    script(sandbox, "half to even", asking)
    assert client.ask(words).text == "done"
    told = results(sandbox)
    assert len(told) == len(asking)
    found = dict(zip((name for name, _ in asking), told, strict=True))
    for name in ("memory_search", "memory_context", "inject_context", "get_context_for_task", "memory_list"):
        assert "Stripe Checkout" in found[name], (name, found[name])
    assert structure(found["memory_stats"])["active"] == 2
    recalls = structure(found["memory_why"])["recalls"]
    assert recalls
    assert all(recall["trace"].startswith("trc_") for recall in recalls)
    added = structure(found["memory_add"])
    assert added["changes"][0]["id"].startswith("mem_")
    assert "unconfirmed" not in added["note"], "the hook saw the user say it"

    lists = {json.dumps(request.body["tools"]) for request in sandbox.stub.agent_requests}
    assert len(lists) == 1, "a list that changes breaks the prompt cache"
    # Claude Code shows the names of other tools alone, and what they are for when the model looks for them.
    offered = {tool["name"]: tool for tool in sandbox.stub.agent_requests[-1].body["tools"]}
    shown = [tool for tool in TOOLS if f"{PREFIX}{tool.name}" in offered]
    assert [tool.name for tool in shown] == ["memory_search", "memory_get", "memory_add"]
    for tool in shown:
        assert offered[f"{PREFIX}{tool.name}"]["description"] == tool.about
    text = json.dumps(sandbox.stub.agent_requests[-1].body)
    assert json.dumps(INSTRUCTIONS)[1:-1] in text, "what the server says of itself reaches the model"
    assert all(f"{PREFIX}{tool.name}" in text for tool in TOOLS)
    cost = ExactCounter().count(json.dumps([offered[f"{PREFIX}{tool.name}"] for tool in shown]))
    report("tokens of the tools that every request of Claude Code holds", str(cost))

    text, listed = (structure(found["memory_list"])[part] for part in ("text", "memories"))
    (name,) = (
        one["id"]
        for one in listed
        if one["kind"] == "decision" and f"{one['id']} [decision] Payments" in text
    )
    more = [
        ("memory_feedback", {"id": name, "useful": True}),
        ("memory_forget", {"id": name}),
        ("memory_search", {}),
    ]
    script(sandbox, "step two", more)
    assert client.ask("step two please").text == "done"
    useful, kept, wrong = results(sandbox)[-3:]
    assert structure(useful) == {"id": name, "counted": True}
    assert "only with the user's words" in kept
    assert "`query` is missing" in wrong


def test_as_installed_claude_code_fetches_and_notes_without_a_question_and_asks_without_the_rule(
    sandbox, claude
):
    client = AsInstalled(sandbox, claude.executable)
    client.install()
    (known,) = sandbox.remember(CHECKOUT, kind="decision")
    sandbox.wake_daemon()
    load_tools(sandbox)
    note = {"content": "Prices are rounded half to even.", "kind": "fact"}
    script(sandbox, "look it up", [("memory_get", {"ids": [known]}), ("memory_add", note)])

    client.ask("look it up")
    assert all("haven't granted" in told for told in results(sandbox)), "without the rule it asks"
    assert len(results(sandbox)) == 2
    assert not any("half to even" in text for text in sandbox.contents())

    sandbox.tacit("install", "claude-code", "--yes", "--allow-tools")
    assert client.ask("look it up").text == "done"
    got, added = results(sandbox)
    assert "Stripe Checkout" in got
    assert structure(added)["changes"][0]["change"] == "add"
    assert any("half to even" in text for text in sandbox.contents())

    sandbox.tacit("install", "claude-code", "--yes", "--no-allow-tools")
    client.ask("look it up")
    assert all("haven't granted" in told for told in results(sandbox))
