"""The write side, loaded when it is first needed: no first answer needs it, and it is half of the program.

In: an open store. Out: the one `Writing`, made once whoever asks first. Loads nothing itself.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.app.maintenance.writing import Writing
    from tacit.app.values import OpenStore


class LazyWriting:
    """Holds the write side of one open store; call it to get that, which loads it the first time. Safe to use from several threads."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._made: Writing | None = None
        self._lock = Lock()

    def __call__(self) -> Writing:
        """Return the write side with the present settings; the first call loads it, which takes a few tenths of a second."""
        writing = self._made or self._make()
        writing.follow_settings()
        return writing

    def working(self) -> bool:
        """Whether a long job is running; False while the write side is not loaded."""
        return self._made is not None and self._made.maintenance.jobs.running

    def close(self) -> None:
        """End the jobs that still run, if the write side was loaded."""
        if self._made is not None:
            self._made.close()

    def _make(self) -> Writing:
        from tacit.app.maintenance.writing import Writing  # noqa: PLC0415 - see the module docstring

        with self._lock:
            if self._made is None:
                self._made = Writing(self._opened)
            return self._made
