"""Weighted sum of raw scores (CombSUM). Source: Fox and Shaw, TREC-2, 1994. Only for spaces of one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first


def weighted_sum(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Fuse by the sum of weight times score; a space without weight counts 1, a memory not found counts 0.

    Returns:
        (memory id, fused score), best first; ties are broken by memory id.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking.space, 1.0)
        for hit in ranking.hits:
            total[hit.memory_id] = total.get(hit.memory_id, 0.0) + weight * hit.score
    return tuple(sorted(total.items(), key=lambda item: (-item[1], newest_id_first(item[0]))))
