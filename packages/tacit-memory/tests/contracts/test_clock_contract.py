"""What every clock must do."""

from __future__ import annotations

import pytest

from tacit.ports.clock import Clock
from tacit.providers.clock import FakeClock, SystemClock


@pytest.fixture(params=[SystemClock, FakeClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    return request.param()


def test_time_is_whole_milliseconds_of_this_century(clock: Clock) -> None:
    now = clock.now_ms()
    assert isinstance(now, int)
    assert 1_600_000_000_000 < now < 4_000_000_000_000


def test_neither_time_goes_backwards(clock: Clock) -> None:
    wall = [clock.now_ms() for _ in range(2000)]
    monotonic = [clock.monotonic_ms() for _ in range(2000)]
    assert wall == sorted(wall)
    assert monotonic == sorted(monotonic)


def test_entropy_has_the_asked_size_and_differs(clock: Clock) -> None:
    assert [len(clock.entropy(size)) for size in (0, 1, 10, 16)] == [0, 1, 10, 16]
    assert clock.entropy(16) != clock.entropy(16)
