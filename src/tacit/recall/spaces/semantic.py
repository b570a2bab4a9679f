"""Semantic space (E1): cosine of sentence embeddings, -1 to 1. Source: Reimers and Gurevych, Sentence-BERT, 2019."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.model.evidence import Ranking
from tacit.model.query import Query
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.recall.spaces.marks import MARKS

LOW, HIGH = MARKS["semantic"]


def retrieve(
    search: Search, query: Query, limit: int, *, vector: Vectors, identity: EmbedderIdentity
) -> Ranking:
    """Nearest memories by cosine with `vector`, shape (dimensions,), of unit length."""
    return search.semantic(vector, identity=identity, scope=query.scope, limit=limit)


REFERENCE_MEAN = 0.13
REFERENCE_DEVIATION = 0.11
"""Of prompts and memories of one project, as the shipped embedder has them (measured on three projects)."""
REFERENCE_COUNT = 10.0
"""The reference counts as so many memories: in a small scope it decides, in a large one the scope itself does."""


def apart(rankings: Sequence[Ranking]) -> Callable[[str], float]:
    """How many deviations the cosine of a memory lies above the scope's usual one.

    With n cosines of mean m and deviation s in the background, and k = `REFERENCE_COUNT` at the reference's M and S:

        mean = (n m + k M) / (n + k)
        deviation ** 2 = (n (s ** 2 + (m - mean) ** 2) + k (S ** 2 + (M - mean) ** 2)) / (n + k)

    A memory that the ranking left out is no closer than its last. 0 for all without a ranking of this space.
    """
    ranking = next((one for one in rankings if one.space == "semantic"), None)
    if ranking is None or not ranking.hits or ranking.background is None:
        return lambda _memory_id: 0.0
    known, k = ranking.background, REFERENCE_COUNT
    whole = known.count + k
    mean = (known.count * known.mean + k * REFERENCE_MEAN) / whole
    inside = known.count * (known.deviation**2 + (known.mean - mean) ** 2)
    outside = k * (REFERENCE_DEVIATION**2 + (REFERENCE_MEAN - mean) ** 2)
    deviation = ((inside + outside) / whole) ** 0.5
    scores = {hit.memory_id: (hit.score - mean) / deviation for hit in ranking.hits}
    least = min(scores.values())
    return lambda memory_id: scores.get(memory_id, least)
