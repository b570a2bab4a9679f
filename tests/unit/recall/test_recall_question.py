"""A question that one memory answers: when a memory stands out, and what is a question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import candidate, query
from tacit.model.pack import Surface
from tacit.reading.situation import asks_question, is_whole_question
from tacit.recall.score.question import find_answer


def found(*values: tuple[float, float]):
    """Candidates with these deviations and cosines."""
    return tuple(
        replace(candidate(f"Statement {number}.", scores=(("semantic", cosine),)), similarity_z=z)
        for number, (z, cosine) in enumerate(values)
    )


SMS = "Which service do we use to send SMS?"


@pytest.mark.parametrize(
    ("candidates", "place"),
    [
        (((1.4, 0.2), (3.5, 0.43)), 1),
        (((2.6, 0.36), (1.6, 0.2)), 0),  # exactly one deviation ahead
        (((2.6, 0.36), (1.7, 0.2)), None),  # not far enough ahead
        (((3.5, 0.34), (1.0, 0.1)), None),  # too far away
        (((1.5, 0.4),), 0),
        ((), None),
    ],
)
def test_the_memory_that_stands_out_answers(candidates, place):
    assert find_answer(query(SMS), found(*candidates), least_cosine=0.35) == place


def test_an_order_is_answered_by_no_memory():
    assert (
        find_answer(query("Send an SMS to everybody."), found((3.5, 0.6), (0.0, 0.0)), least_cosine=0.35)
        is None
    )


def test_only_prompts_ask():
    asked = query(SMS, surface=Surface.SUBAGENT)
    assert find_answer(asked, found((3.5, 0.6), (0.0, 0.0)), least_cosine=0.35) is None


def test_a_digest_answers_nothing():
    digest = replace(
        found((3.5, 0.6))[0], memory=candidate("impl: which service sends SMS?", kind="digest").memory
    )
    assert find_answer(query(SMS), (digest,), least_cosine=0.35) is None
    assert find_answer(query(SMS), (digest, *found((2.0, 0.4), (0.5, 0.1))), least_cosine=0.35) == 1


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("how is the order number generated?", True),
        ("who approves production deploys?", True),
        ("and who approves production deploys?", False),
        ("why does it fail?", False),
        ("what about the tests?", False),
        ("why?", False),
        ("fix the order number", False),
    ],
)
def test_a_whole_question_needs_nothing_that_was_said_before(text, whole):
    assert is_whole_question(text) is whole


@pytest.mark.parametrize(
    "text",
    [
        SMS,
        "what port does staging run on",
        "where is the config",
        "who maintains the importer",
        "The list shows the wrong hour. What should our endpoints return?",
        "ok, why do we lock appointments?",
    ],
)
def test_a_question_is_recognized(text):
    assert asks_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Can you fix the tests?",
        "Could you tidy up the imports of this file?",
        "Fix the tests.",
        "Do it again.",
        "is that all we know of it, then I would rather start over with a fresh branch now",
        "Which of these is right? " + "The list has many entries and each of them must be checked. " * 4,
    ],
)
def test_what_orders_or_is_long_is_no_question(text):
    assert not asks_question(text)
