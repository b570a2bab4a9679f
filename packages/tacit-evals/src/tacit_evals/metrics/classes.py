"""Figures of readers that give every class a score. In: scores and whether each class was right. Out: shares and ranks.

A class counts only where at least `LEAST` items have it: the average precision of one item is luck.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit_evals.metrics.counts import Array

LEAST = 3
Truth = NDArray[np.bool_]


def average_precision(scores: Array, truth: Truth) -> float | None:
    """Mean precision at the places of what is right; items of equal score are one block. None where nothing is right."""
    if not truth.any():
        return None
    levels, place = np.unique(-scores, return_inverse=True)
    size = np.bincount(place, minlength=len(levels))
    hits = np.bincount(place, weights=truth, minlength=len(levels))
    return float((hits * np.cumsum(hits) / np.cumsum(size)).sum() / truth.sum())


def ranked_above(scores: Array, truth: Truth) -> float | None:
    """Area under the curve: the chance that what is right scores above what is not; ties count half."""
    n, m = int(truth.sum()), int((~truth).sum())
    if not n or not m:
        return None
    return float((ranks(scores)[truth].sum() - n * (n + 1) / 2) / (n * m))


def rank_correlation(first: Array, second: Array) -> float | None:
    """Spearman's correlation; None where one of both is constant."""
    a, b = ranks(first), ranks(second)
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def ranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing their mean."""
    levels, place, size = np.unique(values, return_inverse=True, return_counts=True)
    del levels
    return (np.cumsum(size) - (size - 1) / 2)[place]


def macro_precision(scores: Array, truth: Truth) -> float | None:
    """Mean average precision over the classes (columns) that `LEAST` items have."""
    precisions = [
        average_precision(scores[:, column], truth[:, column])
        for column in range(truth.shape[1])
        if truth[:, column].sum() >= LEAST
    ]
    defined = [value for value in precisions if value is not None]
    return float(np.mean(defined)) if defined else None


def said(scores: Array, truth: Truth, *, threshold: float) -> tuple[float, float] | None:
    """Macro precision and recall over the classes that `LEAST` items have, a class being said from `threshold` on."""
    pairs = [
        precision_recall(scores[:, column] >= threshold, truth[:, column])
        for column in range(truth.shape[1])
        if truth[:, column].sum() >= LEAST
    ]
    if not pairs:
        return None
    return float(np.mean([p for p, _ in pairs])), float(np.mean([r for _, r in pairs]))


def precision_recall(predicted: Truth, truth: Truth) -> tuple[float, float]:
    """Precision (0 where nothing was said) and recall."""
    hits = float((predicted & truth).sum())
    return hits / max(float(predicted.sum()), 1.0), hits / max(float(truth.sum()), 1.0)


def by_class(
    names: Sequence[str], scores: Array, truth: Truth, *, threshold: float
) -> list[dict[str, float | str | None]]:
    """One row per class that `LEAST` items have, the commonest first."""
    rows: list[dict[str, float | str | None]] = []
    for column in sorted(range(len(names)), key=lambda c: (-int(truth[:, c].sum()), names[c])):
        if truth[:, column].sum() < LEAST:
            continue
        precision, recall = precision_recall(scores[:, column] >= threshold, truth[:, column])
        rows.append(
            {
                "class": names[column],
                "rows": float(truth[:, column].sum()),
                "precision": precision,
                "recall": recall,
                "average_precision": average_precision(scores[:, column], truth[:, column]),
            }
        )
    return rows
