"""Corrects a relevance by the uses of the memory. Part of stage 5. Pure.

A memory that sessions got and never used is less likely to be needed; one that they used is more likely.

    odds = gate's odds * (k + uses) / (k + sessions * rate)

with k = `PRIOR_USES`, `sessions` = in how many it was given, `uses` = in how many of them it was used, `rate` = the share of all
given memories that were used. This is the mean of a gamma posterior (Gelman et al., Bayesian data analysis, section 2.6) relative to
its expected value. Where uses are often overlooked, the rate is low too, and the factor stays near 1. In: candidates. Out: relevance.

Replayed on seven projects in the order of their sessions (`python -m tacit_evals.suites.replay`).
"""

from __future__ import annotations

from tacit.model.memory import Memory
from tacit.recall.stage import Judgment

PRIOR_USES = 0.5
"""The weight of the gate beside the record, in uses: the greater, the more sessions it takes to change a relevance."""
EXPECTED_RATE, EXPECTED_SESSIONS = 0.4, 20
"""A new home starts with this rate, as if so many memories had been given there already."""
LEAST_FACTOR, GREATEST_FACTOR = 0.1, 3.0
TOLD_FROM = 1.25
"""A factor of so much, or its inverse, is told as a reason."""


def use_rate(shown: int, used: int) -> float:
    """The share of given memories that were used, over all sessions of a home, drawn to `EXPECTED_RATE` while they are few."""
    return (used + EXPECTED_RATE * EXPECTED_SESSIONS) / (shown + EXPECTED_SESSIONS)


def usage_factor(memory: Memory, rate: float) -> float:
    """What the odds of `memory` are multiplied by; 1 for one that was never given."""
    sessions = memory.shown_count
    uses = min(memory.use_count, sessions)  # uses of a store from before sessions were counted say nothing
    factor = (PRIOR_USES + uses) / (PRIOR_USES + sessions * rate)
    return min(GREATEST_FACTOR, max(LEAST_FACTOR, factor))


def with_usage(judged: Judgment, memory: Memory, rate: float) -> Judgment:
    """The judgment with the record of uses in its relevance, and among its reasons where it counts."""
    relevance, reasons = judged
    factor = usage_factor(memory, rate)
    if not 1 / TOLD_FROM < factor < TOLD_FROM:
        reasons = (*reasons, f"used in {memory.use_count} of {memory.shown_count} sessions")
    return relevance * factor / (1.0 - relevance + relevance * factor), reasons
