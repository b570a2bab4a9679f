"""What a signal left is written also when another holds the store for long; nothing waits for ever."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

import samples
from samples import NOW_MS
from tacit.app.sessions import LiveSessions
from tacit.backends.sqlite import SqliteStore, open_sqlite_store
from tacit.config.home import Home
from tacit.errors import StoreBusy
from tacit.model.session import SessionKey, SessionState
from tacit.providers.clock import FakeClock

KEY = SessionKey(host="h", session_id="1")
STATE = SessionState(key=KEY, project_id="shop")


class HeldStore(SqliteStore):
    """Another writes for so many tries."""

    def __init__(self, busy: int) -> None:
        super().__init__(None, clock=FakeClock(now_ms=NOW_MS))
        self.busy = busy
        self.tries = 0

    def _wait(self):
        self.tries += 1
        if self.tries <= self.busy:
            raise StoreBusy("Another program writes.")

    def save_session(self, state, *, traces=()):
        self._wait()
        super().save_session(state, traces=traces)

    def put_value(self, name, value):
        self._wait()
        super().put_value(name, value)


def trace(name):
    return samples.trace(name, session=str(KEY), text="What?")


@contextlib.contextmanager
def live(store, **bounds):
    errors = []
    made = LiveSessions(
        store=store, clean=lambda _: lambda text: text, on_error=errors.append, again_s=0.01, **bounds
    )
    try:
        yield made, errors
    finally:
        made.close()


def ids(store):
    return [one.id for one in store.list_traces(limit=9)][::-1]


def test_a_store_that_is_busy_for_long_costs_no_record_and_no_trace():
    store = HeldStore(busy=3)
    with live(store) as (sessions, errors):
        sessions.save(STATE, trace=trace("trc_1"))
        sessions.write_later(KEY, lambda: store.put_value("announced:", "1"))
        sessions.save(replace(STATE, turn=2), trace=trace("trc_2"))
        sessions.flush()
        assert store.load_session(KEY) == replace(STATE, turn=2)
        assert ids(store) == ["trc_1", "trc_2"]
        assert (store.get_value("announced:"), errors, store.tries > 3) == ("1", [], True)


def test_the_newest_records_include_what_is_not_written_yet_and_no_incognito_session():
    store = HeldStore(busy=10_000)
    SqliteStore.save_session(store, replace(STATE, last_signal_at_ms=1))
    hidden = replace(STATE, key=replace(KEY, session_id="2"), last_signal_at_ms=3, incognito=True)
    written_later = replace(STATE, key=replace(KEY, session_id="3"), last_signal_at_ms=2)
    with live(store, tries_s=0.0) as (sessions, _):
        sessions.save(hidden)
        sessions.save(written_later)
        assert [state.key.session_id for state in sessions.newest(limit=9)] == ["3", "1"]
        assert sessions.newest(limit=1) == (written_later,)
        sessions.drop(written_later.key)
        assert [state.key.session_id for state in sessions.newest(limit=9)] == ["1"]


def test_a_write_that_was_given_up_goes_with_the_next_one():
    store = HeldStore(busy=1)
    with live(store, tries_s=0.0) as (sessions, errors):
        sessions.save(STATE, trace=trace("trc_1"))
        sessions.flush()
        assert (ids(store), len(errors)) == ([], 1)
        sessions.save(STATE, trace=trace("trc_2"))
        sessions.flush()
        assert (ids(store), len(errors)) == (["trc_1", "trc_2"], 1)


def test_closing_does_not_wait_for_ever_and_a_wait_ends_with_the_stores_own_error():
    store = HeldStore(busy=10_000)
    with live(store) as (sessions, errors):
        for number in range(9):
            sessions.save(replace(STATE, key=replace(KEY, session_id=str(number))))
        with pytest.raises(StoreBusy, match="not stored yet"):
            sessions.flush(timeout_s=0.05)
        tries = store.tries
    assert [type(one) for one in errors] == [StoreBusy] * 9
    assert store.tries <= tries + 3


def test_a_real_store_that_another_process_holds_gets_all_in_the_end(tmp_path):
    home, clock = Home(tmp_path / "home"), FakeClock(now_ms=NOW_MS)
    with (
        contextlib.closing(open_sqlite_store(home, clock=clock)) as store,
        contextlib.closing(open_sqlite_store(home, clock=clock)) as other,
    ):
        store._database.wait_s = 0.01
        with live(store) as (sessions, errors):
            with other._database.write(durable=False):
                sessions.save(STATE, trace=trace("trc_1"))
                with pytest.raises(StoreBusy):
                    sessions.flush(timeout_s=0.1)
                assert ids(store) == []
            sessions.flush()
            assert (store.load_session(KEY), ids(store), errors) == (STATE, ["trc_1"], [])
