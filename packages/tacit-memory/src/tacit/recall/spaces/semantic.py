"""Semantic space (E1): cosine of sentence embeddings, -1 to 1. Source: Reimers and Gurevych, Sentence-BERT, 2019."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.model.evidence import CosineReference, Ranking
from tacit.ports.search import Search
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, SpaceQuery

LOW, HIGH = SPACE_THRESHOLDS["semantic"]


def retrieve(search: Search, space_query: SpaceQuery) -> Ranking:
    """Nearest memories by cosine with the vector of the words."""
    assert space_query.vector is not None
    return search.semantic(
        space_query.vector,
        identity=space_query.identity,
        scope=space_query.query.scope,
        limit=space_query.limit,
        kinds=space_query.query.kinds,
    )


SPACE = Space(
    name="semantic",
    family="meaning",
    summary="meaning of the whole text",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    retrieve=retrieve,
    embeds=True,
)


REFERENCE_MEAN = 0.13
REFERENCE_DEVIATION = 0.11
"""Of prompts and memories of one project, as the shipped embedder has them (measured on three projects)."""
REFERENCE_COUNT = 10.0
"""The reference counts as so many memories: in a small scope it decides, in a large one the scope itself does."""


DOMAIN_NEAREST = 5


def standardize(
    rankings: Sequence[Ranking], reference: CosineReference | None
) -> tuple[Callable[[str], float], float | None]:
    """`make_similarity_z` and `domain_similarity_z`, measured by `reference`; without one, by what whole prompts have, and `domain_similarity_z` is not known."""
    if reference is None:
        return make_similarity_z(rankings), None
    mean, deviation = reference.mean, reference.deviation
    return make_similarity_z(rankings, mean=mean, deviation=deviation), domain_similarity_z(
        rankings, mean=mean, deviation=deviation
    )


def domain_similarity_z(rankings: Sequence[Ranking], *, mean: float, deviation: float) -> float | None:
    """How near the prompt is to what the scope holds: its `DOMAIN_NEAREST` best cosines, in deviations above what is usual.

    None without a ranking of this space. A prompt of another project is far from everything, which `make_similarity_z` cannot tell.
    """
    hits = next((ranking.hits for ranking in rankings if ranking.space == "semantic"), ())[:DOMAIN_NEAREST]
    return (sum(hit.score for hit in hits) / len(hits) - mean) / deviation if hits else None


def make_similarity_z(
    rankings: Sequence[Ranking], *, mean: float = REFERENCE_MEAN, deviation: float = REFERENCE_DEVIATION
) -> Callable[[str], float]:
    """How many deviations the cosine of a memory lies above the scope's usual one.

    With n cosines of mean m and deviation s in the background, and k = `REFERENCE_COUNT` at the reference's
    M and S (`mean` and `deviation`):

        mean = (n m + k M) / (n + k)
        deviation ** 2 = (n (s ** 2 + (m - mean) ** 2) + k (S ** 2 + (M - mean) ** 2)) / (n + k)

    A memory that the ranking left out is no closer than its last. 0 for all without a ranking of this space.
    """
    ranking = next((ranking for ranking in rankings if ranking.space == "semantic"), None)
    if ranking is None or not ranking.hits or ranking.background is None:
        return lambda _memory_id: 0.0
    background, k = ranking.background, REFERENCE_COUNT
    whole = background.count + k
    middle = (background.count * background.mean + k * mean) / whole
    inside = background.count * (background.deviation**2 + (background.mean - middle) ** 2)
    outside = k * (deviation**2 + (mean - middle) ** 2)
    spread = ((inside + outside) / whole) ** 0.5
    scores = {hit.memory_id: (hit.score - middle) / spread for hit in ranking.hits}
    least = min(scores.values())
    return lambda memory_id: scores.get(memory_id, least)
