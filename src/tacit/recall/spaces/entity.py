"""Entity space (E11): idf-weighted overlap of linked entities, 0 to 1: matched idf over the idf of all asked for."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.model.memory import Entity
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.recall.spaces.thresholds import SPACE_THRESHOLDS

LOW, HIGH = SPACE_THRESHOLDS["entity"]


def retrieve(search: Search, query: Query, limit: int) -> Ranking:
    """Best memories by shared entities: those the words name and the newest files at hand."""
    files = tuple(Entity(kind="file", key=path) for path in query.files[-3:])
    return search.entity(tuple(dict.fromkeys((*query.entities, *files))), scope=query.scope, limit=limit)
