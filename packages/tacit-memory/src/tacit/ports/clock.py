"""Time and chance as values that can be faked."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The source of time and randomness."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes backwards within one process."""
        ...

    def monotonic_ms(self) -> float:
        """Monotonic milliseconds, for durations and deadlines."""
        ...

    def local_offset_ms(self, at_ms: int) -> int:
        """Milliseconds from UTC to the user's own clock at a moment."""
        ...

    def entropy(self, size: int) -> bytes:
        """`size` random bytes."""
        ...
