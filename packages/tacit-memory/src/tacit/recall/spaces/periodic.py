"""Periodic space (E3): same hour of day and same day of week as earlier work, 0 to 1.

    half of exp(4 * (cos(2 pi t / day) - 1))  +  half of exp(4 * (cos(2 pi t / week) - 1)),  t = time between the two

Source: the von Mises kernel of circular statistics (Mardia and Jupp, Directional Statistics, 2000, chapter 3) with a
concentration of 4: half its peak two and a half hours off the hour, eighteen hours off the weekday. Only the time
between the two moments counts, so that no time zone is needed. What is younger than half a day shows no rhythm and
scores 0. Two moments that have nothing to do with each other score 0.21 on average.
"""

from __future__ import annotations

import math

from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space, each

LOW, HIGH = SPACE_THRESHOLDS["periodic"]
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
YOUNGEST_MS = DAY_MS // 2
_CONCENTRATION = 4.0


def rhythm(between_ms: int) -> float:
    """Closeness of two moments `between_ms` apart in the rhythm of days and weeks, 0 to 1."""
    if abs(between_ms) < YOUNGEST_MS:
        return 0.0
    return 0.5 * _kernel(between_ms, DAY_MS) + 0.5 * _kernel(between_ms, WEEK_MS)


def _kernel(between_ms: int, period_ms: int) -> float:
    angle = 2 * math.pi * (between_ms % period_ms) / period_ms
    return math.exp(_CONCENTRATION * (math.cos(angle) - 1))


def measure(query: Query, memory: Memory) -> float:
    """Rhythm of the moment asked for and the moment the memory was made."""
    return rhythm(query.at_ms - memory.created_at_ms)


SPACE = Space(
    name="periodic",
    family="time",
    summary="hour and weekday; for hints of time, no sign of need",
    topic_weight=0.0,
    high=HIGH,
    low=LOW,
    measure=each(measure),
)
