"""The wide ranking for somebody who asks: what it finds, in which order, and when it stays silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from samples import NOW_MS, PROJECT, candidate, memory, query
from tacit.backends.memory import InMemoryStore
from tacit.model.changes import Add
from tacit.model.memory import Provenance, TrustTier
from tacit.model.pack import Surface
from tacit.model.trace import Loss
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.on_demand import answer, in_order, session_share

EMBEDDER = FakeEmbedder()


def turns(*contents):
    """A store with one session, one memory a turn: m1, m2, ..."""
    store = InMemoryStore(clock=FakeClock(now_ms=NOW_MS))
    for number, content in enumerate(contents, start=1):
        place = Provenance(tier=TrustTier.USER, host="plain", session_id="s", turn=number)
        one = replace(memory(content, id=f"m{number}", scope=PROJECT), provenance=place)
        store.apply([Add(memory=one)], vectors=EMBEDDER.embed([content]), identity=EMBEDDER.identity)
    return store


def ask(store, text, spaces=("lexical", "late", "sequence"), *, rankings=(), remaining_ms=lambda: 1e9):
    asked = query(text, surface=Surface.ON_DEMAND)
    return answer(
        asked, rankings, spaces=spaces, store=store, embedder=EMBEDDER, remaining_ms=remaining_ms
    ).kept


def test_a_turn_beside_the_hit_counts_what_was_said_there():
    """Both halves of the question stand in neighbouring turns: the two come before a turn that has one of them."""
    store = turns(
        "my daughter plays the violin", "lessons are on friday", "nothing", "nothing", "a violin broke"
    )
    found = dict(ask(store, "when are the violin lessons"))
    assert min(found["m1"], found["m2"]) > found["m5"]
    alone = dict(ask(store, "when are the violin lessons", spaces=("lexical", "late")))
    assert found["m2"] / found["m5"] > alone["m2"] / alone["m5"]


def test_nothing_shared_finds_nothing():
    assert ask(turns("a", "b"), "zebra") == ()


def test_the_order_is_that_of_the_answer_and_relevance_follows_it():
    """Own relevances .2 and .8; the first in the answer has the best score and is raised to the best evidence."""
    first = replace(candidate(id="a", relevance=0.2), fused=2.0)
    second = replace(candidate(id="b", relevance=0.8), fused=1.0)
    third = replace(candidate(id="c", relevance=0.0), fused=0.5)
    ordered = in_order([second, third, first])
    assert [(c.memory.id, c.relevance) for c in ordered] == [("a", 0.8), ("b", 0.8), ("c", 0.2)]


def test_a_session_that_holds_more_of_the_question_counts():
    """Sessions a: best of each word (2, 1), sum 3; b: (1, 0), sum 1; c: 0. Shares (3 - 0) / 3, 1 / 3 and 0; no session, none."""
    held = np.array([[2, 0], [0, 1], [1, 0], [0, 0], [9, 9]], np.float32)
    found = session_share(held, ["a", "a", "b", "c", ""])
    assert found.tolist() == pytest.approx([1.0, 1.0, 1 / 3, 0.0, 0.0])
    assert session_share(held, ["a"] * 5).tolist() == [0.0] * 5


def test_without_evidence_nobody_is_raised():
    assert in_order([replace(candidate(id="a", relevance=0.0), fused=1.0)])[0].relevance == 0.0
    assert in_order([]) == ()


REPORT = "Broken pipe in the viewer\n" + " ".join(f"detail{number}" for number in range(30))


def test_a_long_text_is_asked_by_its_heading_too():
    """Equally many words of the report are shared; the one that shares those of the heading comes first."""
    store = turns("viewer pipe", "detail1 detail2", "something else")
    assert ask(store, REPORT, spaces=("lexical",))[0][0] == "m1"
    shares = dict(ask(store, REPORT, spaces=("lexical", "late")))
    assert shares["m1"] > shares["m2"] > 0


def test_a_short_question_has_no_heading():
    store = turns("viewer pipe", "detail1 detail2")
    assert len(ask(store, "viewer\ndetail1", spaces=("lexical",))) == 2


def test_what_costs_most_is_left_out_and_named_when_time_is_up():
    asked = query("violin lessons", surface=Surface.ON_DEMAND)
    done = answer(
        asked, (), spaces=("lexical", "late"), store=turns("a violin", "b"), embedder=EMBEDDER, remaining_ms=lambda: 0.0
    )  # fmt: skip
    assert [name for name, _ in done.kept] == ["m1"]
    assert done.losses == (Loss(source="late", cause="late"),)
