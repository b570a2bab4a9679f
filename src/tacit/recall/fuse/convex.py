"""Convex combination of min-max normalised scores. Source: Bruch, Gai and Ingber, TOIS 2023.

Each ranking is mapped to 0-1 by its own smallest and largest score; a memory that a ranking did not find counts 0 there;
weights are divided by their sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first


def convex_min_max(
    rankings: Sequence[Ranking], weights: Mapping[str, float]
) -> tuple[tuple[str, float], ...]:
    """Fuse rankings to scores of 0 to 1, best first; ties are broken by memory id."""
    total: dict[str, float] = {}
    whole = sum(weights.get(ranking.space, 1.0) for ranking in rankings if ranking.hits)
    if whole <= 0:
        return ()
    for ranking in rankings:
        if not ranking.hits:
            continue
        share = weights.get(ranking.space, 1.0) / whole
        scores = [hit.score for hit in ranking.hits]
        low, span = min(scores), max(scores) - min(scores)
        for hit in ranking.hits:
            normalized = (hit.score - low) / span if span > 0 else 1.0
            total[hit.memory_id] = total.get(hit.memory_id, 0.0) + share * normalized
    return tuple(sorted(total.items(), key=lambda item: (-item[1], newest_id_first(item[0]))))
