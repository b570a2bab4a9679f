from __future__ import annotations

import pytest

from tacit.model.evidence import Background, Hit, Ranking
from tacit.recall.spaces import make_similarity_z


def test_apart_by_hand():
    ranking = Ranking(
        space="semantic",
        hits=(Hit(memory_id="a", score=0.5), Hit(memory_id="b", score=0.3)),
        background=Background(count=30, total=30, mean=0.21, deviation=0.2),
    )
    mean = (30 * 0.21 + 10 * 0.13) / 40
    deviation = ((30 * (0.2**2 + (0.21 - mean) ** 2) + 10 * (0.11**2 + (0.13 - mean) ** 2)) / 40) ** 0.5
    found = make_similarity_z((Ranking(space="lexical", hits=()), ranking))
    assert found("a") == pytest.approx((0.5 - mean) / deviation)
    assert found("elsewhere") == found("b") == pytest.approx((0.3 - mean) / deviation)


def test_one_memory_is_measured_by_the_reference():
    ranking = Ranking(
        space="semantic",
        hits=(Hit(memory_id="a", score=0.6),),
        background=Background(count=1, total=1, mean=0.6, deviation=0.0),
    )
    assert 2.0 < make_similarity_z((ranking,))("a") < (0.6 - 0.13) / 0.11


def test_without_a_ranking_nothing_is_apart():
    assert make_similarity_z(())("a") == 0.0
    assert make_similarity_z((Ranking(space="semantic", hits=(Hit(memory_id="a", score=0.6),)),))("a") == 0.0
