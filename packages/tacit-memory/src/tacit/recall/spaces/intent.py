"""Intent space (E10): match of the memory's trigger with the situation, 0 to 1. The formula stands in `reading.trigger`."""

from __future__ import annotations

from tacit.model.evidence import Ranking, Shortlist
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.reading.match import Matcher, MatchModel, relative_strengths
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, SpaceQuery

LOW, HIGH = SPACE_THRESHOLDS["intent"]


def retrieve(search: Search, space_query: SpaceQuery) -> Ranking:
    """Memories whose trigger shares the most with the coming actions; a class counts by how much it tells, 1 at most."""
    query = space_query.query
    actions = relative_strengths(query.situation.actions, _model(query))
    return search.intent(actions, scope=query.scope, limit=space_query.limit, kinds=query.kinds)


def _model(query: Query) -> MatchModel | None:
    return query.matching if isinstance(query.matching, MatchModel) else None


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Match of classes and objects."""
    matcher = Matcher(query.situation, tool=query.tool, model=_model(query))
    return {memory.id: matcher.score(memory.trigger) for memory in shortlist.memories}


SPACE = Space(
    name="intent",
    family="situation",
    summary="trigger and situation",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    retrieve=retrieve,
    measure=measure,
)
