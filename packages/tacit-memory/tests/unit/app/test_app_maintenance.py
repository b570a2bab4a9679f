"""Upkeep and statistics through the engine: what goes, what stays, and what injections were good for."""

from __future__ import annotations

import json

from agent import Agent
from samples import NOW_MS
from tacit.model.memory import TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import Handover, MemoryFilter
from tacit.state.captured import Failure, UnfixedFailure
from tacit.state.registry import PENDING
from transcripts import tool_call, tool_result, write_transcript
from user_voice import store_as

DAY_MS = 86_400_000


def test_a_year_later_only_what_was_stated_is_left(engine, clock, tmp_path):
    engine.remember("Run `make lint` before every commit.", cwd=str(tmp_path))
    store_as(
        TrustTier.ASSISTANT, engine, "The build was red on Monday.", kind="observation", cwd=str(tmp_path)
    )
    engine.remember("The shop is written in Go.", kind="fact", cwd=str(tmp_path))
    (scope,) = engine.store.scopes().scopes
    waiting = Failure(command="make", error="e", signature="make | e", turn=1, at_ms=NOW_MS)
    PENDING.write(engine.store, (UnfixedFailure(session="h/s", failure=waiting),), scope)
    early = engine.maintenance.upkeep()
    assert (early.tended.faded, early.pending) == (0, 0)
    clock.advance(365 * DAY_MS)
    done = engine.maintenance.upkeep()
    assert (done.tended.faded, done.pending) == (1, 1)
    assert PENDING.read(engine.store, scope) == ()
    left = {memory.content for memory in engine.list_memories(MemoryFilter())}
    assert left == {"Run `make lint` before every commit.", "The shop is written in Go."}
    before, change = engine.list_memories(MemoryFilter(statuses=None)), engine.store.change()
    again = engine.maintenance.upkeep()
    assert (again.tended, again.pending, again.records.traces) == (type(again.tended)(), 0, 0)
    assert engine.list_memories(MemoryFilter(statuses=None)) == before
    assert engine.store.change() == change
    assert engine.store.check() == ()


def test_what_was_used_after_an_injection_is_counted(engine, clock, place):
    engine.remember("Run `make lint` before every commit.", cwd=str(place), when="commit")

    agent = Agent(engine, place, clock=clock)
    agent.start()
    agent.prompt("please commit this")
    said = (("user", "please commit this"), tool_call("t1", "Bash", command="make lint"), tool_result("t1"))
    path = write_transcript(place / "s1.jsonl", *said, cwd=place)
    key = SessionKey(host="claude-code", session_id="s1")
    payload = json.dumps({"transcript_path": str(path), "cwd": str(place)})
    engine.store.hand_over(Handover(key="h1", session=key, payload=payload, at_ms=NOW_MS))
    engine.learning.capture_pending()
    found = engine.maintenance.statistics()
    assert (found.impact.shown, found.impact.used, found.rate) == (1, 1, 1.0)
    assert found.impact.by_cue == {"identifier": 1}
    assert found.store.used == 1
    (rule,) = [m for m in engine.list_memories(MemoryFilter()) if m.kind != "digest"]
    assert rule.use_count == 1
