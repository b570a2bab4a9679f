"""Relevance as plain similarity with a recency share: the formula of the `refresh` seed (codexfi, store.ts).

    score = (1 - w) * cosine + w * exp(-0.1 * age in days)

The age is taken at the moment asked for. Values below 0 count as 0. The weight w is 0.15 for project memories and 0.10
for universal ones, as the seed says.
"""

from __future__ import annotations

import math

from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.model.scope import ScopeKind

DAY_MS = 86_400_000
RECENCY_PROJECT = 0.15
RECENCY_UNIVERSAL = 0.10


def similarity_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Similarity of `candidate` to the words of `query`, 0 to 1; what has no cosine is not similar."""
    del kind
    cosine = candidate.score("semantic")
    if cosine is None:
        return 0.0, ("no cosine",)
    memory = candidate.memory
    weight = RECENCY_UNIVERSAL if memory.scope.kind is ScopeKind.UNIVERSAL else RECENCY_PROJECT
    age_days = max(0, query.at_ms - memory.updated_at_ms) / DAY_MS
    value = (1 - weight) * cosine + weight * math.exp(-0.1 * age_days)
    return min(1.0, max(0.0, value)), (f"cosine {cosine:.2f}",)
