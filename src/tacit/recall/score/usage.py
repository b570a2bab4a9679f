"""What use says of a memory: given and never used makes it less likely to be needed now, given and used more. Part of stage 5. Pure.

    odds = gate's odds * (k + uses) / (k + sessions * rate)

with k = `PRIOR_USES`, `sessions` = in how many it was given, `uses` = in how many of them it was used, `rate` = the share of all
given memories that were used. This is the mean of a gamma posterior (Gelman et al., Bayesian data analysis, section 2.6) relative to
the mean that is expected, so that a rate of detected uses that is too low moves nothing. In: candidates. Out: relevance.

Replayed on seven projects in the order of their sessions (`python -m tacit_evals.suites.replay`).
"""

from __future__ import annotations

from tacit.model.memory import Memory

PRIOR_USES = 0.5
"""So many uses as expected are added to what was observed: the weight of the gate beside the record."""
EXPECTED_RATE, EXPECTED_SESSIONS = 0.4, 20
"""The rate of a new home, and the number of given memories that it counts as."""
LEAST_FACTOR, GREATEST_FACTOR = 0.1, 3.0


def use_rate(shown: int, used: int) -> float:
    """The share of given memories that were used, over all sessions of a home, drawn to `EXPECTED_RATE` while they are few."""
    return (used + EXPECTED_RATE * EXPECTED_SESSIONS) / (shown + EXPECTED_SESSIONS)


def usage_factor(memory: Memory, rate: float) -> float:
    """What the odds of `memory` are multiplied by; 1 for one that was never given."""
    sessions = memory.shown_count
    uses = min(memory.use_count, sessions)  # uses of a store from before sessions were counted say nothing
    factor = (PRIOR_USES + uses) / (PRIOR_USES + sessions * rate)
    return min(GREATEST_FACTOR, max(LEAST_FACTOR, factor))


def with_usage(relevance: float, memory: Memory, rate: float) -> float:
    """`relevance` (0-1) with the record of uses."""
    factor = usage_factor(memory, rate)
    return relevance * factor / (1.0 - relevance + relevance * factor)
