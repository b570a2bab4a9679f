"""A store in memory: for tests, for trials, and for answers as of a moment in the past. It forgets everything when the process ends."""

from __future__ import annotations

from tacit.backends.memory.store import InMemoryBackend, InMemoryStore

__all__ = ["InMemoryBackend", "InMemoryStore"]
