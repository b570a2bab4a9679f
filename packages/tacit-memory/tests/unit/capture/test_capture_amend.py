"""A digest does not go on quoting a decision that was replaced, forgotten or taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import NOW_MS, PROJECT, memory
from tacit.backends.sqlite import SqliteStore
from tacit.capture.store import with_amended_digests
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Retire, Rewrite, Skip, Supersede
from tacit.model.memory import Sensitivity
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.reading.digest_lines import without_decision

REDIS = "We decided to use Redis for the cache"
LONG = f"{REDIS} {'of the order page ' * 12}".strip()


def digest(content, name="mem_d"):
    return memory(content, id=name, kind="digest")


@pytest.fixture
def store():
    kept = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    kept.apply([Add(memory=memory(REDIS, id="mem_r", kind="decision"))])
    return kept


@pytest.mark.parametrize(
    ("content", "text", "left"),
    [
        (f"impl: Add it\ndec: {REDIS}\ndone: 1 commit", REDIS, "impl: Add it\ndone: 1 commit"),
        (f"dec: {LONG[:60].rsplit(' ', 1)[0]}...", LONG, ""),
        (f"dec: {REDIS} of users", REDIS, f"dec: {REDIS} of users"),
        (f"impl: {REDIS}", REDIS, f"impl: {REDIS}"),
        ("dec: ...", REDIS, "dec: ..."),
    ],
)
def test_only_the_line_that_says_it_goes(content, text, left):
    assert without_decision(content, text) == left


def test_a_stored_digest_loses_the_line_of_what_ends(store):
    store.apply([Add(memory=digest(f"impl: Add it\ndec: {REDIS}"))])
    valkey = memory("We use Valkey for the cache, not Redis", id="mem_v", kind="decision")
    supersede = Supersede(memory=valkey, old_id="mem_r", at_ms=NOW_MS)
    first, edit = with_amended_digests([supersede], store)
    assert first is supersede
    assert isinstance(edit, Rewrite)
    assert edit.memory == digest("impl: Add it")


def test_a_digest_of_which_nothing_is_left_goes_too(store):
    store.apply([Add(memory=digest(f"dec: {REDIS}"))])
    *_, gone = with_amended_digests([Retire(memory_id="mem_r", at_ms=NOW_MS + 1)], store)
    assert (gone.memory_id, gone.at_ms) == ("mem_d", NOW_MS + 1)


def test_a_digest_written_later_does_not_say_it_again(store):
    store.apply([Retire(memory_id="mem_r", at_ms=NOW_MS)])
    later = Rewrite(memory=digest(f"impl: Go on\ndec: {REDIS}\ndec: Colours are named"))
    (made,) = with_amended_digests([later], store)
    assert made.memory.content == "impl: Go on\ndec: Colours are named"


def test_a_digest_of_which_only_hidden_decisions_would_be_written_is_not(store):
    store.apply([Retire(memory_id="mem_r", at_ms=NOW_MS)])
    (skipped,) = with_amended_digests([Add(memory=digest(f"dec: {REDIS}"))], store)
    assert isinstance(skipped, Skip)
    assert skipped.reason.cause == ChangeCause.QUOTES_ENDED


def test_a_stored_digest_that_would_quote_only_hidden_decisions_ends(store):
    restricted = memory(
        "Keys lie in the vault", id="mem_k", kind="decision", sensitivity=Sensitivity.RESTRICTED
    )
    store.apply(
        [Retire(memory_id="mem_r", at_ms=NOW_MS), Add(memory=restricted), Add(memory=digest("impl: Add it"))]
    )
    later = Rewrite(memory=digest(f"dec: {REDIS}\ndec: Keys lie in the vault"))
    (gone,) = with_amended_digests([later], store)
    assert isinstance(gone, Retire)
    assert (gone.memory_id, gone.reason.cause) == ("mem_d", ChangeCause.QUOTES_ENDED)


def test_what_holds_stays(store):
    added = Add(memory=digest(f"impl: Add it\ndec: {REDIS}"))
    other = replace(memory("Colours are named", id="mem_c", kind="decision"), status="active")
    assert with_amended_digests([added, Add(memory=other)], store) == (added, Add(memory=other))


def test_what_is_forgotten_is_not_told_with_the_story_of_a_session(engine):
    engine._parts.store.apply(
        [
            Add(memory=memory(REDIS, id="mem_r", kind="decision")),
            Add(memory=digest(f"impl: Add it\ndec: {REDIS}")),
        ]
    )
    engine.memories.retire(engine.show("mem_r"))
    held = engine.list_memories(MemoryFilter(), scope=ScopeFilter.of(PROJECT))
    assert [one.content for one in held] == ["impl: Add it"]
    engine.review.undo("mem_r")
    assert engine.show("mem_r").status == "active"
