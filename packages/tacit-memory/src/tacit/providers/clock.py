"""Time and chance: the machine's own, the machine's at a fixed date, and a fake that stands still until told otherwise.

In: nothing (the fake: a start time and a seed). Out: milliseconds and random bytes. Never sleeps.
"""

from __future__ import annotations

import os
import random
import threading
import time

_NS_PER_MS = 1_000_000
_FETCHED = 640


class SystemClock:
    """The machine's clock. If the machine's time jumps back, it stands still until that time is reached again. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest_ms = 0
        self._chance = b""

    def now_ms(self) -> int:
        """Return the milliseconds since the Unix epoch; never less than in an earlier call."""
        with self._lock:
            self._latest_ms = max(self._latest_ms, time.time_ns() // _NS_PER_MS)
            return self._latest_ms

    def monotonic_ms(self) -> float:
        """Return monotonic milliseconds; only differences of them have a meaning."""
        return time.monotonic_ns() / _NS_PER_MS

    def local_offset_ms(self, at_ms: int) -> int:
        """Return the milliseconds from UTC to the machine's time zone at the time `at_ms`; negative to the west."""
        return time.localtime(at_ms / 1000).tm_gmtoff * 1000

    def entropy(self, size: int) -> bytes:
        """Return `size` random bytes of the operating system. They are fetched in advance, because a call can take most of a millisecond.

        They name things; they are no secrets. A forked child must not go on with its parent's clock.
        """
        with self._lock:
            if len(self._chance) < size:
                self._chance += os.urandom(size + _FETCHED)
            taken, self._chance = self._chance[:size], self._chance[size:]
            return taken


class FixedDateClock(SystemClock):
    """The machine's clock with a fixed date, for recalls as of that time. `monotonic_ms` still advances."""

    def __init__(self, now_ms: int) -> None:
        super().__init__()
        self._date_ms = now_ms

    def now_ms(self) -> int:
        """Return the fixed time, in milliseconds since the Unix epoch."""
        return self._date_ms


class FakeClock:
    """A clock for tests: it advances only by `advance` and `set`, and its random bytes follow from `seed`."""

    def __init__(self, now_ms: int = 1_700_000_000_000, *, seed: int = 0, offset_ms: int = 0) -> None:
        self._offset_ms = offset_ms
        self._lock = threading.Lock()
        self._start_ms = now_ms
        self._passed_ms = 0.0
        self._random = random.Random(seed)

    def now_ms(self) -> int:
        """Return the time it was set to, in milliseconds since the Unix epoch."""
        with self._lock:
            return self._start_ms + int(self._passed_ms)

    def monotonic_ms(self) -> float:
        """Return the milliseconds that were advanced so far."""
        with self._lock:
            return self._passed_ms

    def local_offset_ms(self, at_ms: int) -> int:
        """Return the offset that the clock was created with."""
        del at_ms
        return self._offset_ms

    def entropy(self, size: int) -> bytes:
        """Return the next `size` bytes of the seeded sequence."""
        with self._lock:
            return self._random.randbytes(size)

    def advance(self, ms: float) -> None:
        """Let `ms` milliseconds pass.

        Raises:
            ValueError: if `ms` is negative.
        """
        if ms < 0:
            raise ValueError(f"A clock cannot advance by {ms} ms; use set() to begin at an earlier time.")
        with self._lock:
            self._passed_ms += ms

    def set(self, now_ms: int) -> None:
        """Set the time to `now_ms`. An earlier time than the present one is ignored."""
        with self._lock:
            self._passed_ms = max(self._passed_ms, now_ms - self._start_ms)
