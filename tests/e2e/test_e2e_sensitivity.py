"""Every level of sensitivity on every way out: hook process, daemon, MCP over the pipe, command line, export and import."""

from __future__ import annotations

import json

import pytest

from e2e.drivers.machine import Machine
from forks import run_tacit
from tacit.client.daemon_client import DaemonClient
from tacit.errors import InvalidInput, NotFound

pytestmark = pytest.mark.slow

WORDS = {
    "public": "Always name release branches after a river, for example elbe",
    "project": "Always run the schema linter before a commit to the billing tables",
    "session": "Always use the canary cluster for the experiments of today",
    "restricted": "Always escalate pager incidents to the Lisbon office first",
}
QUESTIONS = {
    "public": "which river names the release branches",
    "project": "when does the schema linter run before a commit to the billing tables",
    "session": "which canary cluster is for the experiments of today",
    "restricted": "to which office first are pager incidents escalated",
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
    assert shown(machine.tacit("context").stdout) == everyone

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


def test_an_agent_may_restrict_what_it_states_and_not_widen_it(machine: Machine) -> None:
    know_all(machine)
    said = mcp(
        machine, "memory_add", content="The Oslo tunnel is closed on Mondays.", sensitivity="restricted"
    )
    assert "Stored" in said
    assert "Oslo" not in mcp(machine, "memory_list", limit=50)
    assert "project" in mcp(machine, "memory_add", content="The tea is green.", sensitivity="public")
    mcp(machine, "memory_add", content=WORDS["public"], kind="preference", sensitivity="restricted")
    assert machine.request("GET", "/v1/memories?text=river")["memories"][0]["sensitivity"] == "public"


def test_the_command_line_sets_and_shows_the_level_and_names_the_known_ones(machine: Machine) -> None:
    words = "The staging host is called rosella"
    machine.tacit("remember", words, "--sensitivity", "restricted")
    found = machine.request("GET", "/v1/memories?text=rosella&status=all")["memories"][0]
    assert found["sensitivity"] == "restricted"
    assert "restricted" in machine.tacit("show", found["id"]).stdout
    changed = machine.ask("edit", found["id"], "--sensitivity", "public")
    assert changed["memory"]["sensitivity"] == "public"
    for command in (("remember", "x y z"), ("edit", found["id"])):
        told = machine.tacit(*command, "--sensitivity", "secret", code=3).stderr
        assert all(level in told for level in WORDS)
    quiet = machine.root / "quiet"  # no session has been at work here
    quiet.mkdir()
    with pytest.raises(InvalidInput, match="session"):
        machine.remember("Nothing is at work here", sensitivity="session", cwd=str(quiet))
    with pytest.raises(InvalidInput, match="wider than a project"):
        machine.remember("Everywhere and nowhere", sensitivity="project", scope="universal")
    machine.tacit("stop")


def test_export_and_import_keep_the_level(machine: Machine) -> None:
    know_all(machine)
    file = machine.root / "all.jsonl"
    machine.tacit("export", "-o", str(file))
    with Machine() as other:
        other.wake()
        other.tacit("import", str(file), "--mine")
        levels = {
            one["content"]: one["sensitivity"]
            for one in other.request("GET", "/v1/memories?status=all")["memories"]
        }
        assert {words: levels.get(words) for words in WORDS.values()} == {w: n for n, w in WORDS.items()}


def test_a_program_that_is_not_the_users_is_shown_neither_what_is_restricted_nor_what_is_of_a_session(
    machine: Machine,
) -> None:
    know_all(machine)
    agent = DaemonClient(machine.home)
    everyone, here = {"public", "project"}, str(machine.project)
    ids = {one["sensitivity"]: one["id"] for one in machine.request("GET", "/v1/memories")["memories"]}
    assert set(ids) == set(WORDS)

    def said(method: str, path: str, body: object = None) -> set[str]:
        return shown(json.dumps(agent.request(method, path, body)[1]))

    for level, question in QUESTIONS.items():
        asked = {"text": question, "cwd": here}
        assert said("POST", "/v1/recall", asked) <= everyone
        assert level in shown(machine.request("POST", "/v1/recall", asked)["block"]["text"])
    for path in (
        "/v1/memories?limit=50",
        f"/v1/memories?cwd={here}&sensitivity=restricted&sensitivity=session",
        "/v1/memories?text=Lisbon",
        "/v1/memories?text=canary",
        "/v1/search?text=Lisbon",
        "/v1/search?text=canary",
        "/v1/graph",
        "/v1/changes",
        "/v1/review",
        "/v1/traces?limit=50",
        "/v1/timeline?limit=50",
        "/v1/exposures?limit=50",
        "/v1/sessions?limit=50",
        "/v1/sessions/claude-code/s1",
        "/v1/digests",
    ):
        assert said("GET", path) <= everyone, path
    assert said("GET", "/v1/memories?limit=50") == everyone
    traces = [one["id"] for one in machine.request("GET", "/v1/traces?limit=50")["traces"]]
    seen = [json.dumps(machine.request("GET", f"/v1/traces/{name}")) for name in traces]
    assert {"restricted", "session"} <= shown("".join(seen))
    for name in traces:
        assert said("GET", f"/v1/traces/{name}") <= everyone
        assert said("GET", f"/v1/traces/{name}/replay?threshold=0.1") <= everyone
    for level in ("restricted", "session"):
        for path in ("", "/history", "/relations", "/exposures"):
            with pytest.raises(NotFound):
                agent.request("GET", f"/v1/memories/{ids[level]}{path}")
        with pytest.raises(NotFound):
            agent.request("GET", f"/v1/exposures?memory={ids[level]}")
        with pytest.raises(NotFound):
            agent.request("DELETE", f"/v1/memories/{ids[level]}")
    for words in (("list",), ("recall", QUESTIONS["restricted"]), ("show", ids["restricted"]), ("why",)):
        done = run_tacit(words, environ=machine.environ, cwd=machine.project)
        assert shown(" ".join((done.stdout + done.stderr).split())) <= everyone
    assert "restricted" in shown(machine.tacit("show", ids["restricted"]).stdout.replace("\n", " "))
