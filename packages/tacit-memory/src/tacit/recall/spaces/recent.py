"""Recent space (E2): age under the kind's half-life, 0 to 1: 0.5 ** (age / half-life).

A kind that never ages has a half-life of a year here: what was learned later is needed sooner whatever its kind. In dated
replays of 275 prompts R@10 is .270 (0.114 at random; .122 where ageless kinds tie at 1). `freshness` itself, by which
memories fade, leaves such kinds at 1.
"""

from __future__ import annotations

from tacit.model.evidence import Shortlist
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space

LOW, HIGH = SPACE_THRESHOLDS["recent"]
DAY_MS = 86_400_000
AGELESS_HALF_LIFE_DAYS = 365.0


def freshness(*, at_ms: int, since_ms: int, kind: Kind) -> float:
    """How fresh a memory of `kind` from `since_ms` is at `at_ms`. A memory from the future counts as new."""
    return 1.0 if kind.half_life_days is None else _halved(at_ms - since_ms, kind.half_life_days)


def _halved(age_ms: int, half_life_days: float) -> float:
    return 0.5 ** (max(0, age_ms) / DAY_MS / half_life_days)


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Nearness in time of every memory to the moment asked for."""
    days = {
        kind: shortlist.kinds.of_stored(kind).half_life_days or AGELESS_HALF_LIFE_DAYS
        for kind in {memory.kind for memory in shortlist.memories}
    }
    return {
        memory.id: _halved(query.at_ms - memory.updated_at_ms, days[memory.kind])
        for memory in shortlist.memories
    }


SPACE = Space(
    name="recent",
    family="time",
    summary="age, by the half-life of its kind; for hints of time",
    topic_weight=0.0,
    high=HIGH,
    low=LOW,
    measure=measure,
)
