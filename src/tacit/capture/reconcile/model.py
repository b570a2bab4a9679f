"""The fitted judge of pairs. In: rows of `features.pair_row`. Out: chances: say the same, later ends earlier, both hold.

Gradient-boosted trees, one sum per outcome, made chances by softmax (Friedman, Greedy function approximation, 2001); fitted by
`tacit_evals.fit.pairs`, never here. A frozen value, made from data; pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tacit.capture.reconcile.features import NAMES
from tacit.errors import InvalidInput

OUTCOMES = ("same", "conflict", "apart")
FILE = "pairs.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Least chances: to merge, to end the older one, to ask a person, to count as a conflict at all."""

    same: float
    conflict: float
    review: float
    possible: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairModel:
    """Trees as arrays, shape (trees, nodes): a node goes left where its number is at most its threshold; leaves have feature -1.

    Attributes:
        start: sum of each outcome before any tree, shape (3,).
        outcome: which outcome a tree adds to, shape (trees,).
        feature, threshold, left, right, value: of every node.
        thresholds: what chances mean.
        manifest: what it was fitted on.
    """

    start: NDArray[np.float64]
    outcome: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    thresholds: Thresholds
    manifest: Mapping[str, Any]

    def chances(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances of `OUTCOMES`, shape (rows, 3), each row summing to 1."""
        # Node n of tree t stands at t * nodes + n of the flattened arrays: one index is quicker than two.
        nodes = self.feature.shape[1]
        first = np.arange(len(self.outcome)) * nodes
        features, thresholds = self.feature.ravel(), self.threshold.ravel()
        left, right = self.left.ravel(), self.right.ravel()
        at = np.tile(first, (len(rows), 1))
        for _ in range(nodes):
            feature = features[at]
            inner = (feature >= 0).nonzero()
            if not len(inner[0]):
                break
            # Most trees reach a leaf after a few steps. Each further step follows only those that have not.
            here, asked = at[inner], feature[inner]
            told = rows[inner[0], asked]
            at[inner] = first[inner[1]] + np.where(told <= thresholds[here], left[here], right[here])
        values = self.value.ravel()[at]
        sums = np.stack(
            [self.start[k] + values[:, self.outcome == k].sum(axis=1) for k in range(len(OUTCOMES))], axis=1
        )
        powers = np.exp(sums - sums.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def read_model(text: str) -> PairModel:
    """The model in `text`.

    Raises:
        InvalidInput: if it is damaged or made for other numbers.
    """
    try:
        raw = cast("dict[str, Any]", json.loads(text))
        if tuple(raw["features"]) != NAMES:
            raise InvalidInput(
                "The pair model was fitted for other features.", hint="Run `python -m tacit_evals.fit`."
            )
        trees = cast("Sequence[tuple[int, Sequence[Sequence[float]]]]", raw["trees"])
        most = max(len(nodes) for _, nodes in trees)
        table = np.zeros((len(trees), most, 5))
        table[:, :, 0] = -1
        for row, (_, nodes) in enumerate(trees):
            table[row, : len(nodes)] = nodes
        return PairModel(
            start=np.array(raw["start"], np.float64),
            outcome=np.array([outcome for outcome, _ in trees], np.int64),
            feature=table[:, :, 0].astype(np.int64),
            threshold=table[:, :, 1],
            left=table[:, :, 2].astype(np.int64),
            right=table[:, :, 3].astype(np.int64),
            value=table[:, :, 4],
            thresholds=Thresholds(**raw["thresholds"]),
            manifest=raw["manifest"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"The pair model cannot be read: {error}.", hint="Reinstall Tacit.") from error


@lru_cache(maxsize=1)
def shipped_model() -> PairModel:
    """The model that ships, read once.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return read_model((files("tacit.capture.reconcile") / FILE).read_text("utf-8"))
