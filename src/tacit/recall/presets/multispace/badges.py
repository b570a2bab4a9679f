"""Hints of time. In: the memories of a pack, session records, the moment. Out: short sentences, most telling first. Pure.

Source: REQ-P5-09 of the multispace seed, in the words of its examples. Evidence are the scores of the temporal spaces and the
records of sessions and their files; hints are made for the topic of the pack alone, and never say more than the records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from tacit.model.memory import Memory
from tacit.model.pack import PackItem
from tacit.model.session import SessionState
from tacit.reading.digest_lines import focus_of

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
TOPIC_WORDS = 6
HABIT_DAYS = 3
_DAY_PARTS = (
    (5, "at night"),
    (12, "in the morning"),
    (17, "in the afternoon"),
    (22, "in the evening"),
    (24, "at night"),
)


def topic_of(memory: Memory) -> str:
    """What a memory is about in a few words: its trigger's first topic, its first file, else its first words."""
    if memory.trigger.topics:
        return memory.trigger.topics[0]
    if memory.files:
        return memory.files[0]
    return " ".join(memory.content.split()[:TOPIC_WORDS]).rstrip(".,;:")


def part_of_day(at_ms: int) -> str:
    """Part of the day of a moment, UTC."""
    hour = datetime.fromtimestamp(at_ms / 1000, tz=UTC).hour
    return next(name for end, name in _DAY_PARTS if hour < end)


def badges(
    items: Sequence[PackItem],
    *,
    sessions: Sequence[SessionState],
    last_session: Memory | None,
    at_ms: int,
    periodic_high: float,
) -> tuple[str, ...]:
    """Hints for a pack, in the order of the design: time of day, yesterday's session, recent files, habit.

    Args:
        items: what the pack holds.
        sessions: records of other sessions of this project, newest first.
        last_session: the digest of the last session, or None.
        at_ms: the moment asked for.
        periodic_high: the mark from which the periodic space speaks for a memory.
    """
    if not items:
        return ()
    found = [
        _same_time(items, periodic_high),
        _yesterday(sessions, last_session, at_ms),
        _recent_files(sessions, at_ms),
        _habit(items, at_ms),
    ]
    return tuple(text for text in found if text)


def _same_time(items: Sequence[PackItem], high: float) -> str:
    timed = [
        (-(item.candidate.score("periodic") or 0.0), item.candidate.memory.id, item.candidate.memory)
        for item in items
        if (item.candidate.score("periodic") or 0.0) >= high
    ]
    if not timed:
        return ""
    return f"Same time of day as previous work on {topic_of(min(timed, key=lambda entry: entry[:2])[2])}"


def _yesterday(sessions: Sequence[SessionState], last_session: Memory | None, at_ms: int) -> str:
    yesterday = at_ms // DAY_MS - 1
    if last_session is not None and last_session.updated_at_ms // DAY_MS == yesterday:
        return f"Continuation from yesterday's session on {focus_of(last_session.content)}"
    if any(session.last_signal_at_ms // DAY_MS == yesterday for session in sessions):
        return "Continuation from yesterday's session"
    return ""


def _recent_files(sessions: Sequence[SessionState], at_ms: int) -> str:
    for session in sessions:
        if session.recent_files and 0 <= at_ms - session.last_signal_at_ms < HOUR_MS:
            return f"Recent activity (within last hour): {session.recent_files[-1]}"
    return ""


def _habit(items: Sequence[PackItem], at_ms: int) -> str:
    """A part of the day in which memories of this pack were made on three days, if it is this one."""
    days = {
        (part_of_day(m.created_at_ms), m.created_at_ms // DAY_MS) for m in (i.candidate.memory for i in items)
    }
    part, count = max(Counter(name for name, _ in days).items(), key=lambda entry: (entry[1], entry[0]))
    if count < HABIT_DAYS or part != part_of_day(at_ms):
        return ""
    return f"You typically work on {topic_of(items[0].candidate.memory)} {part}"
