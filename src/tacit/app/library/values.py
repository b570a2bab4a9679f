"""Return values of the library. Frozen, without behavior."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One memory of an answer.

    Attributes:
        id: `mem_...`.
        kind: name of its kind.
        text: its statement, shortened where the budget asked for it.
        relevance: probability that it helps, 0-1.
        scope: who may see it, e.g. `universal` or `project:...`.
        tier: who vouches for it: user, assistant, tool or import.
        source: where it came from, in one word.
        created_at_ms: milliseconds since the Unix epoch.
        valid_from_ms: since when it holds, likewise.
        valid_to_ms: until when it held; None = it still does.
    """

    id: str
    kind: str
    text: str
    relevance: float
    scope: str
    tier: str
    source: str
    created_at_ms: int
    valid_from_ms: int = 0
    valid_to_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """An answer to a question; empty where nothing is on record.

    Attributes:
        text: the block for a model; "" = nothing.
        tokens: its size.
        memories: what it was written from, in its order.
        silence: why it is empty, in words.
        trace_id: `trc_...`, what `tacit why` shows in full.
    """

    text: str = ""
    tokens: int = 0
    memories: tuple[Found, ...] = ()
    silence: str = ""
    trace_id: str = ""

    def __bool__(self) -> bool:
        return bool(self.memories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The fate of a stored statement.

    Attributes:
        change: add, merge, supersede, contradict, or skip where nothing was stored.
        id: `mem_...` of the memory that holds it now; "" for a skip.
        content: its words as they are stored, without secrets.
        reason: why, in words.
    """

    change: str
    id: str
    content: str
    reason: str
