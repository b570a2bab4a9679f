"""The wide ranking for somebody who asks: what it finds, in which order, and when it stays silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from samples import NOW_MS, PROJECT, candidate, memory, query
from tacit.backends.sqlite import SqliteStore
from tacit.model.changes import Add
from tacit.model.memory import Provenance, TrustTier
from tacit.model.pack import Surface
from tacit.model.trace import Drop, DropCause, DropReason, Loss
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.recall.pipelines.on_demand import (
    AskedWords,
    answer,
    beside_successors,
    breadth,
    by_match,
    cap_unknown,
    cut,
    in_order,
    match_with,
    place_of_last_answer,
    session_share,
)

EMBEDDER = FakeEmbedder()


def turns(*contents):
    """A store with one session, one memory a turn: m1, m2, ..."""
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    for number, content in enumerate(contents, start=1):
        place = Provenance(tier=TrustTier.USER, host="plain", session_id="s", turn=number)
        one = replace(memory(content, id=f"m{number}", scope=PROJECT), provenance=place)
        store.apply([Add(memory=one)], vectors=EMBEDDER.embed([content]), identity=EMBEDDER.identity)
    return store


def ask(store, text, spaces=("lexical", "late", "sequence"), *, rankings=(), remaining_ms=lambda: 1e9):
    asked = query(text, surface=Surface.ON_DEMAND)
    return answer(
        asked, rankings, spaces=spaces, store=store, embedder=EMBEDDER, remaining_ms=remaining_ms
    ).kept.order


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
    assert [name for name, _ in done.kept.order] == ["m1"]
    assert done.losses == (Loss(source="late", cause="late"),)


# --- the match with the question, and the cut


WEIGHTS = np.array([3.0, 1.0], np.float32)


def read(text):
    return AskedWords(text=text, words=tuple(text.split()))


def test_the_match_is_the_cosine_and_half_the_share_of_the_words():
    """Words weigh 3 and 1. Both held: .2 + .5 * 1; the rare one: .4 + .5 * .75; half of the common one (a turn away): .1 + .5 * .125."""
    holds = np.array([[1, 1], [1, 0], [0, 0.5]], np.float32)
    cosines = np.array([[0.2], [0.4], [0.1]], np.float32)
    found = match_with(read("rare common"), cosines, holds, WEIGHTS)
    assert found.tolist() == pytest.approx([0.7, 0.775, 0.1625])


def test_a_match_is_one_at_most_and_words_alone_must_do_without_cosines():
    """.8 + .5 is 1; without any cosine the share itself: 3 of 4."""
    one = np.array([[1, 1]], np.float32)
    assert match_with(read("a b"), np.array([[0.8]], np.float32), one, WEIGHTS).tolist() == [1.0]
    alone = match_with(read("a b"), np.zeros((1, 1), np.float32), np.array([[1, 0]], np.float32), WEIGHTS)
    assert alone.tolist() == [0.75]


def test_an_unknown_word_weighs_no_more_than_the_rarest_known_one():
    """Of 3, 1 and an unknown 4 the last becomes 3; where nothing is known all stay."""
    holds = np.array([[1, 1, 0], [0, 1, 0]], np.float32)
    weights = np.array([3, 1, 4], np.float32)
    assert cap_unknown(weights, holds).tolist() == [3.0, 1.0, 3.0]
    assert cap_unknown(weights, np.zeros((2, 3), np.float32)).tolist() == [3.0, 1.0, 4.0]


def test_a_question_without_a_known_word_is_matched_by_its_meaning():
    nothing = np.zeros((1, 2), np.float32)
    found = match_with(read("a b"), np.array([[0.3]], np.float32), nothing, np.zeros(2, np.float32))
    assert found.tolist() == pytest.approx([0.3])


def test_what_was_replaced_stands_beside_what_replaced_it():
    """The new one has 2, so the old one at least .7 * 2 = 1.4; a better one of its own stays."""
    new, old = candidate(id="new").memory, candidate(id="old").memory
    old = replace(old, status="superseded", validity=replace(old.validity, superseded_by="new"))
    assert beside_successors(np.array([2.0, 0.5], np.float32), [new, old]).tolist() == pytest.approx(
        [2.0, 1.4]
    )
    assert beside_successors(np.array([2.0, 1.9], np.float32), [new, old]).tolist() == pytest.approx(
        [2.0, 1.9]
    )


def test_the_cut_is_a_share_of_the_best_score():
    """A quarter of 2 is .5: .5 stays, .49 goes and says why. The relevance is the match, the order that of the scores."""
    found = [
        replace(candidate(id=name), fused=score) for name, score in (("c", 0.49), ("a", 2.0), ("b", 0.5))
    ]
    judged = by_match(found, {"a": 0.9, "b": 0.3, "c": 0.6})
    assert [(c.memory.id, c.relevance) for c in judged] == [("a", 0.9), ("b", 0.3), ("c", 0.6)]
    done = cut(judged, share=0.25)
    assert [c.memory.id for c in done.kept] == ["a", "b"]
    assert done.drops == (
        Drop(memory_id="c", why=DropReason(cause=DropCause.FAR_BELOW_BEST, value=0.49, bound=0.5)),
    )
    assert cut((), share=0.25).kept == ()


def test_what_matches_nearly_as_well_stays_whatever_its_score():
    """.7 of the best match .9 is .63."""
    judged = by_match(
        [replace(candidate(id=name), fused=score) for name, score in (("a", 2.0), ("b", 0.1), ("c", 0.1))],
        {"a": 0.9, "b": 0.63, "c": 0.62},
    )
    assert [c.memory.id for c in cut(judged, share=0.25).kept] == ["a", "b"]


def test_nothing_is_measured_below_the_last_that_may_be_handed_over():
    """b matches too little, c is the last that matches."""
    order = (("a", 1.0), ("b", 0.5), ("c", 0.3), ("d", 0.1))
    matches = {"a": 0.9, "b": 0.1, "c": 0.3, "d": 0.2}
    assert place_of_last_answer(order, matches, least=0.28) == 3
    assert place_of_last_answer(order, matches, least=0.95) == 0


def test_a_large_budget_looks_at_more():
    """A line takes 24 tokens at least: 16,000 hold 666, 1,000 hold 41."""
    asked = query("a", surface=Surface.ON_DEMAND)
    assert breadth(replace(asked, budget_tokens=16_000), 96) == 666
    assert breadth(replace(asked, budget_tokens=1_000), 96) == 96
