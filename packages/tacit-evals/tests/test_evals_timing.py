"""The arithmetic of the benchmarks."""

from __future__ import annotations

import json
import math

import pytest

from tacit_evals.timing import Row, median, paired_ratio, percentile, ratio, write_json


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1.0), (0.05, 1.0), (0.5, 10.0), (0.95, 19.0), (0.951, 20.0), (1.0, 20.0)]
)
def test_percentile_is_the_nearest_rank(share, expected):
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected


def test_no_values_have_no_percentile_and_no_median():
    assert percentile([], 0.95) == 0.0
    assert median([]) == 0.0


def test_ratio_of_nothing_is_infinite():
    assert ratio(3.0, 2.0) == 1.5
    assert math.isinf(ratio(1.0, 0.0))


def test_paired_ratio_forgives_a_slow_moment():
    assert paired_ratio([2.0, 200.0, 2.0], [1.0, 100.0, 1.0]) == 2.0


def test_paired_values_must_be_pairs():
    with pytest.raises(ValueError, match="shorter"):
        paired_ratio([1.0, 2.0], [1.0])


def test_a_row_keeps_its_target_up_to_the_target_itself():
    assert Row(name="a", value=2.5, unit="x", target=2.5).verdict == "ok"
    assert Row(name="a", value=2.51, unit="x", target=2.5).verdict == "over"
    assert Row(name="a", value=9.0, unit="x").verdict == ""


def test_json_holds_rows_with_their_verdicts_and_what_else_is_given(tmp_path):
    write_json(tmp_path / "out.json", [Row(name="a", value=3.0, unit="x", target=2.5)], core=1)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["rows"][0]["verdict"] == "over"
    assert found["core"] == 1
