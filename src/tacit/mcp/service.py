"""What the tools ask of the engine. `tacit.app.engine.Engine` is one. In: nothing. Out: a Protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tacit.app.asking.agents import Agents
from tacit.model.changes import Change
from tacit.model.memory import TrustTier
from tacit.model.pack import Block
from tacit.model.scope import Scope
from tacit.model.session import SessionKey
from tacit.model.trigger import Trigger


class Service(Protocol):
    """The part of the engine that the tools use; see the engine's docstrings."""

    @property
    def agents(self) -> Agents:
        """What an agent may ask and do."""
        ...

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
        user_words: str = "",
    ) -> tuple[Change, ...]:
        """Store a statement."""
        ...

    def context(self, cwd: str) -> Block:
        """What a session that starts in `cwd` would get."""
        ...
