"""Marks of charts: changes of settings and imports, with their times. In: the settings in force, noted imports. Out: marks, oldest first.

Changes of settings are found by comparing fingerprints with the last look, so that it does not matter whether the page, a command or
an editor made them. Stores names of settings, never their values.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from threading import Lock

from tacit.app.parts import Parts
from tacit.state.counted import Mark, Marks
from tacit.state.registry import MARKS

FINGERPRINT_CHARS = 12


class MarkReader:
    """Looks for changes and returns all marks. Safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = Lock()

    def between(self, since_ms: int, until_ms: int) -> tuple[Mark, ...]:
        """Return the marks of that time, oldest first."""
        return tuple(mark for mark in self._looked().marks if since_ms <= mark.at_ms < until_ms)

    def _looked(self) -> Marks:
        report = self._parts.settings.report()
        settings = {key: _fingerprint(report.origins[key][-1].value) for key in report.changed()}
        with self._lock:
            before = MARKS.find(self._parts.store)
            if before is not None and before.settings == settings:
                return before
            after = replace(before or Marks(), settings=settings)
            if before is not None and before.settings is not None:
                known = before.settings
                names = sorted(key for key in {*known, *settings} if known.get(key) != settings.get(key))
                after = after.noted(Mark(at_ms=self._written_ms(), what="settings", about=tuple(names)))
            MARKS.write(self._parts.store, after)
            return after

    def _written_ms(self) -> int:
        """When the user's settings were written last."""
        try:
            return self._parts.home.config_file.stat().st_mtime_ns // 1_000_000
        except OSError:
            return self._parts.clock.now_ms()


def _fingerprint(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:FINGERPRINT_CHARS]
