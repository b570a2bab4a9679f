"""Order by what the rankings say of each memory, weighed as a logistic model weighed them. Source: Gey, SIGIR 1994.

    order = sum over rankings of weight x score;  BM25 scores count as ln(1 + score)

A memory that a ranking left out counts there as its last one did, or as 0 where the ranking found all there is to find (its
scores start at 0, and it names whatever has more). The weights (`fitted/fusion.json`) are those of ridge logistic regression on
judged pairs of three projects, each left out once: 20 memories that are not in the context yet then hold .62 to .66 of the needed
ones, as many as the gate itself puts there when it judges every memory of the store. Spaces that were not in the fit have weights by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tacit.fitted import load_fitted, values_of
from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first

DEFAULT_WEIGHT = 0.2
"""Of a space that the file does not name."""
LOGGED = frozenset({"lexical", "code"})


def fitted_order(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Order every memory that any ranking found, best first, ties by id. `weights` are not used: these belong to the fit."""
    del weights
    fitted = shipped_fusion_weights()
    total: dict[str, float] = {}
    base = 0.0
    for ranking in rankings:
        if not ranking.hits:
            continue
        weight = fitted.get(ranking.space, DEFAULT_WEIGHT)
        scores = {
            hit.memory_id: weight
            * (math.log1p(max(hit.score, 0.0)) if ranking.space in LOGGED else hit.score)
            for hit in ranking.hits
        }
        left_out = min(scores.values()) if ranking.space == "semantic" else 0.0
        base += left_out
        for name, score in scores.items():
            total[name] = total.get(name, 0.0) + score - left_out
    return tuple(
        sorted(
            ((name, base + score) for name, score in total.items()),
            key=lambda e: (-e[1], newest_id_first(e[0])),
        )
    )


def shipped_fusion_weights() -> Mapping[str, float]:
    """The weights that ship, by space."""
    return load_fitted("fusion", dict[str, float], values_of)
