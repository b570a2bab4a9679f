"""Reciprocal rank fusion. Source: Cormack, Clarke and Buettcher, SIGIR 2009: sum of weight / (60 + rank), rank from 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first

K = 60


def reciprocal_rank(
    rankings: Sequence[Ranking], weights: Mapping[str, float]
) -> tuple[tuple[str, float], ...]:
    """Fuse rankings; a space without weight counts 1. Ties are broken by memory id.

    Returns:
        (memory id, fused score above 0), best first.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking.space, 1.0)
        for rank, hit in enumerate(ranking.hits, start=1):
            total[hit.memory_id] = total.get(hit.memory_id, 0.0) + weight / (K + rank)
    return tuple(sorted(total.items(), key=lambda item: (-item[1], newest_id_first(item[0]))))
