"""Recent space (E2): age under the kind's half-life, 0 to 1: 0.5 ** (age / half-life). Ageless kinds score 1."""

from __future__ import annotations

from tacit.model.evidence import Shortlist
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.spaces.space import Space
from tacit.recall.spaces.thresholds import SPACE_THRESHOLDS

LOW, HIGH = SPACE_THRESHOLDS["recent"]
DAY_MS = 86_400_000


def freshness(*, at_ms: int, since_ms: int, kind: Kind) -> float:
    """How fresh a memory of `kind` from `since_ms` is at `at_ms`. A memory from the future counts as new."""
    if kind.half_life_days is None:
        return 1.0
    age_days = max(0, at_ms - since_ms) / DAY_MS
    return 0.5 ** (age_days / kind.half_life_days)


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Freshness of every memory at the moment asked for."""
    return {
        memory.id: freshness(
            at_ms=query.at_ms, since_ms=memory.updated_at_ms, kind=shortlist.kinds.of_stored(memory.kind)
        )
        for memory in shortlist.memories
    }


SPACE = Space(
    name="recent",
    family="time",
    summary="age, by the half-life of its kind",
    topic_weight=0.0,
    high=HIGH,
    low=LOW,
    measure=measure,
)
