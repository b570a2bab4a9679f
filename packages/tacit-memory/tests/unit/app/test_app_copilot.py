"""Hosts that forget the block of a start, say nothing after a compaction, take no text before a call, and hand over no last words."""

from __future__ import annotations

import json
from threading import Timer

import pytest

import proxies
from tacit.ports.store import MemoryFilter

LINT = "We always run `make lint` before committing."
WHEN = {"kind": "preference", "when": "always"}
CENTS = "Amounts in app/pay.py are integer cents."


class Session:
    """One session of Copilot as its hooks tell the engine."""

    def __init__(self, engine, cwd):
        self.engine, self.cwd, self.seconds = engine, cwd, 0

    def send(self, event, **fields):
        self.seconds += 10
        stamp = f"2026-11-26T14:{self.seconds // 60:02}:{self.seconds % 60:02}.000Z"
        payload = {
            "session_id": "s1",
            "cwd": str(self.cwd),
            "timestamp": stamp,
            "hook_event_name": event,
            **fields,
        }
        reply = self.engine.hook("copilot", payload, deadline_ms=5000)
        self.engine.flush()
        return json.loads(reply) if reply else {}

    def text(self, event, **fields):
        return self.send(event, **fields).get("additionalContext", "")

    def prompt(self, words):
        return self.text("UserPromptSubmit", prompt=words)


@pytest.fixture
def session(make_engine, place):
    engine = make_engine()
    (place / "app").mkdir()
    (place / "app/pay.py").write_text("total = 0\n")
    engine.remember(LINT, cwd=str(place), **WHEN)
    return Session(engine, place)


def test_a_resumed_session_is_given_the_same_bytes_and_behind_them_what_is_new(session, place):
    first = session.text("SessionStart", source="new")
    assert LINT in first
    assert session.text("SessionStart", source="resume") == first
    session.engine.remember("Never deploy on Fridays.", cwd=str(place), **WHEN)
    second = session.text("SessionStart", source="resume")
    assert second.startswith(first)
    assert second.count(LINT) == 1
    assert "Fridays" in second
    assert session.text("SessionStart", source="resume") == second


def test_what_would_be_too_long_behind_the_start_waits_for_its_prompt(session, place):
    first = session.text("SessionStart", source="new")
    for number in range(40):
        fact = f"Rule {number} of the house: " + " ".join(f"word{number}x{at}" for at in range(60))
        session.engine.remember(fact, cwd=str(place), **WHEN)
    again = session.text("SessionStart", source="resume")
    assert again.startswith(first)
    assert len(again) <= 9_500


def test_what_a_compaction_dropped_comes_once_with_the_next_prompt(session):
    session.text("SessionStart", source="new")
    assert session.prompt("hello there, how are you") == ""
    session.send("PreCompact", trigger="auto")
    assert session.prompt("say nothing of it #notacit") == ""
    given = session.prompt("hello there, how are you")
    assert 'surface="compaction"' in given
    assert given.count(LINT) == 1
    assert session.prompt("hello there, how are you again") == ""
    assert session.text("SessionStart", source="resume") == "", "it stands in the history behind that prompt"


def test_only_a_rule_that_may_refuse_answers_before_the_call(make_engine, place):
    (place / "app").mkdir()
    (place / "app/pay.py").write_text("total = 0\n")
    engine = make_engine(recall={"blocking": True})
    session = Session(engine, place)
    session.text("SessionStart", source="new")
    engine.remember("Never push to main.", cwd=str(place), kind="preference")
    engine.remember(CENTS, cwd=str(place), kind="decision", files=("app/pay.py",))
    edit = {"tool_name": "Read", "tool_input": {"path": str(place / "app/pay.py")}}
    assert session.send("PreToolUse", **edit) == {}
    assert CENTS in session.text("PostToolUse", **edit, tool_result={"text_result_for_llm": "edited"})
    push = {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}}
    refused = session.send("PreToolUse", **push)
    assert refused["permissionDecision"] == "deny"
    assert "push to main" in refused["permissionDecisionReason"]
    assert session.send("PreToolUse", **push) == {}, "once"


def test_the_last_words_of_a_message_are_read_from_the_sessions_file(session, place, tmp_path):
    events = tmp_path / "events.jsonl"
    row = {"type": "assistant.message", "data": {"content": "The export works now. Shall I commit it?"}}
    events.write_text(json.dumps(row) + "\n" + json.dumps({"type": "assistant.turn_end", "data": {}}) + "\n")
    text = events.read_text()
    events.unlink()
    session.prompt("Make the export work, please.")
    session.send("Stop", transcript_path=str(events))
    events.write_text(text)  # Copilot writes its file after it called the hook
    session.prompt("yup")
    (state,) = session.engine.sessions()
    assert state.last_message_end.endswith("Shall I commit it?")


def test_what_copilot_writes_after_the_end_of_a_message_is_learned(session, place, tmp_path):
    log = tmp_path / "events.jsonl"
    started = {"type": "session.start", "data": {"sessionId": "s1", "context": {"cwd": str(place)}}}
    log.write_text(json.dumps(started) + "\n")
    said = {"content": "From now on, deploy through Argo CD, never by hand."}
    row = {"type": "user.message", "data": said, "id": "e1", "timestamp": "2026-11-26T14:00:05.000Z"}
    late = Timer(0.5, lambda: log.write_text(log.read_text() + json.dumps(row) + "\n"))
    late.start()
    ended = {"hook_event_name": "Stop", "session_id": "s1", "cwd": str(place), "transcript_path": str(log)}
    session.engine.hook("copilot", {**ended, "timestamp": "2026-11-26T14:00:06.000Z"}, deadline_ms=5000)
    store = session.engine.store

    def learned():
        return [
            m.content
            for m in store.list_memories(MemoryFilter(), scope=store.scopes(), limit=9)
            if "Argo" in m.content
        ]

    assert proxies.wait_until(learned)
    late.join()
