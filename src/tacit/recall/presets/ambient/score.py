"""Order of the `ambient` seed: rank fusion with importance and age as small additions. It orders and gates nothing.

    x = rrf + 0.01 * importance + 0.005 * freshness          (source: the ambient seed, hybrid search improvements, 3)
    relevance = x / (x + 1 / 61)

The second line only maps x to 0-1 in the same order: the first of one ranking alone (1 / 61) becomes one half. What is
near enough is decided by the floors, because a sum of reciprocal ranks says nothing about quality.
"""

from __future__ import annotations

from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query

ALPHA_IMPORTANCE = 0.01
BETA_RECENCY = 0.005
ONE_FIRST_RANK = 1 / 61


def ambient_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Fused score with its two additions, 0 to 1."""
    del query, kind
    fresh = candidate.score("recent") or 0.0
    value = candidate.fused + ALPHA_IMPORTANCE * candidate.memory.importance + BETA_RECENCY * fresh
    return value / (value + ONE_FIRST_RANK), (f"fused {candidate.fused:.4f}",)
