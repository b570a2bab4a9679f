"""`undo --session` takes back what a session taught, captured or noted, and leaves all else as it is."""

from __future__ import annotations

import pytest

from tacit.errors import NotFound
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from tacit.state.registry import REJECTED

HERE = SessionKey(host="claude-code", session_id="s1")
KEPT = "Parcels weigh at most thirty kilograms."
PORT = "The parcels service listens on port 7311."
MOVED = "The parcels service listens on port 7400."
ENDS = "forget the rule that parcels weigh at most thirty kilograms"
SAID = "Remember that the depot opens at seven."


def contents(desk, status="active"):
    desk.engine.flush()
    return {memory.content for memory in desk.engine.list_memories(MemoryFilter(statuses=(status,)))}


def taught(desk):
    """A session in which the user says something, and the agent notes, replaces and ends."""
    desk.know(KEPT, "fact")
    name = desk.know(PORT, "fact")
    desk.say(SAID)
    desk.engine.flush()
    desk.say(ENDS)
    desk.say("the parcels service listens on port 7400 now")
    words = "the parcels service listens on port 7400 now"
    desk.ask("memory_add", content=MOVED, user_words=words, replaces=[name])
    desk.ask("memory_add", content="Trucks are loaded from the left side.")
    (kept,) = (m for m in desk.engine.list_memories(MemoryFilter()) if m.content == KEPT)
    desk.ask("memory_forget", id=kept.id, user_words=ENDS)
    return contents(desk)


def test_all_that_a_session_taught_goes_and_what_it_ended_holds_again(desk):
    known = taught(desk)
    assert {"Trucks are loaded from the left side."} < known
    assert any("7400" in content for content in known)
    assert any("depot" in content for content in known)
    assert not {KEPT, PORT} & known
    with desk.engine.store.noting_changes() as written:
        desk.engine.review.undo_session(HERE)
    assert contents(desk) == {KEPT, PORT}
    (change,) = written
    desk.engine.review.undo(change)
    assert contents(desk) == known


def test_what_was_taken_back_is_not_learned_again_unasked_and_other_sessions_stay(desk):
    taught(desk)
    desk.say("Remember that the yard closes at nine.", "s2")
    desk.engine.flush()
    desk.engine.review.undo_session(HERE)
    assert {KEPT, PORT} < contents(desk)
    assert any("yard" in content for content in contents(desk))
    (scope,) = {m.scope for m in desk.engine.list_memories(MemoryFilter()) if m.content == PORT}
    assert any("Trucks" in text for text in REJECTED.read(desk.engine.store, scope))
    with pytest.raises(NotFound, match="Nothing that holds"):
        desk.engine.review.undo_session(HERE)


def test_what_the_user_ended_or_replaced_since_stays_so(desk):
    desk.say(SAID)
    desk.say("Remember that the gate is painted green.")
    desk.engine.flush()
    stored = {m.content: m for m in desk.engine.list_memories(MemoryFilter())}
    (depot,) = (m for content, m in stored.items() if "depot" in content)
    (gate,) = (m for content, m in stored.items() if "gate" in content)
    desk.engine.memories.retire(desk.engine.show(depot.id))
    newer = desk.know("The gate is painted blue.", gate.kind, replaces=[gate.id])
    before = contents(desk, "retired") | contents(desk, "superseded")
    with pytest.raises(NotFound):
        desk.engine.review.undo_session(HERE)
    assert contents(desk, "retired") | contents(desk, "superseded") == before
    assert desk.engine.show(newer).status == "active"
