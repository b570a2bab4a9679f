"""The memories chosen for one surface, and their text.

Parts of a block besides its memories: alerts of a shift, time hints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Literal

from tacit.frozen import frozen
from tacit.model.evidence import Candidate


@frozen
class DivergenceAlert:
    """A warning that the current words are far from all recent memories in one space.

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


@frozen
class Sections:
    """The parts of a block that hold no memory: alerts of a change of topic, and time hints (`badges`). `tokens` = what they cost together."""

    alerts: tuple[DivergenceAlert, ...] = ()
    badges: tuple[str, ...] = ()
    tokens: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.alerts or self.badges)


NO_SECTIONS = Sections()


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


@frozen
class PackItem:
    """A memory as it will stand in the block; `text` = its words there, perhaps shortened at a sentence end.

    `category` names the part of the block it stands in, where the layout has parts.
    """

    candidate: Candidate
    text: str
    tokens: int
    shortened: bool = False
    category: str = ""


@frozen
class Pair:
    """Two memories that may not both hold, by id, with the short ids that the block names them by and the tokens of the line that says so."""

    first: str
    second: str
    names: tuple[str, str]
    tokens: int = 0


@frozen
class IndexLine:
    """A line of the index: a memory's headline with its short id.

    Attributes:
        candidate: the memory.
        short_id: the ending of its id by which the agent fetches it.
        topic: the word that it stands under, or "".
        whole: the headline says all that the memory says, so that there is nothing to fetch.
        tokens: what the line costs, with the heading that it opens.
    """

    candidate: Candidate
    short_id: str
    topic: str = ""
    whole: bool = False
    tokens: int = 0


@frozen
class Index:
    """Headlines of memories that a block does not hold, grouped by topic.

    `left` = (topic, memories) of those that found no room, the largest topic first; the topic "" holds those without one.
    `frame_tokens` = most tokens of what stands around the lines. `delta` = it lists what changed since the session was told.
    """

    lines: tuple[IndexLine, ...] = ()
    left: tuple[tuple[str, int], ...] = ()
    frame_tokens: int = 0
    delta: bool = False

    @property
    def empty(self) -> bool:
        """Whether the index has no lines and counts no memory as left out."""
        return not (self.lines or self.left)

    def without_last(self) -> Index:
        """Return a copy without the last line, which `left` then counts. If it had at most one line: an empty index."""
        if len(self.lines) <= 1:
            return NO_INDEX
        counts = Counter(dict(self.left))
        counts[self.lines[-1].topic] += 1
        return replace(self, lines=self.lines[:-1], left=by_size(counts))


def by_size(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return the (topic, count) pairs of `counts`, the largest count first; the topic "" comes last."""
    return tuple(sorted(counts.items(), key=lambda entry: (not entry[0], -entry[1], entry[0])))


NO_INDEX = Index()


@frozen
class Pack:
    """The memories chosen for a surface, in rendering order, and the index of the others. Empty = silence.

    `pairs` are those that a line may speak of; it does where both memories are in the block. `asked` = the question that it answers,
    where the layout names it.
    """

    surface: Surface
    items: tuple[PackItem, ...] = ()
    budget_tokens: int = 0
    sections: Sections = NO_SECTIONS
    index: Index = NO_INDEX
    pairs: tuple[Pair, ...] = ()
    asked: str = ""

    @property
    def shown_pairs(self) -> tuple[Pair, ...]:
        """The pairs of which both memories are in the block, as items or in the index; only these get a line."""
        there = {line.candidate.memory.id for line in (*self.items, *self.index.lines)} if self.pairs else ()
        return tuple(pair for pair in self.pairs if pair.first in there and pair.second in there)

    @property
    def tokens(self) -> int:
        """Tokens of all items, sections, pairs and the index, without the frame of the block."""
        lines = (*self.items, *self.index.lines, *self.shown_pairs)
        return sum(line.tokens for line in lines) + self.sections.tokens + self.index.frame_tokens

    @property
    def given(self) -> tuple[PackItem, ...]:
        """The memories that the reader gets whole: the items of the pack, and the lines of its index that say all of their memory."""
        lines = (
            PackItem(candidate=line.candidate, text=line.candidate.memory.content, tokens=line.tokens)
            for line in self.index.lines
            if line.whole
        )
        return (*self.items, *lines)

    @property
    def held(self) -> tuple[str, ...]:
        """Ids of the memories in `given`, each once, in order."""
        return tuple(dict.fromkeys(item.candidate.memory.id for item in self.given))

    @property
    def offered(self) -> tuple[str, ...]:
        """Ids of the memories that the index shows with a shortened headline."""
        return tuple(line.candidate.memory.id for line in self.index.lines if not line.whole)


@frozen
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
