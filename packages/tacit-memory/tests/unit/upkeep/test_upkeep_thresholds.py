from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.app.tuning import bounded_threshold, rate_at


def test_by_hand() -> None:
    # n = 19, bound 0.1: floor(0.1 * 20 - 1) = 1 of them may get something; the next best is 0.5.
    best = [0.9, 0.5, *([0.1] * 17)]
    assert bounded_threshold(best, bound=0.1) == pytest.approx(0.5001)
    assert rate_at(best, 0.5001) == pytest.approx(1 / 19)


def test_too_few_prompts_promise_nothing() -> None:
    assert bounded_threshold([0.2] * 8, bound=0.1) is None
    assert bounded_threshold([], bound=0.5) is None


@given(
    st.lists(st.floats(0, 1).map(lambda x: round(x, 4)), min_size=1, max_size=60),
    st.floats(0.02, 0.5),
)
def test_the_corrected_rate_is_within_the_bound(best: list[float], bound: float) -> None:
    found = bounded_threshold(best, bound=bound)
    if found is not None and found < 1.0:
        n = len(best)
        assert n / (n + 1) * rate_at(best, found) + 1 / (n + 1) <= bound + 1e-6
