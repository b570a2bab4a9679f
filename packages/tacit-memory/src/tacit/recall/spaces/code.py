"""Code space (E7): BM25 over identifiers and paths, split by case and punctuation; above 0."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.ports.search import Search
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, SpaceQuery

LOW, HIGH = SPACE_THRESHOLDS["code"]


def retrieve(search: Search, space_query: SpaceQuery) -> Ranking:
    """Best memories by shared identifiers; the files at hand count as words of the query."""
    query = space_query.query
    return search.code(
        " ".join((query.text, *query.files[-3:])),
        scope=query.scope,
        limit=space_query.limit,
        kinds=query.kinds,
    )


SPACE = Space(
    name="code",
    family="words",
    summary="identifiers and paths",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    retrieve=retrieve,
)
