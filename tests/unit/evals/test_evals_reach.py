"""The measurement of reach: what counts as reached, fetched for nothing, and recorded for another block."""

from __future__ import annotations

import json

import pytest

from samples import memory_named
from tacit.model.evidence import Candidate
from tacit.model.pack import Block, Index, IndexLine, Pack, PackItem, Surface
from tacit.recall.stage import Delivered
from tacit_evals.reach import ANSWERS, Reached, figures, key_of, recorded


def moment(*, needed=(), held=(), fetched=(), marginal=()) -> Reached:
    return Reached(
        needed=dict.fromkeys(needed, 2),
        marginal=frozenset(marginal),
        held=frozenset(held),
        listed=frozenset("abcdef"),
        fetched=frozenset(fetched),
        gate=frozenset(),
        search=frozenset(),
        tokens=10 * len(fetched),
    )


def test_what_is_held_or_fetched_is_reached_and_marginal_fetches_count_neither_way() -> None:
    found = figures(
        [
            moment(needed="ab", held="a", fetched="bc"),
            moment(needed="d", fetched="m", marginal="m"),
            moment(),
            moment(fetched="e"),
        ]
    )
    assert found["reach"] == pytest.approx(2 / 3)
    assert found["start"] == pytest.approx(1 / 3)
    assert found["precision"] == pytest.approx(1 / 3)
    assert found["idle"] == pytest.approx(1 / 2)
    assert found["tokens"] == pytest.approx(10)


def given(words: str, headline: str) -> Delivered:
    whole = Candidate(memory=memory_named("mem_1", words))
    line = IndexLine(candidate=Candidate(memory=memory_named("mem_2", headline)), short_id="em_2")
    pack = Pack(
        surface=Surface.START,
        items=(PackItem(candidate=whole, text=words, tokens=1),),
        index=Index(lines=(line,)),
    )
    return Delivered(pack=pack, block=Block(surface=Surface.START))


def test_an_answer_counts_for_the_block_and_the_moment_that_it_was_given_for() -> None:
    key = key_of(given("Tabs.", "Ports."), "a moment")
    assert key == key_of(given("Tabs.", "Ports."), "a moment")
    others = (
        ("Spaces.", "Ports.", "a moment"),
        ("Tabs.", "Names.", "a moment"),
        ("Tabs.", "Ports.", "another"),
    )
    assert key not in {key_of(given(words, headline), text) for words, headline, text in others}


def test_the_recorded_answers_are_short_ids_by_key() -> None:
    assert json.loads(ANSWERS.read_text("utf-8"))["made_by"]
    answers = recorded(ANSWERS)
    assert len(answers) > 100
    assert all(len(key) == 20 and all(ids) for key, ids in answers.items())
