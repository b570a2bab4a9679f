"""The write side, loaded when it is first needed: no first answer needs it, and it is half of the program.

In: what it is made of. Out: the one `Writing`, made once whoever asks first. Loads nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.app.care.writing import Writing
    from tacit.app.parts import Parts
    from tacit.app.projects import Projects
    from tacit.app.sessions import LiveSessions


class LaterWriting:
    """Call it for the write side. Safe to use from several threads."""

    def __init__(
        self,
        parts: Parts,
        *,
        projects: Projects,
        sessions: LiveSessions,
        settle: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        """Remember what it will be made of; see `Writing`."""
        self._parts = parts
        self._projects = projects
        self._sessions = sessions
        self._settle = settle
        self._changed = changed
        self._made: Writing | None = None
        self._lock = Lock()

    def __call__(self) -> Writing:
        """The write side; the first call loads it, which takes a few tenths of a second."""
        made = self._made
        if made is not None:
            made.capture.follow(
                self._parts.settings.current().capture
            )  # a changed file holds without a restart
            return made
        from tacit.app.care.writing import Writing  # noqa: PLC0415 - see the module docstring

        with self._lock:
            if self._made is None:
                self._made = Writing(
                    self._parts,
                    projects=self._projects,
                    sessions=self._sessions,
                    settle=self._settle,
                    changed=self._changed,
                )
            return self._made
