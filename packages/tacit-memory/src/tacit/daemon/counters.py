"""Counters of the daemon. In: names. Out: numbers for `status`. Never text of a payload."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from threading import Lock

NAMES = ("requests", "hooks", "injections", "silences", "busy", "late", "refused", "errors", "spooled")


class Counters:
    """Counters of what the daemon did since it started, and the time of the last request. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: Counter[str] = Counter(dict.fromkeys(NAMES, 0))
        self._started_s = time.monotonic()
        self._active_s = self._started_s

    def add(self, name: str, count: int = 1) -> None:
        """Add `count` to the counter `name`."""
        with self._lock:
            self._counts[name] += count

    def touch(self) -> None:
        """Note that a request came now: `idle_s` begins again at 0."""
        self._active_s = time.monotonic()

    @property
    def answered(self) -> bool:
        """Whether any hook was answered yet, with an injection or with silence."""
        return bool(self._counts["injections"] or self._counts["silences"])

    @property
    def idle_s(self) -> float:
        """Seconds since the last request (`touch`), or since the start."""
        return time.monotonic() - self._active_s

    @property
    def uptime_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_s

    def values(self) -> Mapping[str, int]:
        """Return a copy: counter name -> count, in a fixed order."""
        with self._lock:
            return dict(self._counts)
