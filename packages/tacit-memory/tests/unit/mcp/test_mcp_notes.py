"""Where the user wants nothing noted, the tools that write store nothing and say how to change that."""

from __future__ import annotations

import pytest

from tacit.errors import RefusedByTrust
from tacit.model.memory import TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter
from unit.mcp.desk import opened

RULE = "the parcels service listens on port 7311 from now on"
NOTE = {"content": "The parcels service listens on port 7311.", "user_words": RULE}
LIVE = ("active", "quarantined")
CALLS = {
    "memory_add": lambda name: {"content": "Parcels are weighed in grams."},
    "memory_update": lambda name: {"id": name, "content": "Parcels weigh less."},
    "memory_forget": lambda name: {"id": name},
    "memory_feedback": lambda name: {"id": name, "useful": False},
}


def desks(tmp_path, **settings):
    yield from opened(tmp_path, {"capture": settings})


@pytest.fixture
def noting(tmp_path):
    yield from desks(tmp_path)


@pytest.fixture
def reviewed(tmp_path):
    yield from desks(tmp_path, notes="review")


@pytest.fixture
def off(tmp_path):
    yield from desks(tmp_path, notes="off")


def versions(desk):
    desk.engine.flush()
    return len(desk.engine.review.changes(limit=500))


def refused(desk, match):
    name = desk.know("Parcels weigh at most thirty kilograms.", "fact")
    before = versions(desk)
    for tool, given in CALLS.items():
        with pytest.raises(RefusedByTrust, match=match):
            desk.ask(tool, **given(name))
    assert versions(desk) == before


def test_with_notes_off_no_tool_stores_anything_and_each_says_how_to_change_that(off):
    off.say("hello there")
    refused(off, "capture.notes is off")
    with pytest.raises(RefusedByTrust) as told:
        off.ask("memory_add", **NOTE)
    assert "tacit config set capture.notes on" in told.value.hint


@pytest.mark.parametrize("whose", ["its own", "one of two"])
def test_a_muted_session_notes_nothing(noting, whose):
    noting.say("hello there", "a")
    if whose == "one of two":
        noting.say("hello here", "b")
    noting.engine.live.mute(SessionKey(host="claude-code", session_id="a"), muted=True)
    refused(noting, "muted")
    noting.engine.live.mute(SessionKey(host="claude-code", session_id="a"), muted=False)
    assert "Stored" in noting.ask("memory_add", content="Parcels are weighed in grams.")


def test_an_incognito_session_notes_nothing(tmp_path):
    for desk in opened(tmp_path, {"privacy": {"incognito": True}}):
        desk.say("hello there")
        refused(desk, "incognito")


def test_with_review_a_note_waits_even_with_the_users_words(reviewed):
    reviewed.say(RULE.removesuffix(" from now on"))
    said = reviewed.ask("memory_add", **NOTE | {"user_words": RULE.removesuffix(" from now on")})
    assert "tacit review" in said
    (memory,) = reviewed.engine.list_memories(MemoryFilter(statuses=LIVE))
    assert (memory.status, memory.provenance.tier) == ("quarantined", TrustTier.IMPORT)
    reviewed.engine.review.decide(memory.id, "accept")
    assert reviewed.engine.show(memory.id).status == "active"


def test_with_review_what_holds_stays(reviewed):
    words = "forget the rule that parcels weigh at most thirty kilograms"
    name = reviewed.know("Parcels weigh at most thirty kilograms.", "fact")
    reviewed.say(words)
    for tool, given in {
        "memory_forget": {"user_words": words},
        "memory_update": {"kind": "decision", "user_words": words},
    }.items():
        with pytest.raises(RefusedByTrust, match="notes is review"):
            reviewed.ask(tool, id=name, **given)
    reviewed.ask("memory_add", content="Parcels weigh what they weigh.", user_words=words, replaces=[name])
    assert reviewed.engine.show(name).status == "active"
