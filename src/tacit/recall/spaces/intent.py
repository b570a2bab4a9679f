"""Intent space (E10): match of the memory's trigger with the situation, 0 to 1. The formula stands in `reading.trigger`."""

from __future__ import annotations

from tacit.model.evidence import Ranking
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.reading.trigger import match_trigger

HIGH = 0.5
LOW = 0.1


def retrieve(search: Search, query: Query, limit: int) -> Ranking:
    """Memories whose trigger shares the most with the coming actions."""
    return search.intent(query.situation.actions, scope=query.scope, limit=limit)


def measure(query: Query, memory: Memory) -> float:
    """Match of classes and objects."""
    return match_trigger(memory.trigger, query.situation)
