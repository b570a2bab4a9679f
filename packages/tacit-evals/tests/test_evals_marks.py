"""Marks of spaces from the scores of pairs, computed by hand, and the file that ships."""

from __future__ import annotations

from tacit.recall.spaces import SPACES, SpaceThresholds, shipped_thresholds
from tacit_evals.fit.marks import marks_of

KEPT = {space: SpaceThresholds(low=0.1, high=0.5, by="data", pairs=70) for space in SPACES}


def test_marks_are_quantiles_of_what_nobody_needed():
    """Scores 0.01 to 1.00 by hundredths: seven in ten stay below 0.71, one in twenty reaches 0.96, held to 0.9."""
    null = [number / 100 for number in range(1, 101)]
    found = marks_of({"semantic": {False: null, True: [0.2, 0.95]}}, KEPT)["semantic"]
    assert (found.low, found.high, found.by) == (0.71, 0.9, "data")
    assert (found.others_at_high, found.needed_at_high) == (0.11, 0.5)
    open_ended = marks_of({"lexical": {False: [10 * value for value in null], True: []}}, KEPT)["lexical"]
    assert (open_ended.low, open_ended.high) == (7.1, 9.6)


def test_too_few_pairs_and_spaces_of_time_keep_their_marks():
    found = marks_of({"causal": {False: [0.3] * 49}, "recent": {False: [0.3] * 500}}, KEPT)
    assert found["causal"] == found["recent"] == SpaceThresholds(low=0.1, high=0.5, by="hand")


def test_one_value_for_nearly_all_still_leaves_low_below_high():
    found = marks_of({"entity": {False: [0.2] * 10 + [1.0] * 90, True: []}}, KEPT)["entity"]
    assert found.low < found.high


def test_the_shipped_file_has_every_space():
    assert list(shipped_thresholds()) == list(SPACES)
