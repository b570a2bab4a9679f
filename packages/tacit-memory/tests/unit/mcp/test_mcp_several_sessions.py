"""With several sessions at work in one folder, the hook of a call tells in which of them the user's words were typed."""

from __future__ import annotations

import json

import pytest

from tacit.errors import RefusedByTrust
from tacit.model.memory import TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from unit.mcp.desk import opened

RULE = "dont touch the billing module, its being rewritten next month"
NOTE = {"content": "The billing module is not to be touched.", "user_words": RULE}
ENDS = "forget the rule about the billing module, it is done"


@pytest.fixture
def desk(tmp_path):
    for desk in opened(tmp_path):
        desk.say(RULE, "a")
        desk.say("how do I run the tests?", "b")
        yield desk


def announce(desk, session, tool="mcp__tacit__memory_add", given=NOTE, **fields):
    event = {
        "hook_event_name": "PreToolUse", "session_id": session, "cwd": str(desk.folder), "transcript_path": "",
        "tool_name": tool, "tool_input": given, **fields,
    }  # fmt: skip
    return desk.engine.hook("claude-code", event, deadline_ms=5000)


def stored(desk):
    (memory,) = desk.engine.list_memories(MemoryFilter(statuses=("active", "quarantined")))
    return memory


@pytest.mark.parametrize("server", ["mcp__tacit__", "mcp__plugin_tacit_tacit__"])
def test_the_hook_of_a_call_tells_its_session(desk, server):
    assert announce(desk, "a", f"{server}memory_add") == ""
    desk.ask("memory_add", **NOTE)
    memory = stored(desk)
    assert (memory.status, memory.provenance.tier) == ("active", TrustTier.USER)
    assert (memory.provenance.host, memory.provenance.session_id) == ("claude-code", "a")


def test_a_subagents_call_is_of_its_session(desk):
    announce(desk, "a", agent_id="sub1", agent_type="general-purpose")
    desk.ask("memory_add", **NOTE)
    assert stored(desk).provenance.tier is TrustTier.USER


@pytest.mark.parametrize(
    "before",
    [
        lambda desk: None,
        lambda desk: announce(desk, "b"),
        lambda desk: (announce(desk, "a"), announce(desk, "b")),
        lambda desk: announce(desk, "a", "mcp__other__memory_add"),
        lambda desk: announce(desk, "a", "mcp__tacit__memory_update"),
        lambda desk: announce(desk, "a", given={**NOTE, "content": "The billing module is old."}),
        lambda desk: (announce(desk, "a"), desk.engine.clock.advance(61_000)),
        lambda desk: announce(desk, "unheard"),
    ],
    ids=["no hook", "other session", "both", "other server", "other tool", "other words", "late", "unknown"],
)
def test_without_its_own_hook_nothing_vouches(desk, before):
    before(desk)
    desk.ask("memory_add", **NOTE)
    memory = stored(desk)
    assert (memory.status, memory.provenance.tier) == ("quarantined", TrustTier.IMPORT)


def test_hooks_of_one_call_stand_for_one_call(desk):
    announce(desk, "a")
    announce(desk, "a")  # by a second installation
    key = SessionKey(host="claude-code", session_id="a")
    agents = desk.engine.agents
    assert agents.in_its_session(desk.caller, "memory_add", NOTE.get).session == key
    assert agents.in_its_session(desk.caller, "memory_add", NOTE.get).session is None


def test_a_hook_in_another_project_tells_nothing(desk, tmp_path):
    (tmp_path / "other" / ".git" / "objects").mkdir(parents=True)
    here, desk.folder = desk.folder, tmp_path / "other"
    desk.say(RULE, "c")
    announce(desk, "c")
    desk.folder = here
    desk.ask("memory_add", **NOTE)
    assert stored(desk).status == "quarantined"


def test_only_the_session_in_which_the_user_asked_for_it_ends_a_memory(desk):
    name = desk.know("Nobody may touch the billing module.")
    given = {"id": name, "user_words": ENDS}
    desk.say(ENDS, "a")
    for session in ("", "b"):
        if session:
            announce(desk, session, "mcp__tacit__memory_forget", given)
        with pytest.raises(RefusedByTrust):
            desk.ask("memory_forget", **given)
    announce(desk, "a", "mcp__tacit__memory_forget", given)
    assert "Forgotten" in desk.ask("memory_forget", **given)


def test_an_update_counts_as_said_in_its_session(desk):
    name = desk.know("Nobody may touch the billing module before June.")
    words = "the billing module may be touched from July on, not June"
    desk.say(words, "a")
    given = {"id": name, "content": words, "user_words": words}
    announce(desk, "a", "mcp__tacit__memory_update", given)
    desk.ask("memory_update", **given)
    assert any(
        memory.provenance.tier is TrustTier.USER and "July" in memory.content
        for memory in desk.engine.list_memories(MemoryFilter())
    )


def test_the_hook_of_our_own_call_recalls_and_records_nothing(desk):
    desk.know("Before the billing module is touched, ask Ana.", when="path:billing/**, always")
    before, known = desk.engine.sessions(), desk.engine.list_memories(MemoryFilter())
    assert announce(desk, "a", given=json.dumps(NOTE)) == ""
    assert (desk.engine.sessions(), desk.engine.list_memories(MemoryFilter())) == (before, known)


def codex(event, session, **fields):
    return {"hook_event_name": event, "session_id": session, "transcript_path": "", **fields}


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("host", ["codex", "opencode"])
def test_other_hosts_tell_the_session_of_a_call_as_well(desk, host, announced):
    cwd = str(desk.folder)

    def hook(said, tool):
        return desk.engine.hook(host, said if host == "codex" else tool, deadline_ms=5000)

    for name, text in (("a2", RULE), ("b2", "how do I run the tests?")):
        hook(
            codex("UserPromptSubmit", name, cwd=cwd, prompt=text, turn_id=name),
            {"event": "prompt", "sessionID": name, "directory": cwd, "messageID": name, "text": text},
        )
    if announced:
        hook(
            codex("PreToolUse", "a2", cwd=cwd, tool_name="mcp__tacit__memory_add", tool_input=NOTE, tool_use_id="1"),
            {
                "event": "tool.before", "sessionID": "child", "parentID": "a2", "directory": cwd,
                "tool": "tacit_memory_add", "callID": "1", "args": NOTE,
            },
        )  # fmt: skip
    desk.ask("memory_add", **NOTE)
    provenance = stored(desk).provenance
    assert (provenance.host, provenance.session_id) == ((host, "a2") if announced else ("", ""))
    assert (provenance.tier is TrustTier.USER) == announced
