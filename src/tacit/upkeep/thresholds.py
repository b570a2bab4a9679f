"""Thresholds that bound wrongful injections, from scores of prompts that deserve nothing. In: numbers. Out: a threshold. Pure.

Conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster, ICLR 2024) for the loss "anything was handed over",
which is at most 1 and falls as the threshold rises: with n such prompts the least t with

    n / (n + 1) * rate(t) + 1 / (n + 1) <= bound,   rate(t) = share of the n whose best relevance is at least t

keeps the expected rate on one more exchangeable prompt at or below the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

STEP = 1e-4
"""Relevance is kept to four places: the next value up."""


def bounded_threshold(best: Sequence[float], *, bound: float) -> float | None:
    """Least threshold in steps of `STEP`; None when there are too few prompts to promise anything.

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
    """Share of prompts whose best relevance reaches `threshold`; 0 without prompts."""
    return sum(value >= threshold for value in best) / len(best) if best else 0.0
