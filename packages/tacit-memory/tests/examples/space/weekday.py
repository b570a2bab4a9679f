"""Weekday space: 1 where the memory was made on the weekday of the query, else 0."""

from __future__ import annotations

from datetime import UTC, datetime

from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.recall.spaces import Space, each


def same_weekday(query: Query, memory: Memory) -> float:
    """Whether both moments fall on one weekday."""
    asked, made = (
        datetime.fromtimestamp(at_ms / 1000, tz=UTC).weekday()
        for at_ms in (query.at_ms, memory.created_at_ms)
    )
    return float(asked == made)


WEEKDAY = Space(
    name="weekday",
    family="time",
    summary="same weekday",
    topic_weight=0.0,
    measure=each(same_weekday),
)
