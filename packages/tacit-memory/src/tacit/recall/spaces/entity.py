"""Entity space (E11): idf-weighted overlap of linked entities, 0 to 1: matched idf over the idf of all asked for."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.model.memory import Entity
from tacit.ports.search import Search
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, SpaceQuery

LOW, HIGH = SPACE_THRESHOLDS["entity"]


def retrieve(search: Search, space_query: SpaceQuery) -> Ranking:
    """Best memories by shared entities: those the words name and the newest files at hand."""
    query = space_query.query
    files = tuple(Entity(kind="file", key=path) for path in query.files[-3:])
    entities = tuple(dict.fromkeys((*query.entities, *files)))
    return search.entity(entities, scope=query.scope, limit=space_query.limit, kinds=query.kinds)


SPACE = Space(
    name="entity",
    family="things",
    summary="linked things",
    topic_weight=0.5,
    high=HIGH,
    low=LOW,
    retrieve=retrieve,
)
