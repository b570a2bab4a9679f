"""The one protocol of a space: a way to measure closeness, with its own scale and its own thresholds.

A space proposes memories (`retrieve`), leads to further ones (`reach`), measures the short list (`measure`), or several of
these. What it needs for measuring besides the memories it reads beforehand (`read`), so that measuring does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.model.evidence import Ranking, Shortlist
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.ports.store import MemoryStore
from tacit.recall.stage import Outcome, Tools

Family = Literal["meaning", "words", "situation", "things", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceQuery:
    """What a space is asked.

    Attributes:
        query: the words and the situation.
        limit: most memories that it proposes.
        vector: of the words, shape (dimensions,), of unit length; None = they were not embedded.
        identity: of the embedder that made it.
    """

    query: Query
    limit: int
    vector: Vectors | None
    identity: EmbedderIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One way to measure closeness.

    Attributes:
        name: as in the glossary.
        family: the sort of evidence, for those who look at scores.
        summary: what it compares, in a few words.
        topic_weight: what it counts for in agreement (SPEC section 5).
        high, low: thresholds on its own scale: at or above `high` speaks for, below `low` speaks against.
        retrieve: proposes memories.
        embeds: it can only be asked with a vector.
        reach: ids of memories that those found lead to, and that no space proposed.
        read: the short list with what `measure` needs of the store or of a model.
        measure: scores by memory id; None for a space whose ranking is all it knows.
    """

    name: str
    family: Family
    summary: str
    topic_weight: float
    high: float
    low: float
    retrieve: Callable[[Search, SpaceQuery], Ranking] | None = None
    embeds: bool = False
    reach: Callable[[MemoryStore, Query, Sequence[str]], Sequence[str]] | None = None
    read: Callable[[Tools, Query, Shortlist, Callable[[], float]], Outcome[Shortlist]] | None = None
    measure: Callable[[Query, Shortlist], Mapping[str, float]] | None = None


def each(
    measure: Callable[[Query, Memory], float],
) -> Callable[[Query, Shortlist], Mapping[str, float]]:
    """The measure of a space that looks at one memory at a time."""

    def measure_all(query: Query, shortlist: Shortlist) -> dict[str, float]:
        return {memory.id: measure(query, memory) for memory in shortlist.memories}

    return measure_all
