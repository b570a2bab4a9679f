"""The memories chosen for one surface, and their text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from tacit.model.sections import NO_SECTIONS, Sections

if TYPE_CHECKING:
    from tacit.model.evidence import Candidate


class Surface(StrEnum):
    """The moment at which a pack is injected."""

    START = "start"
    PROMPT = "prompt"
    ACTION = "action"
    FAILURE = "failure"
    COMPACTION = "compaction"
    SUBAGENT = "subagent"
    ON_DEMAND = "on_demand"
    HOST = "host"
    """Not ours: the host itself put the text (a rule file) into context. Used in the ledger only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackItem:
    """A memory as it will stand in the block: `text` may be shortened at a sentence end.

    `category` names the part of the block it stands in, where the layout has parts.
    """

    candidate: Candidate
    text: str
    tokens: int
    shortened: bool = False
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The memories chosen for a surface, in rendering order. Empty = silence."""

    surface: Surface
    items: tuple[PackItem, ...] = ()
    budget_tokens: int = 0
    sections: Sections = NO_SECTIONS

    @property
    def tokens(self) -> int:
        """Tokens of all items and sections, without the frame of the block."""
        return sum(item.tokens for item in self.items) + self.sections.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The rendered text of a pack. The same pack renders to the same bytes. Empty text = silence.

    `placement` says where a host that has the choice puts it: `message` = with the newest message, kept there byte for
    byte; `system` = in the system prompt of every call, replaced by the next one. `refuses` = the call it is for is not to
    run, and the text is the reason. `history` = ids of the messages whose blocks stay in the history from now on, this one
    included; None = all stay.
    """

    surface: Surface
    text: str = ""
    tokens: int = 0
    memory_ids: tuple[str, ...] = ()
    placement: Literal["message", "system"] = "message"
    refuses: bool = False
    history: tuple[str, ...] | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to hand over."""
        return not self.text
