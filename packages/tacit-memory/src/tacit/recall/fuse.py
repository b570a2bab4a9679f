"""Stage 4: order candidates over several rankings. One function, one paper, one test each. Orders; never gates."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from tacit.fitted import load_fitted, values_of
from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first
from tacit.recall.stage import Outcome, RecallState

FUSE_WEIGHTS: Mapping[str, float] = {
    "semantic": 1.0,
    "lexical": 1.0,
    "code": 0.5,
    "entity": 0.7,
    "intent": 1.2,
    "error": 4.0,
    "moment": 4.0,
}
"""Weights of the rankings in fusion; they order the short list and gate nothing."""

BEST_PER_SPACE = 1
"""So many of the best of each space are always scored."""
KEPT_IN_CONTEXT = 4
"""So many of those that the context holds are scored all the same: they may have changed since."""
K = 60
"""Of reciprocal rank fusion."""

DEFAULT_WEIGHT = 0.2
"""In the fitted order, of a space that the file does not name."""
LOGGED = frozenset({"lexical", "code"})


def reciprocal_rank(
    rankings: Sequence[Ranking], weights: Mapping[str, float]
) -> tuple[tuple[str, float], ...]:
    """Reciprocal rank fusion: the sum of weight / (60 + rank), rank from 1. Source: Cormack, Clarke and Buettcher, SIGIR 2009.

    A space without weight counts 1. Ties are broken by memory id.

    Returns:
        (memory id, fused score above 0), best first.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        weight = weights.get(ranking.space, 1.0)
        for rank, hit in enumerate(ranking.hits, start=1):
            total[hit.memory_id] = total.get(hit.memory_id, 0.0) + weight / (K + rank)
    return tuple(sorted(total.items(), key=lambda item: (-item[1], newest_id_first(item[0]))))


def rrf_equal(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Reciprocal rank fusion in which every ranking counts 1, as its authors have it."""
    return reciprocal_rank(rankings, {})


def rrf_weighted(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Reciprocal rank fusion with `FUSE_WEIGHTS`."""
    return reciprocal_rank(rankings, FUSE_WEIGHTS)


def fitted_order(rankings: Sequence[Ranking]) -> tuple[tuple[str, float], ...]:
    """Order every memory that any ranking found as a logistic model weighed the rankings. Source: Gey, SIGIR 1994.

        order = sum over rankings of weight x score;  BM25 scores count as ln(1 + score)

    A memory that a ranking left out counts there as its last one did, or as 0 where the ranking found all there is to find (its
    scores start at 0, and it names whatever has more). The weights (`fitted/fusion.json`) are those of ridge logistic regression on
    judged pairs of three projects, each left out once: 20 memories that are not in the context yet then hold .62 to .66 of the needed
    ones, as many as the gate itself puts there when it judges every memory of the store. Spaces that were not in the fit have weights
    by hand.

    Returns:
        (memory id, order), best first; ties are broken by memory id.
    """
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


def truncate_fused(
    fused: tuple[tuple[str, float], ...],
    rankings: Sequence[Ranking],
    size: int,
    held: Collection[str] = (),
) -> tuple[tuple[str, float], ...]:
    """The first `size` in the fused order, with the best of every space among them.

    A memory that one space alone finds, and finds best, must not be crowded out by many that two spaces find somehow. Those
    that the context holds (`held`) take none of the `size` places from the others: the best `KEPT_IN_CONTEXT` of them come besides.
    """
    if held:
        held_ids = frozenset(held)
        again = [entry for entry in fused if entry[0] in held_ids][:KEPT_IN_CONTEXT]
        short = truncate_fused(tuple(entry for entry in fused if entry[0] not in held_ids), rankings, size)
        return tuple(sorted((*short, *again), key=lambda entry: (-entry[1], newest_id_first(entry[0]))))
    heads = {hit.memory_id for ranking in rankings for hit in ranking.hits[:BEST_PER_SPACE]}
    chosen = [entry for entry in fused if entry[0] in heads]
    chosen += [entry for entry in fused if entry[0] not in heads]
    return tuple(sorted(chosen[:size], key=lambda entry: (-entry[1], newest_id_first(entry[0]))))


def fuse(state: RecallState) -> Outcome[RecallState]:
    """One order over all rankings, cut to the short list."""
    preset, rankings = state.preset, state.rankings
    order = truncate_fused(
        preset.fuse(rankings),
        rankings,
        preset.shortlist_at(state.query.surface),
        held=state.context.window,
    )
    return Outcome(kept=state.changed(order=order))
