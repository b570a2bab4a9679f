"""Hints of time. In: the memories of a pack, session records, the moment. Out: short sentences, most telling first. Pure.

Source: REQ-P5-09 of the multispace seed, in the words of its examples. Each hint belongs to a space of time and is made only
where that space is on. Evidence are session records, and of the pack the memories that many spaces agree on and that were
stated or learned in work: when something was imported says nothing. Days and their parts are those of the user's own clock.

A rhythm is more than one coincidence: work on the topic on two earlier days at this time of day (`same time`) or on three
days in this part of the day (`habit`), and on no more days at another time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.pack import PackItem
from tacit.model.session import SessionState
from tacit.presets.multispace.divergence import WORK_SOURCES
from tacit.reading.digest_lines import focus_of
from tacit.recall.spaces import SPACES

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
TOPIC_WORDS = 6
SAME_TIME_DAYS, HABIT_DAYS = 2, 3
_DAY_PARTS = (
    (5, "at night"),
    (12, "in the morning"),
    (17, "in the afternoon"),
    (22, "in the evening"),
    (24, "at night"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTime:
    """The user's own clock at a moment; `offset_ms` gives its distance to UTC at any moment."""

    at_ms: int
    offset_ms: Callable[[int], int]

    def day(self, at_ms: int) -> int:
        """Number of the day of a moment."""
        return (at_ms + self.offset_ms(at_ms)) // DAY_MS

    def part_of_day(self, at_ms: int) -> str:
        """Part of the day of a moment."""
        hour = datetime.fromtimestamp((at_ms + self.offset_ms(at_ms)) / 1000, tz=UTC).hour
        return next(name for end, name in _DAY_PARTS if hour < end)


def topic_of(memory: Memory) -> str:
    """What a memory is about in a few words: its trigger's first topic, the file that it describes, else its first words."""
    if memory.trigger.topics:
        return memory.trigger.topics[0]
    if memory.files and memory.kind == "file_context":
        return memory.files[0]
    return " ".join(memory.content.split()[:TOPIC_WORDS]).rstrip(".,;:")


def badges(
    items: Sequence[PackItem],
    *,
    spaces: Collection[str],
    sessions: Sequence[SessionState],
    last_session: Candidate | None,
    now: LocalTime,
) -> tuple[str, ...]:
    """Hints for a pack, in the order of the design: time of day, yesterday's session, recent files, habit.

    Args:
        items: the memories of the pack.
        spaces: names of the spaces that are on.
        sessions: records of other sessions of this project, newest first.
        last_session: the digest of the last session, or None.
        now: the moment asked for.
    """
    topic = [
        item.candidate
        for item in items
        if item.category == "cluster" and item.candidate.memory.provenance.source in WORK_SOURCES
    ]
    hints: list[str] = []
    if "periodic" in spaces:
        hints.append(_same_time(topic, now))
    if "sequence" in spaces:
        hints.append(_yesterday(items, sessions, last_session, now))
    if "recent" in spaces:
        hints.append(_recent_files(sessions, now.at_ms))
    if "periodic" in spaces:
        hints.append(_habit(topic, now))
    return tuple(text for text in hints if text)


def _same_time(topic: Sequence[Candidate], now: LocalTime) -> str:
    high = SPACES["periodic"].high
    timed = [candidate for candidate in topic if (candidate.score("periodic") or 0.0) >= high]
    days = {now.day(candidate.memory.created_at_ms) for candidate in timed}
    other_days = {now.day(candidate.memory.created_at_ms) for candidate in topic} - days
    if len(days) < SAME_TIME_DAYS or len(other_days) > len(days):
        return ""
    return f"Same time of day as previous work on {topic_of(timed[0].memory)}"


def _yesterday(
    items: Sequence[PackItem],
    sessions: Sequence[SessionState],
    last_session: Candidate | None,
    now: LocalTime,
) -> str:
    """Where the session before this one was yesterday's, and the prompt goes on with what it was about."""
    yesterday = now.day(now.at_ms) - 1
    if last_session is not None and now.day(last_session.memory.updated_at_ms) == yesterday:
        related = (last_session.score("semantic") or 0.0) >= SPACES["semantic"].low
        if related or _holds_some_of(last_session.memory.session, items):
            return f"Continuation from yesterday's session on {focus_of(last_session.memory.content)}"
        return ""
    newest = next(iter(sessions), None)
    if newest is None or now.day(newest.last_signal_at_ms) != yesterday:
        return ""
    return "Continuation from yesterday's session" if _holds_some_of(str(newest.key), items) else ""


def _holds_some_of(session: str, items: Sequence[PackItem]) -> bool:
    return bool(session) and any(item.candidate.memory.session == session for item in items)


def _recent_files(sessions: Sequence[SessionState], at_ms: int) -> str:
    for session in sessions:
        if session.recent_files and 0 <= at_ms - session.last_signal_at_ms < HOUR_MS:
            return f"Recent activity (within last hour): {session.recent_files[-1]}"
    return ""


def _habit(topic: Sequence[Candidate], now: LocalTime) -> str:
    """Where the topic was worked on on three days in this part of the day, and on no more days in others."""
    part_of_day = now.part_of_day(now.at_ms)
    created_ms = [candidate.memory.created_at_ms for candidate in topic]
    days = {now.day(at) for at in created_ms if now.part_of_day(at) == part_of_day}
    other_days = {now.day(at) for at in created_ms} - days
    if len(days) < HABIT_DAYS or len(other_days) > len(days):
        return ""
    return f"You typically work on {topic_of(topic[0].memory)} {part_of_day}"
