"""The spaces: ways to measure closeness, each with its own scale and its own `high` and `low` thresholds.

A space either retrieves (asks the store for a ranking) or measures memories of the short list, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tacit.model.evidence import Ranking, Shortlist
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.search import Search
from tacit.recall.spaces import (
    causal,
    character,
    code,
    entity,
    expanded,
    graph,
    intent,
    late,
    lexical,
    periodic,
    recent,
    semantic,
    sequence,
)

Measure = Callable[[Query, Memory], float]
MeasureTogether = Callable[[Query, Shortlist], Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One way to measure closeness.

    Attributes:
        name: as in the glossary.
        topic_weight: what it counts for in agreement (SPEC section 5).
        high, low: marks on its own scale: at or above `high` speaks for, below `low` speaks against.
        retrieve: asks the store; None for spaces that only measure.
        measure: scores one memory of the short list; None for spaces whose ranking is all they know.
        together: scores the short list as a whole, for spaces that compare its memories with one another.
        embeds: whether it needs the query's vector.
    """

    name: str
    topic_weight: float
    high: float
    low: float
    retrieve: Callable[[Search, Query, int], Ranking] | None = None
    measure: Measure | None = None
    together: MeasureTogether | None = None
    embeds: bool = False


SPACES: dict[str, Space] = {
    space.name: space
    for space in (
        Space(name="semantic", topic_weight=1.0, high=semantic.HIGH, low=semantic.LOW, embeds=True),
        Space(
            name="lexical", topic_weight=1.0, high=lexical.HIGH, low=lexical.LOW, retrieve=lexical.retrieve
        ),
        Space(name="code", topic_weight=1.0, high=code.HIGH, low=code.LOW, retrieve=code.retrieve),
        Space(name="entity", topic_weight=0.5, high=entity.HIGH, low=entity.LOW, retrieve=entity.retrieve),
        Space(
            name="character",
            topic_weight=0.5,
            high=character.HIGH,
            low=character.LOW,
            together=character.measure,
        ),
        Space(name="recent", topic_weight=0.0, high=recent.HIGH, low=recent.LOW),
        Space(
            name="intent",
            topic_weight=1.0,
            high=intent.HIGH,
            low=intent.LOW,
            retrieve=intent.retrieve,
            together=intent.measure,
        ),
        Space(
            name="periodic", topic_weight=0.0, high=periodic.HIGH, low=periodic.LOW, measure=periodic.measure
        ),
        Space(
            name="sequence", topic_weight=0.0, high=sequence.HIGH, low=sequence.LOW, together=sequence.measure
        ),
        Space(name="causal", topic_weight=1.0, high=causal.HIGH, low=causal.LOW, measure=causal.measure),
        Space(name="graph", topic_weight=0.5, high=graph.HIGH, low=graph.LOW, together=graph.measure),
        Space(name="late", topic_weight=1.0, high=late.HIGH, low=late.LOW, together=late.measure),
        Space(
            name="expanded", topic_weight=1.0, high=expanded.HIGH, low=expanded.LOW, together=expanded.measure
        ),
    )
}
"""Known spaces in their fixed order. `semantic` is retrieved by the retrieve stage, which owns the vector;
`recent` is measured by the pipeline with the kind's half-life."""
