"""Parts of a block besides its memories: alerts of a shift, time hints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DivergenceAlert:
    """The current words are far from all recent memories in one space.

    Attributes:
        space: name of the space.
        similarity: the largest similarity with any recent memory, 0 to 1.
        memory_id: that memory.
        summary: its first words, at most 100 characters.
    """

    space: str
    similarity: float
    memory_id: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """Sections of a block that hold no memory. `tokens` = what they cost together."""

    alerts: tuple[DivergenceAlert, ...] = ()
    badges: tuple[str, ...] = ()
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.alerts or self.badges)


NO_SECTIONS = Sections()
