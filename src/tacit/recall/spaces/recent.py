"""Recent space (E2): age under the kind's half-life, 0 to 1: 0.5 ** (age / half-life). Ageless kinds score 1."""

from __future__ import annotations

from tacit.model.kinds import Kind
from tacit.recall.spaces.thresholds import SPACE_THRESHOLDS

LOW, HIGH = SPACE_THRESHOLDS["recent"]
DAY_MS = 86_400_000


def freshness(*, at_ms: int, since_ms: int, kind: Kind) -> float:
    """How fresh a memory of `kind` from `since_ms` is at `at_ms`. A memory from the future counts as new."""
    if kind.half_life_days is None:
        return 1.0
    age_days = max(0, at_ms - since_ms) / DAY_MS
    return 0.5 ** (age_days / kind.half_life_days)
