"""Counters of the daemon. In: names. Out: numbers for `status`. Never text of a payload."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from threading import Lock

NAMES = ("requests", "hooks", "injections", "silences", "busy", "late", "refused", "errors", "spooled")


class Counters:
    """Counts since the daemon started, and when somebody last asked something."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
        self._started_s = time.monotonic()
        self._active_s = self._started_s

    def add(self, name: str, count: int = 1) -> None:
        """Count one more of `name`."""
        with self._lock:
            self._counts[name] += count

    def touch(self) -> None:
        """Note that somebody asked something."""
        self._active_s = time.monotonic()

    @property
    def answered(self) -> bool:
        """Whether a hook was answered yet."""
        return bool(self._counts["injections"] or self._counts["silences"])

    @property
    def idle_s(self) -> float:
        """Seconds since somebody asked something."""
        return time.monotonic() - self._active_s

    @property
    def uptime_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_s

    def values(self) -> Mapping[str, int]:
        """The counts, in a fixed order."""
        with self._lock:
            return dict(self._counts)
