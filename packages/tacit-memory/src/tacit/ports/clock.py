"""Time and chance as values that can be faked."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The source of time and random bytes, so that tests can fake them."""

    def now_ms(self) -> int:
        """Return the time in milliseconds since the Unix epoch. It never goes backwards within one process."""
        ...

    def monotonic_ms(self) -> float:
        """Return a monotonic time in milliseconds, for durations and deadlines; it has no date."""
        ...

    def local_offset_ms(self, at_ms: int) -> int:
        """Return how many milliseconds the user's local time is ahead of UTC at `at_ms`; negative to the west."""
        ...

    def entropy(self, size: int) -> bytes:
        """Return `size` random bytes."""
        ...
