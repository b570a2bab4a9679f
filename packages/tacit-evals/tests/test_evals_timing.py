"""The arithmetic of the benchmarks."""

from __future__ import annotations

import pytest

from tacit_evals.timing import Row, paired_ratio, percentile


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1.0), (0.05, 1.0), (0.5, 10.0), (0.95, 19.0), (0.951, 20.0), (1.0, 20.0)]
)
def test_percentile_is_the_nearest_rank(share, expected):
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected


def test_paired_ratio_forgives_a_slow_moment():
    assert paired_ratio([2.0, 200.0, 2.0], [1.0, 100.0, 1.0]) == 2.0


def test_a_row_keeps_its_target_up_to_the_target_itself():
    assert Row(name="a", value=2.5, unit="x", target=2.5).verdict == "ok"
    assert Row(name="a", value=2.51, unit="x", target=2.5).verdict == "over"
    assert Row(name="a", value=9.0, unit="x").verdict == ""
