"""The drivers and the stub model prove themselves with a hook and a plugin that know nothing of Tacit."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

from e2e.drivers.prefix import compare_prefixes
from tacit.hosts.probe.stub_model import CallTool, ModelRequest, Reply, Say

pytestmark = pytest.mark.e2e

HOOK = """
import json, sys
event = json.load(sys.stdin)
name = event["hook_event_name"]
tag = event.get("source") if name == "SessionStart" else event.get("tool_name", "")
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(event) + "\\n")
if name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"):
    said = {"hookEventName": name, "additionalContext": f"MARK_{name}_{tag}"}
    print(json.dumps({"hookSpecificOutput": said}))
"""
EVENTS = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
    "PreCompact",
]

PLUGIN = """
import { appendFileSync } from "node:fs"
const log = (line) => appendFileSync(process.env.HOOK_LOG, JSON.stringify(line) + "\\n")
export default { id: "mark", server: async () => ({
  event: async ({ event }) => { if (/^session/.test(event.type)) log(event.type) },
  "experimental.chat.system.transform": async (input, output) => {
    if (output.system[0]?.includes("<env>")) output.system.push("MARK_SYSTEM")
  },
}) }
"""


@pytest.fixture
def hook_log(sandbox):
    return sandbox.root / "hooks.jsonl"


@pytest.fixture
def marked_claude(sandbox, claude, hook_log):
    hook = sandbox.root / "hook.py"
    hook.write_text(textwrap.dedent(HOOK))
    command = {"type": "command", "command": sys.executable, "args": ["-S", "-E", str(hook), str(hook_log)]}
    claude.settings.parent.mkdir(parents=True)
    claude.settings.write_text(json.dumps({"hooks": {name: [{"hooks": [command]}] for name in EVENTS}}))
    return claude


def test_claude_one_shot_and_resume(sandbox, marked_claude, report):
    first = marked_claude.ask("hello STUB_TEXT hi")
    assert (first.text, first.error) == ("hi", False)
    (request,) = sandbox.stub.agent_requests
    assert request.find("MARK_SessionStart_startup")
    assert request.find("MARK_UserPromptSubmit")
    second = marked_claude.ask("again", resume=first.session_id)
    assert second.session_id == first.session_id
    assert sandbox.stub.agent_requests[-1].find("MARK_SessionStart_resume")
    assert marked_claude.transcripts()
    report("claude turn", f"{first.took_ms:.0f} ms, resumed {second.took_ms:.0f} ms")


def test_claude_session_with_tools_compaction_and_clear(sandbox, marked_claude, hook_log):
    sandbox.write("a.txt", "alpha\n")
    read = CallTool(name="Read", input={"file_path": str(sandbox.project / "a.txt")})
    fail = CallTool(name="Bash", input={"command": "exit 3", "description": "fail"})
    sandbox.stub.script.append(Reply(when="work on a", answers=(read, fail, Say(text="finished"))))
    with marked_claude.session() as session:
        turn = session.ask("work on a")
        assert turn.text == "finished"
        last = sandbox.stub.agent_requests[-1]
        assert last.find("MARK_PostToolUse_Read")
        assert last.find("MARK_PostToolUseFailure_Bash")
        assert last.find("alpha")
        session.ask("/compact")
        sandbox.stub.clear()
        session.ask("after compaction")
        after = sandbox.stub.agent_requests[-1]
        assert after.find("MARK_SessionStart_compact")
        assert not after.find("MARK_SessionStart_startup")
        session.ask("/clear")
        sandbox.stub.clear()
        cleared = session.ask("after clear")
        assert cleared.session_id != turn.session_id
        assert sandbox.stub.agent_requests[-1].find("MARK_SessionStart_clear")
    events = [json.loads(line)["hook_event_name"] for line in hook_log.read_text().splitlines()]
    assert events[0] == "SessionStart"
    assert "PreCompact" in events
    assert events.count("SessionEnd") == 2


def test_opencode_session_title_compaction_and_delete(sandbox, opencode, hook_log, report):
    opencode.plugins.mkdir(parents=True)
    (opencode.plugins / "mark.js").write_text(PLUGIN)
    with opencode.serve(HOOK_LOG=str(hook_log)) as server:
        session = server.create_session()
        first = server.prompt(session, "one STUB_TEXT yes")
        assert (first.text, first.error) == ("yes", None)
        (request,) = sandbox.stub.agent_requests
        assert request.find("MARK_SYSTEM")
        title = sandbox.stub.wait_for("title", timeout_s=60)
        assert title is not None
        second = server.prompt(
            session, 'two STUB_TOOL {"name":"bash","input":{"command":"echo out","description":"x"}}'
        )
        assert sandbox.stub.agent_requests[-1].find("out")
        assert compare_prefixes(sandbox.stub.agent_requests).kept_share == 1.0
        server.summarize(session)
        server.prompt(session, "three")
        assert sandbox.stub.agent_requests[-1].find("What did we do so far")
        assert len(server.messages(session)) >= 6
        server.delete(session)
        report("opencode server start", f"{server.start_ms:.0f} ms")
        report("opencode turn", f"{first.took_ms:.0f} ms, with a tool call {second.took_ms:.0f} ms")
    assert not any(r.find("MARK_SYSTEM") for r in sandbox.stub.model_requests if not r.offers_tools)
    assert "session.deleted" in hook_log.read_text()


def test_prefix_comparison_sees_every_change():
    def request(number, *texts):
        messages = [{"role": "user", "content": text} for text in texts]
        return ModelRequest(
            number=number,
            at_ms=0,
            method="POST",
            path="/v1/messages",
            headers={},
            body={"messages": messages},
        )

    kept = compare_prefixes([request(1, "a"), request(2, "a", "b"), request(3, "a", "b", "c")])
    assert (kept.kept_share, kept.kept_bytes_share, kept.breaks) == (1.0, 1.0, ())
    broken = compare_prefixes(
        [request(1, "a", "b"), request(2, "a", "changed", "c"), request(3, "a", "changed", "c", "d")]
    )
    assert broken.kept_share == 0.5
    assert 0.5 < broken.kept_bytes_share < 1.0
    assert broken.breaks == ("request 2: message 1 of 2 changed",)
