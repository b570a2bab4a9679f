"""Every fusion against a value computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.model.evidence import Hit, Ranking
from tacit.recall.retrieve import fitted_order, reciprocal_rank, rrf_equal, rrf_weighted


def ranking(space: str, *hits: tuple[str, float]) -> Ranking:
    return Ranking(space=space, hits=tuple(Hit(memory_id=i, score=s) for i, s in hits))


LEXICAL = ranking("lexical", ("a", 9.0), ("b", 5.0), ("c", 1.0))
SEMANTIC = ranking("semantic", ("b", 0.8), ("d", 0.4))


def test_reciprocal_rank_by_hand():
    """b: 1/62 + 1/61; a: 1/61; d: 1/62; c: 1/63."""
    fused = reciprocal_rank([LEXICAL, SEMANTIC], {})
    assert [i for i, _ in fused] == ["b", "a", "d", "c"]
    assert fused[0][1] == pytest.approx(1 / 62 + 1 / 61)
    assert fused[3][1] == pytest.approx(1 / 63)


def test_reciprocal_rank_weights_a_space():
    """A weight of two doubles what a space gives."""
    fused = dict(reciprocal_rank([SEMANTIC], {"semantic": 2.0}))
    assert fused["b"] == pytest.approx(2 / 61)


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from("abcdef"), st.floats(0, 100)), max_size=6, unique_by=lambda t: t[0]
        ),
        max_size=4,
    )
)
@pytest.mark.parametrize("fuse", [fitted_order, rrf_equal, rrf_weighted])
def test_fusion_is_total_and_stable(fuse, lists):
    """Every found memory comes out once; order is by score, then by id, the newest first; order of rankings does not matter for the set."""
    rankings = [ranking(f"s{i}", *hits) for i, hits in enumerate(lists)]
    fused = fuse(rankings)
    ids = [i for i, _ in fused]
    assert sorted(ids) == sorted({h.memory_id for r in rankings for h in r.hits})
    assert list(fused) == sorted(fused, key=lambda item: (item[1], item[0]), reverse=True)


def test_the_best_of_one_space_survives_many_that_two_spaces_find():
    from tacit.recall.retrieve import truncate_fused

    crowd = [(f"m{n:02}", 1.0 - n / 100) for n in range(30)]
    rankings = [ranking("semantic", ("only", 1.0), *crowd), ranking("intent", *crowd)]
    fused = reciprocal_rank(rankings, {"intent": 1.2})
    assert "only" not in [name for name, _ in fused[:10]]
    short = truncate_fused(fused, rankings, 10)
    assert "only" in [name for name, _ in short]
    assert len(short) == 10
    assert list(short) == sorted(short, key=lambda entry: (-entry[1], entry[0]))


def test_fitted_order_by_hand():
    from math import log1p

    rankings = [
        ranking("intent", ("a", 1.0), ("b", 0.5)),
        ranking("semantic", ("b", 0.4), ("c", 0.3)),
        ranking("lexical", ("c", 3.0)),
    ]
    expected = {"a": 1.2 + 7.8 * 0.3, "b": 0.6 + 7.8 * 0.4, "c": 7.8 * 0.3 + 0.46 * log1p(3.0)}
    found = dict(fitted_order(rankings))
    assert found == pytest.approx(expected)
    assert [name for name, _ in fitted_order(rankings)] == ["b", "a", "c"]


def test_what_the_context_holds_takes_no_place_from_others():
    from tacit.recall.retrieve import KEPT_IN_CONTEXT, truncate_fused

    fused = tuple((f"m{n:02}", 1.0 - n / 100) for n in range(40))
    held = {f"m{n:02}" for n in range(20)}
    short = [name for name, _ in truncate_fused(fused, [], 10, held)]
    assert short == [f"m{n:02}" for n in (*range(KEPT_IN_CONTEXT), *range(20, 30))]
