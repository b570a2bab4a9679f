"""Clocks beyond their contract: the fake moves as told, the real one only forward."""

from __future__ import annotations

import time

import pytest

from tacit.providers.clock import FakeClock, SystemClock


def test_the_fake_stands_still_until_told() -> None:
    clock = FakeClock(5_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5_000, 0.0)
    clock.advance(1_500)
    assert (clock.now_ms(), clock.monotonic_ms()) == (6_500, 1_500.0)
    clock.set(10_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (10_000, 5_000.0)


def test_the_fake_never_goes_back() -> None:
    clock = FakeClock(5_000)
    clock.set(4_000)
    assert clock.now_ms() == 5_000
    with pytest.raises(ValueError, match="-1 ms"):
        clock.advance(-1)


def test_fractions_of_a_millisecond_add_up() -> None:
    clock = FakeClock(0)
    for _ in range(10):
        clock.advance(0.25)
    assert (clock.now_ms(), clock.monotonic_ms()) == (2, 2.5)


def test_the_fakes_chance_follows_from_its_seed() -> None:
    assert FakeClock(seed=3).entropy(16) == FakeClock(seed=3).entropy(16)
    assert FakeClock(seed=3).entropy(16) != FakeClock(seed=4).entropy(16)


def test_the_real_clock_is_the_machines() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000
