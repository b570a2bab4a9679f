"""What other thresholds would do: risk against coverage. In: items with predictions. Out: points and the area.

    coverage  needed memories handed / needed memories that the start pack left
    risk      1 - precision of what is handed
    area      integral of risk over coverage from 0 to 1; what is never found counts with risk 1

Form: El-Yaniv and Wiener, 2010; with coverage over needs the area is 1 - average precision. Budgets are left aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit_evals.metrics.counts import Handed


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What everything predicted at `threshold` or above would give."""

    threshold: float
    coverage: float
    risk: float
    wrongful: float
    per_item: float


def risk_coverage(handed: Sequence[Handed]) -> tuple[tuple[Point, ...], float]:
    """Points from the highest threshold down, one for each distinct prediction, and the area."""
    remaining = sum(len(one.judgment.needed.keys() - one.start) for one in handed)
    silent = sum(one.judgment.nothing for one in handed)
    pairs = sorted(
        (
            (-value, one.item, memory, memory in one.judgment.needed, one.judgment.nothing)
            for one in handed
            for memory, value in one.predicted.items()
            if memory not in one.start and memory not in one.judgment.marginal
        ),
    )
    points: list[Point] = []
    area = before = 0.0
    right = 0
    wrongful: set[str] = set()
    for at, (value, item, _, hit, nothing) in enumerate(pairs):
        right += hit
        if nothing:
            wrongful.add(item)
        if at + 1 < len(pairs) and pairs[at + 1][0] == value:
            continue
        point = Point(
            threshold=-value,
            coverage=right / remaining if remaining else 0.0,
            risk=1 - right / (at + 1),
            wrongful=len(wrongful) / silent if silent else 0.0,
            per_item=(at + 1) / len(handed),
        )
        area += (point.coverage - before) * point.risk
        before = point.coverage
        points.append(point)
    return tuple(points), area + (1 - before)
