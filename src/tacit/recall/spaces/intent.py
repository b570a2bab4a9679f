"""Intent space (E10): match of the memory's trigger with the situation, 0 to 1. The formula stands in `reading.trigger`."""

from __future__ import annotations

from functools import lru_cache

from tacit.model.evidence import Ranking
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.situation import Situation
from tacit.ports.search import Search
from tacit.reading.classifier.matching import MatchModel
from tacit.reading.match import Matcher, telling
from tacit.recall.spaces.marks import MARKS

LOW, HIGH = MARKS["intent"]


def retrieve(search: Search, query: Query, limit: int) -> Ranking:
    """Memories whose trigger shares the most with the coming actions; a class counts by how much it tells, 1 at most."""
    actions = telling(query.situation.actions, _model(query))
    return search.intent(actions, scope=query.scope, limit=limit)


def _model(query: Query) -> MatchModel | None:
    return query.matching if isinstance(query.matching, MatchModel) else None


@lru_cache(maxsize=16)
def matcher_for(situation: Situation, tool: str) -> Matcher:
    """The matcher of one situation; one recall measures dozens of triggers with it."""
    return Matcher(situation, tool=tool)


def measure(query: Query, memory: Memory) -> float:
    """Match of classes and objects."""
    model = _model(query)
    if model is not None:
        return Matcher(query.situation, tool=query.tool, model=model).match(memory.trigger).score
    return matcher_for(query.situation, query.tool).match(memory.trigger).score
