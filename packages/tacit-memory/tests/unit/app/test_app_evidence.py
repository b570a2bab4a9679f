"""What adds up to a relevance, in points, and a recall in one sentence: computed by hand."""

from __future__ import annotations

import math

import pytest

from tacit.app.evidence import common_text, evidence_of, reached_text, sum_of, terms_text

NEEDED = 0.25
USUAL = math.log(NEEDED / (1 - NEEDED)) - 2.0
"""So that the needed level lies 2 above what every memory starts from: 50 points a unit."""


def odds(*values: float) -> float:
    return 1 / (1 + math.exp(-(USUAL + sum(values))))


def evidence(relevance: float | None = None, **parts: float):
    given = (("usual", USUAL), *parts.items())
    return evidence_of(given, odds(*parts.values()) if relevance is None else relevance, NEEDED)


def points(relevance: float | None = None, **parts: float) -> dict[str, int]:
    return {part.name: part.points for part in evidence(relevance, **parts)}


def test_the_parts_are_told_in_points_and_add_up_to_a_hundred_where_the_level_is_reached():
    assert points(cosine=1.0, alone=0.5, rare=-0.1) == {"cosine": 50, "alone": 25, "rare": -5}
    assert sum(points(cosine=1.501, alone=0.499).values()) == 100
    assert sum(points(cosine=1.5, alone=0.49999).values()) == 99  # not reached, whatever rounding says
    assert points(cosine=0.011, rare=0.011, alone=0.011) == {"cosine": 0, "rare": 1, "alone": 0}


def test_what_changed_the_relevance_after_the_gate_is_a_part_too():
    assert points(odds(1.0, -0.5), cosine=1.0) == {"cosine": 50, "other": -25}
    assert points(cosine=1.0, many=0.0) == {"cosine": 50}


def test_where_rules_decide_or_nothing_is_needed_nothing_is_summed():
    assert evidence_of((), 0.5, NEEDED) == ()
    assert evidence_of((("usual", USUAL), ("cosine", 1.0)), 0.5, 0.0) == ()
    assert evidence_of((("usual", 0.0), ("cosine", 1.0)), 0.5, NEEDED) == ()
    assert terms_text(()) == common_text(()) == ""


def test_the_sum_is_told_in_one_line_the_greatest_first():
    summed = evidence(rare=-0.1, cosine=1.0, covered=0.0, alone=0.5)
    assert sum_of(summed) == 70
    assert terms_text(summed) == "meaning +50, better than the others +25, no rare word in common -5"


def test_a_part_that_compares_is_named_by_its_outcome():
    assert (
        terms_text(evidence(alone=-0.5, nearness=-0.2))
        == "far from this project -10, worse than the others -25"
    )
    assert (
        terms_text(evidence(alone=0.5, nearness=0.2))
        == "better than the others +25, near to this project +10"
    )


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"cosine": 1.0, "alone": -1.0}, "it is near in meaning, but others come nearer"),
        (
            {"cosine": -1.0, "rare": -0.5, "alone": 0.1},
            "its meaning is far, and it shares no rare word with the prompt",
        ),
        (
            {"cosine": -1.0, "nearness": -0.5, "alone": 0.9},
            "it is better than the others, but its meaning is far, and the prompt is far from what is known of this project",
        ),
        (
            {"rare": 0.5, "nearness": -0.5, "alone": 0.9},
            "it is better than the others and it shares a rare word with the prompt, but the prompt is far from what is known of this project",
        ),
        ({"cosine": 0.1, "alone": -0.1}, ""),
    ],
)
def test_what_speaks_for_and_against_a_memory_is_told_in_words(parts, text):
    assert common_text(evidence(**parts)) == text


def test_numbers_that_look_alike_get_more_places():
    assert reached_text(0.121, 0.26) == "reached 0.12, and 0.26 is needed"
    assert reached_text(0.2571, 0.2604) == "reached 0.2571, and 0.2604 is needed"
    assert reached_text(1.0, 0.5) == "reached 1.00, and 0.50 is needed"


def test_where_there_are_points_they_alone_tell_how_far_a_memory_came():
    low, high = {"cosine": -1.0, "alone": 0.5}, {"cosine": 2.0, "alone": 0.5}
    assert (
        reached_text(odds(*low.values()), NEEDED, evidence(**low)) == "reached -25 points, and 100 are needed"
    )
    assert (
        reached_text(odds(*high.values()), NEEDED, evidence(**high))
        == "reached 125 points, and 100 are needed"
    )
