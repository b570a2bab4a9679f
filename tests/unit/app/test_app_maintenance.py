"""Upkeep and statistics through the engine: what goes, what stays, and what injections were good for."""

from __future__ import annotations

import json

from samples import NOW_MS
from tacit.model.memory import TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter
from tacit.state.captured import Failure, Pending
from tacit.state.registry import PENDING
from user_voice import store_as

DAY_MS = 86_400_000


def test_a_year_later_only_what_was_stated_is_left(engine, clock, tmp_path):
    engine.remember("Run `make lint` before every commit.", cwd=str(tmp_path))
    store_as(
        TrustTier.ASSISTANT, engine, "The build was red on Monday.", kind="observation", cwd=str(tmp_path)
    )
    engine.remember("The shop is written in Go.", kind="fact", cwd=str(tmp_path))
    (scope,) = engine._store.scopes().scopes
    waiting = Failure(command="make", error="e", signature="make | e", turn=1, at_ms=NOW_MS)
    PENDING.write(engine._store, (Pending(session="h/s", failure=waiting),), scope)
    early = engine.maintenance.upkeep()
    assert (early.tended.faded, early.pending) == (0, 0)
    clock.advance(365 * DAY_MS)
    done = engine.maintenance.upkeep()
    assert (done.tended.faded, done.pending) == (1, 1)
    assert PENDING.read(engine._store, scope) == ()
    left = {memory.content for memory in engine.list_memories(MemoryFilter())}
    assert left == {"Run `make lint` before every commit.", "The shop is written in Go."}
    before, change = engine.list_memories(MemoryFilter(statuses=None)), engine._store.change()
    again = engine.maintenance.upkeep()
    assert (again.tended, again.pending, again.records.traces) == (type(again.tended)(), 0, 0)
    assert engine.list_memories(MemoryFilter(statuses=None)) == before
    assert engine._store.change() == change
    assert engine.check() == ()


def test_what_was_used_after_an_injection_is_counted(engine, clock, tmp_path):
    place = tmp_path / "shop"
    place.mkdir()
    engine.remember("Run `make lint` before every commit.", cwd=str(place), when="commit")

    def send(event, **fields):
        clock.advance(1000)
        payload = {"session_id": "s1", "cwd": str(place), "hook_event_name": event, **fields}
        return engine.hook("claude-code", payload, deadline_ms=5000)

    send("SessionStart", source="startup")
    send("UserPromptSubmit", prompt="please commit this")
    engine.flush()
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make lint"}}
    lines = [
        {"type": "user", "cwd": str(place), "message": {"role": "user", "content": "please commit this"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}},
    ]  # fmt: skip
    path = place / "s1.jsonl"
    path.write_text(
        "".join(json.dumps(line | {"timestamp": "2099-01-01T10:00:00Z"}) + "\n" for line in lines)
    )
    key = SessionKey(host="claude-code", session_id="s1")
    payload = json.dumps({"transcript_path": str(path), "cwd": str(place)})
    engine.hand_over(Handover(key="h1", session=key, payload=payload, at_ms=NOW_MS))
    engine.capture_pending()
    found = engine.maintenance.statistics()
    assert (found.impact.shown, found.impact.used, found.rate) == (1, 1, 1.0)
    assert found.impact.by_cue == {"identifier": 1}
    assert found.store.used == 1
    (rule,) = [m for m in engine.list_memories(MemoryFilter()) if m.kind == "preference"]
    assert rule.use_count == 1
