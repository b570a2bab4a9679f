"""Records of what happened go by age and number; memories stay."""

from __future__ import annotations

import samples
from tacit.backends.sqlite import SqliteStore
from tacit.config.settings import MOST_TRACES, RetentionSettings
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.providers.clock import FakeClock
from tacit.upkeep.rounds import DAY_MS, RetentionCounts, apply_retention

NOW = 200 * DAY_MS


def trace(number: int, at_ms: int) -> Trace:
    return samples.trace(f"trc_{number}", at_ms=at_ms)


def test_old_and_surplus_records_go_once() -> None:
    clock = FakeClock(now_ms=NOW)
    store = SqliteStore.temporary(clock=clock)
    ages = {"fresh": 1, "old": 91}
    for number, (name, days) in enumerate(ages.items()):
        state = SessionState(key=SessionKey(host="h", session_id=name), last_signal_at_ms=NOW - days * DAY_MS)
        store.save_session(state, traces=[trace(number, NOW - days * DAY_MS)])
    store.save_session(
        SessionState(key=SessionKey(host="h", session_id="fresh"), last_signal_at_ms=NOW),
        traces=[trace(number, NOW - number) for number in range(10, 11 + MOST_TRACES)],
    )
    settings = RetentionSettings(trace_days=30)
    assert apply_retention(store, settings, clock=clock) == RetentionCounts(traces=3, sessions=1)
    assert [state.key.session_id for state in store.list_sessions(limit=10)] == ["fresh"]
    assert [t.id for t in store.list_traces(limit=4)] == ["trc_10", "trc_11", "trc_12", "trc_13"]
    assert store.stats().traces == MOST_TRACES
    assert apply_retention(store, settings, clock=clock) == RetentionCounts(traces=0, sessions=0)
