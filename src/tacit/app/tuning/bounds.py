"""The thresholds that keep a bound on wrongful injections. In: best relevance of each prompt that deserves nothing. Out: thresholds. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tacit.config.levels import LEVELS, Level, Levels
from tacit.config.settings import LevelName

STEP = 1e-4
"""Relevance is kept to four places: the next value up."""
BOUND_SHARES: Mapping[LevelName, float] = {"quiet": 5 / 12, "balanced": 1.0, "eager": 25 / 12}
"""The bound of each level for a bound of 1 of `balanced`: .05, .12 and .25, as of the shipped ones."""


def bounded_levels(best: Sequence[float], before: Levels, *, bound: float) -> Levels:
    """The levels that keep their shares of `bound`.

    A bound that is too small for so few prompts changes nothing, but for a level that would not be quieter than the next one.
    """
    thresholds: dict[LevelName, float] = {}
    least = 0.0
    for name in reversed(LEVELS):
        fitted = bounded_threshold(best, bound=level_bound(name, bound))
        least = max(least, before.of(name).threshold if fitted is None else fitted)
        thresholds[name] = least
    return Levels(
        quiet=Level(threshold=thresholds["quiet"]),
        balanced=Level(threshold=thresholds["balanced"]),
        eager=Level(threshold=thresholds["eager"]),
    )


def level_bound(name: LevelName, bound: float) -> float:
    """The bound of a level, where that of `balanced` is `bound`."""
    return min(1.0, round(bound * BOUND_SHARES[name], 4))


def bounded_threshold(best: Sequence[float], *, bound: float) -> float | None:
    """Return the least threshold in steps of `STEP`; None when there are too few prompts to promise anything.

    Conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster, ICLR 2024) for the loss "anything was injected", which is at
    most 1 and falls as the threshold rises. With n prompts that deserve nothing, the least t with

        n / (n + 1) * rate(t) + 1 / (n + 1) <= bound,   rate(t) = share of the n whose best relevance is at least t

    keeps the expected rate on one more exchangeable prompt at or below the bound.

    Args:
        best: best relevance of each prompt that deserves nothing, 0 when it had no candidate.
        bound: greatest expected rate, 0-1.
    """
    n = len(best)
    allowed = math.floor(bound * (n + 1) - 1 + 1e-9)
    if allowed < 0:
        return None
    if allowed >= n:
        return 0.0
    ordered = sorted(best, reverse=True)
    return min(1.0, round(ordered[allowed] + STEP, 4))


def rate_at(best: Sequence[float], threshold: float) -> float:
    """Return the share of prompts whose best relevance reaches `threshold`; 0 without prompts."""
    return sum(value >= threshold for value in best) / len(best) if best else 0.0
