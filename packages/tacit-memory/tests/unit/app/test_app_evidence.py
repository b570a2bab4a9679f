"""Evidence on one scale, and a recall in one sentence: computed by hand."""

from __future__ import annotations

import pytest

from tacit.app.evidence import common_text, evidence_of, reached_text
from tacit.model.pack import Surface
from tacit.recall.spaces import SPACES


def shares(surface=Surface.PROMPT, **scores):
    return {one.sort: one.share for one in evidence_of(scores.items(), surface)}


def test_the_marks_of_a_space_lie_at_half_of_the_level_and_at_the_level():
    semantic = SPACES["semantic"]
    middle = (semantic.low + semantic.high) / 2
    assert shares(semantic=semantic.low)["meaning"] == 0.5
    assert shares(semantic=semantic.high)["meaning"] == 1.0
    assert shares(semantic=semantic.low / 2)["meaning"] == 0.25
    assert shares(semantic=middle)["meaning"] == 0.75
    assert shares(semantic=1.0)["meaning"] == 1.5
    assert shares(semantic=-0.2)["meaning"] == 0.0


def test_the_best_space_of_a_sort_counts_and_what_found_nothing_is_none():
    high = SPACES["character"].high
    (meaning, words, names) = evidence_of(
        [("lexical", 0.1), ("character", high), ("recent", 1.0)], Surface.PROMPT
    )
    assert (meaning.share, names.share) == (0.0, 0.0)
    assert (words.share, words.space) == (1.0, "character")
    assert evidence_of([], Surface.PROMPT) == ()


def test_the_moment_counts_around_a_call_and_not_before_a_prompt():
    assert "moment" not in shares(intent=1.0)
    assert shares(Surface.ACTION, intent=1.0)["moment"] == 1.5


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        (
            {"semantic": 0.9, "character": 0.01},
            "it is near in meaning, far in words and shares no name, file or command with the prompt",
        ),
        (
            {"semantic": 0.01},
            "it is far in meaning and words and shares no name, file or command with the prompt",
        ),
        (
            {"semantic": 0.9, "character": 0.9, "entity": 0.9},
            "it is near in meaning and words and shares a name, file or command with the prompt",
        ),
        ({}, ""),
    ],
)
def test_what_a_memory_has_in_common_is_told_in_words(scores, text):
    assert common_text(evidence_of(scores.items(), Surface.PROMPT), Surface.PROMPT) == text


def test_numbers_that_look_alike_get_more_places():
    assert reached_text(0.121, 0.26) == "reached 0.12 of the 0.26 that are needed"
    assert reached_text(0.2571, 0.2604) == "reached 0.2571 of the 0.2604 that are needed"
    assert reached_text(1.0, 0.5) == "reached 1.00, and 0.50 is needed"
