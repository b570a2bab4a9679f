"""Every level of sensitivity on every way out: hook process, daemon, MCP over the pipe, command line, export and import."""

from __future__ import annotations

import json

import pytest

from e2e.drivers.machine import Machine

pytestmark = pytest.mark.slow

WORDS = {
    "public": "Always name release branches after a river, for example elbe",
    "project": "Always run the schema linter before a commit to the billing tables",
    "session": "Always use the canary cluster for the experiments of today",
    "restricted": "Always escalate pager incidents to the Lisbon office first",
}
PROMPT = "Commit the billing tables, name the release branch, run the experiments on the cluster and handle the pager incident"


def start(machine: Machine, session: str, **fields: object) -> str:
    return machine.start(session_id=session, **fields)


def shown(text: str) -> set[str]:
    return {level for level, words in WORDS.items() if words in text}


def mcp(machine: Machine, tool: str, **arguments: object) -> str:
    call = {"name": tool, "arguments": arguments}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]  # fmt: skip
    process = machine.popen("mcp", CLAUDE_PROJECT_DIR=str(machine.project))
    out, _ = process.communicate("".join(json.dumps(one) + "\n" for one in messages).encode(), timeout=180)
    answers = [json.loads(line) for line in out.splitlines()]
    result = next(one for one in answers if one.get("id") == 2)["result"]
    return "\n".join(part["text"] for part in result["content"])


def know_all(machine: Machine) -> None:
    machine.wake()
    start(machine, "s1")
    for level, words in WORDS.items():
        said = {"session": {"host": "claude-code", "session_id": "s1"}} if level == "session" else {}
        machine.remember(words, sensitivity=level, **said)


def test_each_level_appears_where_it_may_and_nowhere_else(machine: Machine) -> None:
    know_all(machine)
    everyone = {"public", "project"}
    assert shown(start(machine, "s1", source="compact")) == {*everyone, "session"}
    assert shown(start(machine, "s2")) == everyone
    assert "restricted" not in shown(machine.prompt(PROMPT, session_id="s3"))
    assert "session" not in shown(machine.prompt(PROMPT, session_id="s4"))
    other = machine.root / "other"
    (other / ".git" / "objects").mkdir(parents=True)
    assert shown(start(machine, "s5", cwd=str(other))) == set()
    assert shown(machine.tacit("recall").stdout) == everyone

    listed = machine.request("GET", f"/v1/memories?cwd={machine.project}")["memories"]
    assert {one["sensitivity"] for one in listed} == set(WORDS)
    assert shown(machine.tacit("list").stdout.replace("\n", " ")) <= set(WORDS)
    for level, words in WORDS.items():
        found = machine.request("POST", "/v1/recall", {"text": words, "cwd": str(machine.project)})
        assert words in found["block"]["text"], level


def test_an_agent_never_reads_what_is_restricted(machine: Machine) -> None:
    know_all(machine)
    hidden = "always escalate which pager incidents to which office first"
    memory = machine.request("GET", "/v1/memories?text=Lisbon")["memories"][0]
    for_user = machine.request("POST", "/v1/recall", {"text": hidden, "cwd": str(machine.project)})
    assert "restricted" in shown(for_user["block"]["text"])
    answers = [
        mcp(machine, "memory_search", query=hidden),
        mcp(machine, "memory_list", limit=50),
        mcp(machine, "memory_profile"),
        mcp(machine, "memory_context"),
        mcp(machine, "memory_context", query=hidden),
        mcp(machine, "get_context_for_task", task_description=hidden),
        mcp(machine, "memory_why"),
        mcp(machine, "memory_why", id=memory["id"]),
        mcp(machine, "memory_forget", id=memory["id"]),
        mcp(machine, "memory_feedback", id=memory["id"], useful=True),
    ]
    assert "restricted" not in shown("\n".join(answers))
    assert machine.request("GET", f"/v1/memories/{memory['id']}")["memory"]["status"] == "active"
