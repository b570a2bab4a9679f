"""Comparison of sessions with and without memory: means with intervals. In: records of sessions. Out: contrasts. Pure; resampling is seeded.

The interval is the 95 % percentile interval of the difference of two means over 2000 bootstrap resamples of each group (Efron and
Tibshirani: An introduction to the bootstrap, 1993, sections 8.3 and 13.3). Below 20 sessions a group nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.state.counted import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2000
LEVEL = 0.95
ENOUGH = 20
_CHUNK = 200
_SEED = 20_261_121


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One measure. `difference` = mean with memory less mean without; `low`, `high` = its 95 % interval.

    `clear` = there are enough sessions, and the interval does not hold 0.
    """

    measure: str
    with_memory: float
    without: float
    difference: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdout:
    """A trial: `share` = the share of sessions that go without now; sessions of each group; a contrast per measure."""

    share: float
    sessions_with: int
    sessions_without: int
    enough: bool
    contrasts: tuple[Contrast, ...] = ()


MEASURES: Mapping[str, Callable[[Record], float]] = {
    "repeated failures a session": lambda record: record.repeated,
    "turns a session": lambda record: record.turns,
    "tokens a session": lambda record: record.tokens,
    "failures a session": lambda record: record.failures,
}


def holdout_of(records: Sequence[Record], *, share: float) -> Holdout:
    """Compare the sessions of both groups."""
    having = [record for record in records if not record.without]
    lacking = [record for record in records if record.without]
    enough = min(len(having), len(lacking)) >= ENOUGH
    contrasts = [
        _contrast(
            name,
            [measure(record) for record in having],
            [measure(record) for record in lacking],
            enough=enough,
        )
        for name, measure in MEASURES.items()
        if having and lacking
    ]
    return Holdout(
        share=share,
        sessions_with=len(having),
        sessions_without=len(lacking),
        enough=enough,
        contrasts=tuple(contrasts),
    )


def _contrast(name: str, having: Sequence[float], lacking: Sequence[float], *, enough: bool) -> Contrast:
    values_with, values_without = np.asarray(having, dtype=np.float64), np.asarray(lacking, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    differences = np.sort(_means(values_with, rng) - _means(values_without, rng))
    tail = (1.0 - LEVEL) / 2.0
    low, high = (float(value) for value in np.quantile(differences, (tail, 1.0 - tail)))
    return Contrast(
        measure=name,
        with_memory=round(float(values_with.mean()), 3),
        without=round(float(values_without.mean()), 3),
        difference=round(float(values_with.mean() - values_without.mean()), 3),
        low=round(low, 3),
        high=round(high, 3),
        clear=enough and (low > 0.0 or high < 0.0),
    )


def _means(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    chunks = [
        values[rng.integers(0, len(values), size=(_CHUNK, len(values)))].mean(axis=1)
        for _ in range(RESAMPLES // _CHUNK)
    ]
    return np.concatenate(chunks)
