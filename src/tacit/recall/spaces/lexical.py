"""Lexical space (E6): BM25 over stemmed words, above 0. Source: Robertson and Zaragoza, 2009 (k1 1.2, b 0.75)."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.recall.spaces.thresholds import SPACE_THRESHOLDS

LOW, HIGH = SPACE_THRESHOLDS["lexical"]


def retrieve(search: Search, query: Query, limit: int) -> Ranking:
    """Best memories by shared words."""
    return search.lexical(query.text, scope=query.scope, limit=limit)
