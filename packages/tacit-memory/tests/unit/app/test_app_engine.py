"""The engine over a real store: statement -> event -> the block holds it, and -> the block is empty."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent import Agent
from samples import NOW_MS
from tacit.hosts.codex import CAP_BYTES
from tacit.model.memory import Speaker
from tacit.model.pack import Surface
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from transcripts import write_transcript

RULE = "Run `make lint` before every commit."


def quiet(make_engine):
    """An engine without a start pack, so that other surfaces can be seen."""
    return make_engine(recall={"budgets": {"start": 0}})


@pytest.fixture
def agent(make_engine, place):
    """A session that began without a word; the rule comes where it commits."""
    engine = quiet(make_engine)
    engine.remember(RULE, cwd=str(place), when="commit")
    agent = Agent(engine, place)
    assert agent.start() == ""
    return agent


def test_the_session_that_said_it_is_not_told(engine, place):
    agent = Agent(engine, place)
    agent.start()
    agent.prompt("Remember that we always run `make lint` before committing.")
    assert agent.prompt("please commit this") == ""


def test_a_prompt_that_a_rule_governs_gets_it_once(agent):
    assert RULE in agent.prompt("is make lint run before every commit?")
    assert agent.prompt("so make lint before every commit, yes?") == ""


def test_the_same_event_twice_is_answered_once(engine, place):
    engine.remember(RULE, cwd=str(place))
    agent = Agent(engine, place)
    payload = {"session_id": "s9", "cwd": str(place), "hook_event_name": "SessionStart", "source": "startup"}
    first = engine.hook("claude-code", payload, deadline_ms=5000)
    assert RULE in first
    assert engine.hook("claude-code", payload, deadline_ms=5000) == ""
    assert agent.engine.sessions()[0].key == SessionKey(host="claude-code", session_id="s9")


def test_a_muted_session_gets_nothing_until_unmuted(agent):
    key = SessionKey(host="claude-code", session_id="s1")
    agent.engine.live.mute(key, muted=True)
    assert agent.prompt("commit this") == ""
    agent.engine.live.mute(key, muted=False)
    assert RULE in agent.prompt("commit this please")


def test_a_rule_that_the_host_loads_comes_only_at_its_action(make_engine, place):
    engine = make_engine()
    (place / "CLAUDE.md").write_text("# Rules\n\n- Run `make lint` before every commit.\n")
    done = engine.init_project(str(place))
    assert [f.path for f in done.files] == ["CLAUDE.md"]
    agent = Agent(engine, place)
    assert "make lint" not in agent.start()
    assert agent.prompt("please commit this") == ""
    assert "make lint" in agent.tool("PreToolUse", "Bash", "t1", command="git commit -m done")


def test_a_fork_inherits_what_its_parent_was_given(engine, place):
    from tacit.hosts.plain import Plain
    from tacit.model.signal import SessionStarted

    engine.remember(RULE, cwd=str(place))
    caps = replace(Plain().capabilities, stored=True)
    parent = SessionKey(host="plain", session_id="a")
    first = SessionStarted(session=parent, key="1", at_ms=NOW_MS, cwd=str(place))
    fork = SessionStarted(
        session=SessionKey(host="plain", session_id="b"),
        key="1",
        at_ms=NOW_MS,
        cwd=str(place),
        source="fork",
        parent=parent,
    )
    assert RULE in engine.handle(first, capabilities=caps, deadline_ms=5000).block.text
    assert engine.handle(fork, capabilities=caps, deadline_ms=5000).block.empty


def test_a_rule_of_an_agent_alone_is_its_own_note_and_governs_no_call(engine, place):
    engine.remember(
        "Always deploy on Fridays.", cwd=str(place), speaker=Speaker.AGENT, source="mcp", when="deploy"
    )
    assert "(agent's note, 2025-10-09, unconfirmed)" in Agent(engine, place).start()
    agent = Agent(engine, place, "s2")
    assert "Fridays" not in agent.tool("PreToolUse", "Bash", command="make deploy")


def test_editing_confirms_and_forgetting_silences(engine, place):
    engine.remember("Always deploy on Mondays.", cwd=str(place), speaker=Speaker.AGENT, source="mcp")
    (held,) = engine.list_memories(MemoryFilter())
    engine.memories.edit(engine.show(held.id), content="Deploy on Mondays only.")
    assert "Deploy on Mondays only." in Agent(engine, place).start()
    engine.memories.retire(engine.show(held.id[:12]))
    assert Agent(engine, place, "s2").start() == ""
    assert [m.status for m in engine.store.history(engine.show(held.id).id, scope=engine.store.scopes())][
        -1
    ] == "retired"


def test_a_transcript_whose_capture_failed_is_tried_again_after_ever_longer_pauses(
    engine, place, tmp_path, monkeypatch
):
    now_s, said = 0.0, ("user", "From now on we always deploy with `make ship`.")
    monkeypatch.setattr("tacit.app.learning.monotonic", lambda: now_s)

    def attempts():
        engine.flush()
        return [handover.attempts for handover in engine.store.pending_handovers(limit=5)]

    agent = Agent(engine, place, transcript_path=str(tmp_path / "t.jsonl"))
    agent.end()
    assert attempts() == [1]
    tried = {}
    for now_s in (1.0, 2.0, 15.9, 16.0, 75.9, 76.0):
        engine.learning.retry_pending()
        tried[now_s] = attempts()
    assert tried == {1.0: [2], 2.0: [2], 15.9: [2], 16.0: [3], 75.9: [3], 76.0: [4]}
    write_transcript(tmp_path / "t.jsonl", said, cwd=place, at="2025-10-09T10:00:00Z")
    now_s = 316.0
    engine.learning.retry_pending()
    assert attempts() == []
    assert any("make ship" in m.content for m in engine.list_memories(MemoryFilter()))


def test_a_transcript_does_not_wait_for_the_pause_of_one_that_failed_before_it(
    engine, place, tmp_path, monkeypatch
):
    now_s = 0.0
    monkeypatch.setattr("tacit.app.learning.monotonic", lambda: now_s)

    def attempts():
        engine.flush()
        return [handover.attempts for handover in engine.store.pending_handovers(limit=5)]

    def end_session(name):
        Agent(engine, place, name, transcript_path=str(tmp_path / "none.jsonl")).end()
        engine.flush()
        engine.learning.retry_pending()
        return attempts()

    assert end_session("s1") == [2]
    now_s = 5.0  # the first one waits until 15.0
    assert end_session("s2") == [4, 2], "once behind the second session, once by itself"
    now_s = 6.0
    engine.learning.retry_pending()
    assert attempts() == [4, 2]


@pytest.mark.parametrize("damaged", [True, False])
def test_nobody_calls_a_topic_new_over_a_store_that_lost_statements(make_engine, tmp_path, place, damaged):
    home = tmp_path / "home"
    home.mkdir()
    if damaged:
        (home / "tacit.db").write_bytes(b"this is no database" * 1000)
    agent = Agent(make_engine(preset="multispace"), place)
    agent.start()
    said = agent.prompt("Implement the catalogue page of violin strings")
    assert ("This appears to be a new topic" in said) is not damaged


def test_the_first_session_says_one_line_and_later_ones_none(engine, place):
    engine.remember(RULE, cwd=str(place))

    def notice(session):
        payload = {
            "session_id": session,
            "cwd": str(place),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        return json.loads(engine.hook("claude-code", payload, deadline_ms=5000)).get("systemMessage", "")

    assert notice("s1") == "Tacit on: 1 memory, 1 in the start pack"
    assert notice("s2") == "", "though what was said is not stored yet"
    engine.flush()
    assert notice("s3") == ""


def test_incognito_injects_and_stores_nothing(make_engine, place):
    make_engine().remember(RULE, cwd=str(place))
    engine = make_engine(privacy={"incognito": True})
    agent = Agent(engine, place)
    assert RULE in agent.start()
    agent.prompt("Remember that we never use tabs here.")
    assert len(engine.list_memories(MemoryFilter())) == 1
    assert engine.why() == ()


def test_what_is_unconfirmed_is_found_on_demand_only_and_marked(engine, place):
    engine.remember(
        "The staging database is copied every night.", cwd=str(place), speaker=Speaker.AGENT, source="agent"
    )
    found = engine.recall("when is the staging database copied", cwd=str(place))
    assert "every night" in found.block.text
    assert "(agent, " in found.block.text
    assert "unconfirmed" in found.block.text
    (waiting,) = engine.review.queue.page().items
    assert "not confirmed by you" in waiting.reason
    assert engine.recall(
        "when is the staging database copied", cwd=str(place), surface=Surface.PROMPT
    ).block.empty


def test_a_muted_session_mutes_its_subagents(make_engine, place):
    engine = make_engine()
    engine.remember(RULE, cwd=str(place))
    agent = Agent(engine, place)
    agent.start()
    engine.live.mute(SessionKey(host="claude-code", session_id="s1"), muted=True)
    assert agent.send("SubagentStart", agent_id="a1", agent_type="Explore") == ""


def test_a_failing_recall_costs_neither_the_turn_nor_the_statement(make_engine, place):
    make_engine(kinds={"house": {"label": "House", "prefix": "HOUSE"}}).remember(
        "Houses are built on rock.", kind="house", cwd=str(place)
    )
    engine = make_engine()  # the kind is gone from the settings
    agent = Agent(engine, place)
    agent.start()
    assert agent.prompt("Remember that we never build houses on sand.") == ""
    assert engine.sessions()[0].turn == 1
    assert any("sand" in m.content for m in engine.list_memories(MemoryFilter()))


def test_a_folder_reached_through_a_link_is_the_folder(make_engine, place, tmp_path):
    engine = make_engine()
    engine.remember(RULE, cwd=str(place))
    link = tmp_path / "link"
    link.symlink_to(place)
    assert RULE in Agent(engine, link).start()


def test_a_deleted_session_stays_deleted(engine, place):
    engine.remember(RULE, cwd=str(place))
    base = {"sessionID": "ses_1", "directory": str(place)}
    engine.hook("opencode", {"event": "session.start", **base}, deadline_ms=5000)
    engine.hook("opencode", {"event": "deleted", **base}, deadline_ms=5000)
    engine.hook("opencode", {"event": "idle", "text": "bye", **base}, deadline_ms=5000)
    engine.flush()
    assert engine.sessions() == ()


def test_an_event_of_an_agent_of_ones_own_that_is_sent_again_gets_the_same_text_and_changes_nothing(
    make_engine, place
):
    engine = quiet(make_engine)
    engine.remember(RULE, cwd=str(place), when="commit")
    about = {"session": "s1", "cwd": str(place)}
    prompt = {**about, "event": "prompt", "key": "p1", "text": "is make lint run before every commit?"}
    first = json.loads(engine.hook("plain", prompt, deadline_ms=5000))
    again = json.loads(engine.hook("plain", prompt, deadline_ms=5000))
    assert RULE in first["context"]
    assert (again["context"], again["surface"]) == (first["context"], "prompt")
    (state,) = engine.sessions()
    assert (state.turn, len(state.ledger)) == (1, 1)
    other = {**prompt, "key": "p2", "text": "so make lint before every commit, yes?"}
    assert engine.hook("plain", other, deadline_ms=5000) == ""


def test_an_event_that_got_no_answer_in_time_is_answered_when_it_is_sent_again(make_engine, place):
    engine = quiet(make_engine)
    engine.remember(RULE, cwd=str(place), when="commit")
    prompt = {
        "event": "prompt",
        "session": "s1",
        "cwd": str(place),
        "key": "p1",
        "text": "please commit this now",
    }
    assert engine.hook("plain", prompt, deadline_ms=0) == ""
    assert RULE in engine.hook("plain", prompt, deadline_ms=5000)


@pytest.mark.parametrize("capture", [True, False])
def test_a_prompt_that_is_not_to_be_learned_from_is_not(make_engine, place, capture):
    engine = quiet(make_engine)
    text = "Remember that we always run `make lint` before committing."
    prompt = {"event": "prompt", "session": "s1", "cwd": str(place), "text": text, "capture": capture}
    engine.hook("plain", prompt, deadline_ms=5000)
    engine.flush()
    assert bool(engine.list_memories(MemoryFilter(), limit=5)) is capture


def test_the_next_prompt_takes_back_what_was_said_and_what_it_replaced_holds_again(make_engine, place):
    engine = make_engine()
    engine.remember("The dev server is on port 5001", cwd=str(place))
    agent = Agent(engine, place)
    agent.start()
    agent.prompt("remember: the dev server is now on port 5050")
    assert "5050" in Agent(engine, place, "s2").start()
    agent.prompt("no wait, forget that, the dev server stays where it was")
    block = Agent(engine, place, "s3").start()
    assert "5001" in block
    assert "5050" not in block


def test_a_prompt_that_takes_nothing_back_ends_nothing(make_engine, place):
    agent = Agent(make_engine(), place)
    agent.start()
    agent.prompt("Remember that we always run `make lint` before committing.")
    agent.prompt("never mind, make lint works now")
    assert "run `make lint` before committing" in Agent(agent.engine, place, "s2").start()


@pytest.mark.parametrize(("host", "all_of_them"), [("codex", False), ("claude-code", True)])
def test_letters_of_several_bytes_cost_memories_and_never_the_block(make_engine, place, host, *, all_of_them):
    recall = {"budgets": {"start": 6000}}
    statements = [
        f"{number}番の規則: " + "請求書の合計は整数のセントで保存する。" * 8 for number in range(30)
    ]
    engine = make_engine(recall=recall)
    for statement in statements:
        engine.remember(statement, kind="preference", cwd=str(place), when="always")
    start = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(place), "source": "startup"}
    reply = engine.hook(host, start, deadline_ms=60_000)
    block = json.loads(reply)["hookSpecificOutput"]["additionalContext"]
    shown = [number for number in range(30) if f"{number}番の規則" in block]
    assert shown
    assert (len(block.encode()) > CAP_BYTES) is all_of_them
    assert block.endswith("</tacit-memory>")
