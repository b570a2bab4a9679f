"""Simpler learners beside which the readers are shown. In: texts, vectors and labels of other projects. Out: scores.

bag of words   one logistic regression per class over the presence of words and word pairs, without rules or vectors
centroids      cosine between a text's vector and the mean vector of the class's texts
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from tacit_evals.fit.logistic import Array, fit_dual, sigmoid
from tacit_evals.fit.situation import presence, vocabulary

SCALE = 10.0
"""How much words weigh against the penalty of 1; set by hand, not tuned."""


def bag_of_words(
    fitted: Sequence[Collection[str]],
    projects: Sequence[str],
    right: Array,
    asked: Sequence[Collection[str]],
) -> Array:
    """Chance of every class for every text of `asked`, of shape (asked, classes).

    Args:
        fitted: words of the texts to fit on.
        projects: whose each of them is.
        right: 1 where a text has the class, of shape (fitted, classes).
        asked: words of the texts to read.
    """
    words = vocabulary(fitted, projects)
    known, read = presence(fitted, words), presence(asked, words)
    dual, bias = fit_dual(SCALE * (known @ known.T), right, penalty=1.0)
    return sigmoid(SCALE * (read @ known.T) @ dual + bias)


def centroids(fitted: Array, right: Array, asked: Array) -> Array:
    """Cosine of every text of `asked` with the mean of every class; 0 for a class that no text has."""
    sums = right.T @ fitted
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return asked @ (sums / np.maximum(lengths, 1e-9)).T
