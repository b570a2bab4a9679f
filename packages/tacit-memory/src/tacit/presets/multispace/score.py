"""Relevance and priority over many spaces: the formulas of the `multispace` seed (SPEC-PHASE5, REQ-P5-01 and -08).

    relevance = sum of weight * max(0, similarity - threshold) / sum of weight * (1 - threshold)
    priority  = relevance * recency factor * diversity bonus

Weight is a space's topic weight, threshold its `high`; both sums run over all spaces that have a topic. A space whose
scale has no upper end (BM25) is brought to 0-1 by s / (s + high), so that its threshold becomes one half (the saturation
of Robertson and Walker, 1994). Priority orders and is no probability: it may exceed 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.presets.multispace.settings import RecencyWeights
from tacit.recall.spaces import SPACES

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
CLUSTER_AGREEMENT = 2.5
"""Agreement from which a memory is of high relevance."""
STRONG_AGREEMENT = 5.0
BONUS_STRONG, BONUS_CLUSTER, BONUS_SINGLE = 1.5, 1.2, 1.0


def weighted_agreement(scores: Mapping[str, float] | Iterable[tuple[str, float]]) -> float:
    """Agreement of the spaces on a memory: the sum of topic weights of those whose score reaches their `high`, 0 to 8.5.

    Source: SPEC section 5. Spaces of time (recent, periodic, sequence) weigh nothing: they are no topic.

    Args:
        scores: score by space, as in `Candidate.scores`; an unknown space counts nothing.
    """
    return sum(
        SPACES[name].topic_weight
        for name, value in dict(scores).items()
        if name in SPACES and value >= SPACES[name].high
    )


def to_unit_interval(value: float, high: float) -> tuple[float, float]:
    """A similarity and its threshold, both on the scale 0 to 1."""
    value = max(0.0, value)
    return (value / (value + high), 0.5) if high > 1.0 else (min(1.0, value), high)


def multispace_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """How far the spaces' similarities reach over their thresholds, 0 to 1."""
    del query, kind
    scores = dict(candidate.scores)
    reached = reachable = 0.0
    reasons: list[tuple[float, str]] = []
    for name, space in SPACES.items():
        if not space.topic_weight:
            continue
        similarity, threshold = to_unit_interval(scores.get(name, 0.0), space.high)
        gain = space.topic_weight * max(0.0, similarity - threshold)
        reachable += space.topic_weight * (1.0 - threshold)
        reached += gain
        if gain:
            reasons.append((-gain, f"{name} +{gain:.2f}"))
    agreement = weighted_agreement(scores)
    strongest = tuple(text for _, text in sorted(reasons)[:3])
    return reached / reachable, (f"agreement {agreement:.1f}", *strongest)


def recency_factor(age_ms: int, weights: RecencyWeights) -> float:
    """The factor for the age of a memory; one from the future counts as new."""
    tiers = (
        (HOUR_MS, weights.hour),
        (DAY_MS, weights.day),
        (7 * DAY_MS, weights.week),
        (30 * DAY_MS, weights.month),
        (90 * DAY_MS, weights.quarter),
    )
    return next((factor for limit, factor in tiers if age_ms < limit), weights.older)


def diversity_bonus(agreement: float) -> float:
    """The factor for agreement of the spaces: 1.5 from 5.0, 1.2 from 2.5, else 1."""
    if agreement >= STRONG_AGREEMENT:
        return BONUS_STRONG
    return BONUS_CLUSTER if agreement >= CLUSTER_AGREEMENT else BONUS_SINGLE


def priority(relevance: float, *, age_ms: int, agreement: float, weights: RecencyWeights) -> float:
    """Return the priority of a memory within its category: relevance * recency factor * diversity bonus."""
    return relevance * recency_factor(age_ms, weights) * diversity_bonus(agreement)
