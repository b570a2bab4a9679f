"""Stage 4: order candidates over several rankings. One file, one paper, one test each. Orders; never gates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tacit.model.evidence import Ranking
from tacit.model.ids import newest_id_first
from tacit.recall.fuse.convex import convex_min_max
from tacit.recall.fuse.fitted import fitted_order
from tacit.recall.fuse.reciprocal import reciprocal_rank
from tacit.recall.fuse.weighted import weighted_sum
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

Fuse = Callable[[Sequence[Ranking], Mapping[str, float]], tuple[tuple[str, float], ...]]


def rrf_equal(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Reciprocal rank fusion in which every ranking counts 1, as its authors have it."""
    del weights
    return reciprocal_rank(rankings, {})


FUSIONS: dict[str, Fuse] = {
    "rrf": reciprocal_rank,
    "rrf_equal": rrf_equal,
    "weighted": weighted_sum,
    "convex": convex_min_max,
    "fitted": fitted_order,
}


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
    settings, rankings = state.settings, state.rankings
    order = truncate_fused(
        FUSIONS[settings.fuse](rankings, FUSE_WEIGHTS),
        rankings,
        settings.shortlist,
        held=state.context.window,
    )
    return Outcome(kept=state.changed(order=order))
