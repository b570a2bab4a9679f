"""What the API asks of the engine. `tacit.app.engine.Engine` is one; tests have another.

In: nothing. Out: a Protocol. Answers of the upkeep calls are frozen dataclasses that are encoded as they are, so their
types do not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from tacit.app.values import EngineStatus, Recalled
from tacit.capture.backfill import Wanted
from tacit.model.changes import Change
from tacit.model.memory import Memory, TrustTier
from tacit.model.pack import Block, Surface
from tacit.model.scope import Scope, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.model.trigger import Trigger
from tacit.ports.store import MemoryFilter, Recorded


class ReviewService(Protocol):
    """What waits for the user, and taking back; see `tacit.app.care.review.Review`."""

    def queue(self, *, scope: ScopeFilter | None = None, limit: int = 50) -> Sequence[Any]:
        """What waits: each has `memory`, `other` (or None) and `reason`."""
        ...

    def decide(
        self, id_or_prefix: str, action: Any, *, content: str | None = None, into: str | None = None
    ) -> tuple[Change, ...]:
        """Decide on one statement."""
        ...

    def changes(
        self, *, scope: ScopeFilter | None = None, memory_id: str | None = None, limit: int = 20
    ) -> Sequence[Recorded]:
        """What was written last."""
        ...

    def undo(
        self, id_or_prefix: str | None = None, *, scope: ScopeFilter | None = None, keep_both: bool = False
    ) -> tuple[Change, ...]:
        """Take back the last change."""
        ...


class Service(Protocol):
    """The part of the engine that the API serves; see the engine's docstrings."""

    def remember(
        self,
        content: str,
        *,
        kind: str | None = None,
        scope: Scope | None = None,
        when: str | Trigger | None = None,
        cwd: str = "",
        tier: TrustTier = TrustTier.USER,
        source: str = "library",
        session: SessionKey | None = None,
        pinned: bool = False,
        files: Sequence[str] = (),
    ) -> tuple[Change, ...]:
        """Store a statement."""
        ...

    def recall(
        self,
        text: str,
        *,
        cwd: str = "",
        surface: Surface = Surface.ON_DEMAND,
        budget_tokens: int | None = None,
        as_of_ms: int | None = None,
        store_trace: bool = True,
    ) -> Recalled:
        """Answer a question."""
        ...

    def context(self, cwd: str) -> Block:
        """What a session that starts in `cwd` would get."""
        ...

    def visible(self, cwd: str, *, paths: Sequence[str] = ()) -> ScopeFilter:
        """What may be seen from `cwd`."""
        ...

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[Memory, ...]:
        """List memories, newest first."""
        ...

    def show(self, id_or_prefix: str) -> Memory:
        """One memory."""
        ...

    def history(self, id_or_prefix: str) -> tuple[Memory, ...]:
        """All versions of one memory, oldest first."""
        ...

    def edit(
        self,
        id_or_prefix: str,
        *,
        content: str | None = None,
        kind: str | None = None,
        when: str | Trigger | None = None,
        scope: Scope | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
    ) -> Memory:
        """Change a memory."""
        ...

    def forget(self, id_or_prefix: str, *, reason: str = "forgotten") -> Memory:
        """Retire a memory."""
        ...

    def feedback(self, memory_id: str, *, useful: bool) -> None:
        """Record whether a memory was of use."""
        ...

    def why(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 10
    ) -> tuple[Trace, ...]:
        """The last traces, newest first."""
        ...

    def replayed(self, traces: Sequence[Trace], *, threshold: float) -> Any:
        """Traces decided again."""
        ...

    def tune(self, *, bound: float, apply: bool) -> Any:
        """Fit the threshold of prompts to this store."""
        ...

    @property
    def review(self) -> ReviewService:
        """The review queue and undo."""
        ...

    @property
    def care(self) -> Any:
        """What looks after the store: `statistics()`."""
        ...

    def rescan(self, *, dry_run: bool) -> Any:
        """Take secrets out of everything stored."""
        ...

    def mute(self, session: SessionKey, *, muted: bool) -> SessionState:
        """Stop or resume injecting into one session."""
        ...

    def init_project(self, cwd: str) -> Any:
        """Import the rule files of a project."""
        ...

    def transcripts(
        self, cwd: str = "", *, paths: Sequence[Path] = (), host: str = "", since_ms: int = 0
    ) -> Sequence[Any]:
        """Past transcripts; each has a `path`."""
        ...

    def backfill(self, infos: Any, *, wanted: Wanted) -> Any:
        """Learn from past transcripts."""
        ...

    def reindex(self) -> int:
        """Renew vectors of another embedder; how many were made."""
        ...

    def status(self) -> EngineStatus:
        """State and counts."""
        ...

    def check(self) -> tuple[str, ...]:
        """Problems of the store, as sentences."""
        ...

    def backup(self, target: Path) -> None:
        """Write a copy of the store."""
        ...
