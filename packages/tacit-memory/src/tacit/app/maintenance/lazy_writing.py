"""The write side, loaded when it is first needed: no first answer needs it, and it is half of the program.

In: what it is made of. Out: the one `Writing`, made once whoever asks first. Loads nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.app.maintenance.writing import Writing
    from tacit.app.projects import ProjectRegistry
    from tacit.app.sessions import LiveSessions
    from tacit.app.values import Parts


class LazyWriting:
    """Holds the write side; call it to get that, which loads it the first time. Safe to use from several threads."""

    def __init__(
        self,
        *,
        parts: Parts,
        projects: ProjectRegistry,
        sessions: LiveSessions,
        settle: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        """Keep what the write side is made of; see `WritingParts`."""
        self._parts, self._projects, self._sessions = parts, projects, sessions
        self._settle, self._changed = settle, changed
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
        from tacit.app.maintenance.writing import Writing, WritingParts  # noqa: PLC0415 - see the module docstring

        with self._lock:
            if self._made is None:
                made_of = WritingParts(
                    parts=self._parts,
                    projects=self._projects,
                    sessions=self._sessions,
                    settle=self._settle,
                    changed=self._changed,
                )
                self._made = Writing(made_of)
            return self._made
