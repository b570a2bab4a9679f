"""Figures of the readers' scorecard by hand, and a whole run over made-up projects."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.metrics.classes import (
    average_precision,
    by_class,
    macro_precision,
    rank_correlation,
    ranked_above,
    said,
)
from tacit_evals.reading import class_lines
from tacit_evals.suites.reading import bag_of_words, centroids, run_reading
from tacit_evals.suites.running import Run


def right(*values):
    return np.array(values, np.bool_)


def test_average_precision_by_hand():
    scores = np.array([0.9, 0.8, 0.7, 0.1])
    # right at places 1 and 3: (1 / 1 + 2 / 3) / 2
    assert average_precision(scores, right(1, 0, 1, 0)) == pytest.approx(5 / 6)
    # all equal: one block of four with two hits
    assert average_precision(np.zeros(4), right(1, 0, 1, 0)) == pytest.approx(0.5)
    assert average_precision(scores, right(0, 0, 0, 0)) is None


def test_the_area_under_the_curve_counts_ties_by_half():
    # right: 0.9 and 0.5, wrong: 0.5 and 0.1; of four pairs three are won and one is a tie
    assert ranked_above(np.array([0.9, 0.5, 0.5, 0.1]), right(1, 1, 0, 0)) == pytest.approx(3.5 / 4)
    assert ranked_above(np.array([0.9]), right(1)) is None


def test_ranks_correlate_whatever_the_distances():
    assert rank_correlation(np.array([1.0, 2.0, 30.0]), np.array([0.1, 0.2, 0.21])) == pytest.approx(1.0)
    assert rank_correlation(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None


def test_a_class_of_fewer_than_three_items_counts_for_nothing():
    truth = np.array([[1, 1], [1, 0], [1, 0], [0, 0]], np.bool_)
    scores = np.array([[0.9, 0.0], [0.5, 0.9], [0.1, 0.0], [0.4, 0.0]])
    assert macro_precision(scores, truth) == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert said(scores, truth, threshold=0.4) == pytest.approx((2 / 3, 2 / 3))
    assert [row["class"] for row in by_class(("commit", "push"), scores, truth, threshold=0.4)] == ["commit"]


def test_a_bag_of_words_knows_the_words_it_was_fitted_on():
    texts = [{"w:commit"}, {"w:test"}] * 4
    truth = np.array([[1.0, 0.0], [0.0, 1.0]] * 4)
    found = bag_of_words(texts, ["a", "b"] * 2 + ["c", "a"] * 2, truth, [{"w:commit"}, {"w:test"}])
    assert found[0, 0] > 0.7
    assert found[1, 1] > 0.7
    assert found[0, 1] < 0.3
    assert found[1, 0] < 0.3


def test_a_centroid_is_the_direction_of_its_class():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = centroids(vectors, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([[0.6, 0.8]]))
    assert found.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


@pytest.mark.slow
def test_every_project_is_read_by_models_without_it(labels):
    card = run_reading(Run(data=labels, embedder=FakeEmbedder()), least_rows=20)
    parts = {part.name: part for part in card.parts}
    assert {"alpha", "beta", "gamma"} <= set(parts)
    alpha = parts["alpha"]
    assert alpha.metrics["prompts"] == 20.0
    assert alpha.metrics["statements"] == 76.0
    assert set(alpha.baselines) == {"rules", "bag of words", "centroids"}
    assert all(0.0 <= alpha.metrics[f"auc_{side}_read"] <= 1.0 for side in ("given", "local"))
    assert alpha.metrics["read_p99_us"] >= alpha.metrics["read_p50_us"] > 0.0
    assert any(line.startswith("alpha  situation  fix_bug") for line in class_lines(card))
