"""Lexical space (E6): BM25 over stemmed words, above 0. Source: Robertson and Zaragoza, 2009 (k1 1.2, b 0.75)."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.ports.search import Search
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, SpaceQuery

LOW, HIGH = SPACE_THRESHOLDS["lexical"]


def retrieve(search: Search, space_query: SpaceQuery) -> Ranking:
    """Best memories by shared words."""
    return search.lexical(
        space_query.query.text,
        scope=space_query.query.scope,
        limit=space_query.limit,
        kinds=space_query.query.kinds,
    )


SPACE = Space(
    name="lexical",
    family="words",
    summary="shared words",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    retrieve=retrieve,
)
