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
from itertools import zip_longest
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tacit.capture.reconcile.features import NAMES
from tacit.errors import InvalidInput

OUTCOMES = ("same", "conflict", "apart")
FILE = "pairs.json"
MOST_LEAVES = 8
"""Leaves of one tree: a bit of a byte each."""

_Node = Sequence[float]
"""Feature (-1 = a leaf), threshold, places of the left and the right node, value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Least chances: to count as said before in other words, to ask a person whether both hold."""

    same: float
    review: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairModel:
    """Trees as arrays. A node goes left where its number is at most its threshold.

    Attributes:
        start: sum of each outcome before any tree, shape (3,).
        adds: 1 for the outcome that a tree adds to, else 0, shape (trees, 3).
        feature, threshold: of every inner node, shape (nodes, trees); a node that only fills up goes left.
        ruled_out: the leaves on the left of each node, one bit for each leaf, shape (nodes, trees).
        value: of every leaf from left to right, shape (trees, leaves).
        thresholds: what chances mean.
        manifest: what it was fitted on.
    """

    start: NDArray[np.float64]
    adds: NDArray[np.float64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    ruled_out: NDArray[np.uint8]
    value: NDArray[np.float64]
    thresholds: Thresholds
    manifest: Mapping[str, Any]

    def chances(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chances of `OUTCOMES`, shape (rows, 3), each row summing to 1.

        All nodes of all trees are compared at once, without a walk: a node that goes right rules out the leaves on its left, and
        the first leaf that remains is the tree's (Lucchese et al., QuickScorer, 2015).
        """
        goes_right = rows.T.take(self.feature, axis=0) > self.threshold[:, :, None]
        ruled_out = np.bitwise_or.reduce(goes_right * self.ruled_out[:, :, None], axis=0)
        leaf = np.bitwise_count(ruled_out & ~(ruled_out + np.uint8(1)))
        values = self.value[np.arange(len(self.value))[:, None], leaf]
        sums = self.start + values.T @ self.adds
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
        trees = cast("Sequence[tuple[int, Sequence[_Node]]]", raw["trees"])
        flat = [_flattened(nodes) for _, nodes in trees]
        most = max(len(values) for _, values in flat)
        if most > MOST_LEAVES:
            raise ValueError(f"a tree has {most} leaves")
        filling = (0, np.inf, 0)
        # A row of nodes at least, also where every tree is a single leaf.
        nodes = list(zip_longest(*(inner or [filling] for inner, _ in flat), fillvalue=filling))
        return PairModel(
            start=np.array(raw["start"], np.float64),
            adds=np.eye(len(OUTCOMES))[[outcome for outcome, _ in trees]],
            feature=np.array([[node[0] for node in row] for row in nodes], np.int64),
            threshold=np.array([[node[1] for node in row] for row in nodes], np.float64),
            ruled_out=np.array([[node[2] for node in row] for row in nodes], np.uint8),
            value=np.array([[*values, *[0.0] * (most - len(values))] for _, values in flat], np.float64),
            thresholds=Thresholds(**raw["thresholds"]),
            manifest=raw["manifest"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"The pair model cannot be read: {error}.", hint="Reinstall Tacit.") from error


def _flattened(nodes: Sequence[_Node]) -> tuple[list[tuple[int, float, int]], list[float]]:
    """The inner nodes of a tree (feature, threshold, leaves on its left as bits), and its leaves from left to right."""
    inner: list[tuple[int, float, int]] = []
    leaves: list[float] = []

    def walk(place: int) -> None:
        feature, threshold, left, right, value = nodes[place]
        if feature < 0:
            leaves.append(value)
            return
        before = len(leaves)
        walk(int(left))
        inner.append((int(feature), threshold, (1 << len(leaves)) - (1 << before)))
        walk(int(right))

    walk(0)
    return inner, leaves


@lru_cache(maxsize=1)
def shipped_model() -> PairModel:
    """The model that ships, read once.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return read_model((files("tacit.capture.reconcile") / FILE).read_text("utf-8"))
