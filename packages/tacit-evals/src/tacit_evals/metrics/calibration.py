"""Whether predicted relevance means what it says, and what other thresholds would do. In: predictions with their truth. Out: figures.

    ECE = sum over bins of (pairs in bin / pairs) * |mean prediction - share needed|

with bins of equal mass (Nguyen and O'Connor, 2015; Roelofs et al., 2022). Pairs predicted below `LEAST` are left out: nearly
all pairs are irrelevant and predicted so, and would hide every error. Ties of the prediction are broken by the pair's key.

Risk against coverage, one point per threshold:

    coverage  needed memories handed / needed memories that the start pack left
    risk      1 - precision of what is handed
    area      integral of risk over coverage from 0 to 1; what is never found counts with risk 1

Form: El-Yaniv and Wiener, 2010; with coverage over needs the area is 1 - average precision. Budgets are left aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit_evals.metrics.counts import ItemResult
from tacit_evals.metrics.resample import SEED, Interval, percentile_interval

LEAST = 0.1
BINS = 10
RESAMPLES = 500
Pairs = Sequence[tuple[float, bool]]


def pairs_of(result: ItemResult, *, least: float = LEAST) -> list[tuple[float, bool]]:
    """Predictions of one item with their truth; marginal pairs are left out."""
    return [
        (value, memory in result.judgment.needed)
        for memory, value in sorted(result.predicted.items())
        if value >= least and memory not in result.judgment.marginal
    ]


def calibration_bins(pairs: Pairs, *, bins: int = BINS) -> list[tuple[int, float, float]]:
    """(pairs, mean prediction, share needed) of each bin, lowest predictions first; no more bins than pairs."""
    if not pairs:
        return []
    ordered = sorted(range(len(pairs)), key=lambda at: (pairs[at][0], at))
    groups = np.array_split(np.array(ordered), min(bins, len(pairs)))
    values = np.array([value for value, _ in pairs])
    truth = np.array([float(hit) for _, hit in pairs])
    return [(len(group), float(values[group].mean()), float(truth[group].mean())) for group in groups]


def calibration_error(pairs: Pairs, *, bins: int = BINS) -> float:
    """Expected calibration error; 0 without pairs."""
    size = len(pairs)
    return sum(n / size * abs(mean - share) for n, mean, share in calibration_bins(pairs, bins=bins))


def constant_error(pairs: Pairs, constant: float) -> float:
    """The same for one that always predicts `constant`: it has a single bin."""
    return abs(constant - share_needed(pairs)) if pairs else 0.0


def share_needed(pairs: Pairs) -> float:
    """Share of pairs that were needed; 0 without pairs."""
    return sum(hit for _, hit in pairs) / len(pairs) if pairs else 0.0


def calibration_interval(items: Sequence[Pairs]) -> Interval:
    """95 % interval by resampling items with all their pairs."""
    if not items:
        return 0.0, 0.0
    chance = np.random.default_rng(SEED)
    values = [
        calibration_error([pair for at in chance.integers(len(items), size=len(items)) for pair in items[at]])
        for _ in range(RESAMPLES)
    ]
    return percentile_interval(np.array(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What everything predicted at `threshold` or above would give."""

    threshold: float
    coverage: float
    risk: float
    wrongful: float
    per_item: float


def risk_coverage(handed: Sequence[ItemResult]) -> tuple[tuple[Point, ...], float]:
    """Points from the highest threshold down, one for each distinct prediction, and the area."""
    remaining = sum(len(result.judgment.needed.keys() - result.start) for result in handed)
    silent = sum(result.judgment.nothing for result in handed)
    pairs = sorted(
        (
            (-value, result.item, memory, memory in result.judgment.needed, result.judgment.nothing)
            for result in handed
            for memory, value in result.predicted.items()
            if memory not in result.start and memory not in result.judgment.marginal
        ),
    )
    points: list[Point] = []
    area = before = 0.0
    hits = 0
    wrongful: set[str] = set()
    for at, (value, item, _, hit, nothing) in enumerate(pairs):
        hits += hit
        if nothing:
            wrongful.add(item)
        if at + 1 < len(pairs) and pairs[at + 1][0] == value:
            continue
        point = Point(
            threshold=-value,
            coverage=hits / remaining if remaining else 0.0,
            risk=1 - hits / (at + 1),
            wrongful=len(wrongful) / silent if silent else 0.0,
            per_item=(at + 1) / len(handed),
        )
        area += (point.coverage - before) * point.risk
        before = point.coverage
        points.append(point)
    return tuple(points), area + (1 - before)
