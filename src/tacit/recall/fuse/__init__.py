"""Stage 4: order candidates over several rankings. One file, one paper, one test each. Orders; never gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tacit.model.evidence import Ranking
from tacit.recall.fuse.convex import convex_min_max
from tacit.recall.fuse.reciprocal import reciprocal_rank
from tacit.recall.fuse.weighted import weighted_sum

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
}
