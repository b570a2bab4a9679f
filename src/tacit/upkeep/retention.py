"""Forgets records of what happened, by age and number. In: a store, limits, the time. Out: what went.

Memories are never touched here: they stay until someone forgets them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.config.settings import RetentionSettings
from tacit.ports.clock import Clock
from tacit.ports.store import Store
from tacit.state.registry import forget_session

DAY_MS = 86_400_000
SESSION_DAYS = 90
"""A live session record that heard nothing for so long is forgotten; its traces follow their own limit."""
_SESSIONS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionCounts:
    """Counts of deleted records."""

    traces: int
    sessions: int


def apply_retention(
    store: Store,
    settings: RetentionSettings,
    *,
    clock: Clock,
    session_days: float = SESSION_DAYS,
) -> RetentionCounts:
    """Prune traces, age out session records and the named values that go with them; running it twice changes nothing more.

    Raises:
        StoreError: as the store.
    """
    now = clock.now_ms()
    traces = store.prune_traces(before_ms=int(now - settings.trace_days * DAY_MS), keep=settings.traces)
    limit = now - session_days * DAY_MS
    stale = [state.key for state in store.list_sessions(limit=_SESSIONS) if state.last_signal_at_ms < limit]
    for key in stale:
        store.delete_session(key)
        forget_session(store, key)
    return RetentionCounts(traces=traces, sessions=len(stale))
