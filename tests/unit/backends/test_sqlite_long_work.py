"""Long work on a store leaves room for those who write a little meanwhile, and what only looks changes nothing."""

from __future__ import annotations

import contextlib

import pytest

from samples import NOW_MS
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.providers.clock import FakeClock

CLOCK = FakeClock(now_ms=NOW_MS)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def store(home):
    with contextlib.closing(open_sqlite_store(home, clock=CLOCK)) as made:
        yield made


@pytest.fixture
def other(home, store):
    """The store of another process, which does not wait for long."""
    with contextlib.closing(open_sqlite_store(home, clock=CLOCK)) as made:
        made._database.wait_s = 0.05
        yield made


def test_others_write_between_the_steps_of_a_check(store, other):
    def progress(done, whole):
        other.put_value("step", f"{done}/{whole}")

    assert store.check(progress=progress) == ()
    assert store.get_value("step") == "9/9"
