"""Fit the judge of pairs. In: labelled pairs, an embedder. Out: the model that ships, as text: equal data give equal text.

Thresholds come from predictions for groups (and projects) that the trees were not fitted on:

    same     = the least chance at which at most `FALSE_MERGES` of the pairs that do not say the same are said to,
               in every source of pairs by itself
    review   = the chance of a conflict at which a pair is worth a person's look
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold

from tacit.capture.reconcile.features import NAMES, pair_row
from tacit.capture.reconcile.judge import word_matches
from tacit.capture.reconcile.model import OUTCOMES
from tacit.ports.models import Embedder
from tacit_evals.fit.logistic import Array
from tacit_evals.fit.pairs.rows import Pair, dressed, history_pairs, made_pairs, pool_pairs

FOLDS = 8
ROUNDS, LEAVES, RATE, RIDGE, SHARE = 60, 8, 0.12, 5.0, 0.3
WEIGHT = {"made": 1.0, "dressed": 0.5, "history": 0.7, "pools": 1.0}
RARE = 4.0
"""Weight of the few real pairs of which one superseded the other."""
FALSE_MERGES = 0.05
REVIEW = 0.6
LEAST = 0.45
DIGITS = 4


def labelled_pairs(folders: Sequence[Path], embedder: Embedder) -> list[Pair]:
    """All pairs to fit on."""
    found = made_pairs()
    found += dressed(found)
    for folder in folders:
        if (folder / "knowledge_history").is_dir():
            found += history_pairs(folder / "knowledge_history")
        if (folder / "inject").is_dir():
            found += pool_pairs(folder / "inject", embedder)
    return found


def rows_of(pairs: Sequence[Pair], embedder: Embedder) -> Array:
    """Numbers of every pair, shape (pairs, features)."""
    texts = sorted({text for pair in pairs for text in (pair.new, pair.old)})
    # One by one: a vector must not depend on what else was embedded with it.
    vectors = {text: embedder.embed([text])[0] for text in texts}
    matches = word_matches(embedder)
    return np.array(
        [
            pair_row(pair.new, pair.old, cosine=float(vectors[pair.new] @ vectors[pair.old]), matches=matches)
            for pair in pairs
        ]
    )


def fit_pairs(folders: Sequence[Path], embedder: Embedder, *, date: str = "", command: str = "") -> str:
    """The fitted model as text."""
    pairs = labelled_pairs(folders, embedder)
    rows = rows_of(pairs, embedder)
    truth = np.array([OUTCOMES.index(pair.outcome) for pair in pairs])
    weights = np.array([_weight(pair) for pair in pairs])
    chances = held_out(pairs, rows, truth, weights)
    thresholds = thresholds_of(pairs, truth, chances)
    trees = _trees(_fitted(rows, truth, weights))
    sources = sorted({pair.source for pair in pairs})
    manifest: dict[str, Any] = {
        "what": "how a statement relates to an earlier one",
        "embedder": str(embedder.identity),
        "pairs": {source: sum(pair.source == source for pair in pairs) for source in sources},
        "held_out": {source: _figures(pairs, truth, chances, source) for source in sources},
        "date": date,
        "command": command,
    }
    document = {
        "manifest": manifest,
        "features": list(NAMES),
        "thresholds": thresholds,
        "start": trees[0],
        "trees": trees[1],
    }
    return json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n"


def _weight(pair: Pair) -> float:
    return WEIGHT[pair.source] * (RARE if pair.source == "pools" and pair.outcome == "conflict" else 1.0)


def _fitted(rows: Array, truth: NDArray[np.int64], weights: Array) -> Any:
    model: Any = HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, l2_regularization=RIDGE, max_features=SHARE,
        early_stopping=False,  # pyright: ignore[reportArgumentType] - sklearn takes True, False or "auto"
        random_state=0,
    )  # fmt: skip
    return model.fit(rows, truth, sample_weight=weights)


def held_out(pairs: Sequence[Pair], rows: Array, truth: NDArray[np.int64], weights: Array) -> Array:
    """Chances of every pair by a model that saw no pair of its group."""
    names = sorted({pair.group for pair in pairs})
    groups = np.array([names.index(pair.group) for pair in pairs])
    chances = np.zeros((len(pairs), len(OUTCOMES)))
    folds: Any = GroupKFold(FOLDS)
    for known, asked in folds.split(rows, truth, groups):
        chances[asked] = _fitted(rows[known], truth[known], weights[known]).predict_proba(rows[asked])
    return chances


def thresholds_of(pairs: Sequence[Pair], truth: NDArray[np.int64], chances: Array) -> dict[str, float]:
    """What chances mean; see above."""

    place, found = OUTCOMES.index("same"), LEAST
    for source in sorted({pair.source for pair in pairs}):
        other = np.array([pair.source == source for pair in pairs]) & (truth != place)
        said = np.where(chances[other].argmax(axis=1) == place, chances[other][:, place], 0.0)
        found = max(found, float(np.quantile(said, 1 - FALSE_MERGES, method="higher")) if len(said) else 0.0)
    return {"same": round(found, DIGITS), "review": REVIEW}


def _figures(
    pairs: Sequence[Pair], truth: NDArray[np.int64], chances: Array, source: str
) -> dict[str, float]:
    own = np.array([pair.source == source for pair in pairs])
    said, right = chances[own].argmax(axis=1), truth[own]
    figures = {"accuracy": round(float((said == right).mean()), 3)}
    for place, name in enumerate(OUTCOMES):
        if (right == place).any():
            figures[f"{name}_recall"] = round(float((said[right == place] == place).mean()), 3)
    return figures


def _trees(model: Any) -> tuple[list[float], list[tuple[int, list[list[float]]]]]:
    """Start values and trees: (outcome, nodes as [feature or -1, threshold, left, right, value])."""
    trees: list[tuple[int, list[list[float]]]] = []
    for of_round in model._predictors:  # noqa: SLF001 - sklearn has no public way to its trees
        for outcome, tree in enumerate(of_round):
            trees.append((outcome, [_node(node) for node in tree.nodes]))
    start = model._baseline_prediction.ravel()  # noqa: SLF001
    return [round(float(value), DIGITS) for value in start], trees


def _node(node: Any) -> list[float]:
    if node["is_leaf"]:
        return [-1, 0, 0, 0, round(float(node["value"]), DIGITS)]
    threshold = float(f"{node['num_threshold']:.6g}")
    return [int(node["feature_idx"]), threshold, int(node["left"]), int(node["right"]), 0]
