"""The one protocol of a space: a way to measure closeness, with its own scale and its own thresholds.

A space proposes memories (`retrieve`), leads to further ones (`reach`), measures the short list (`measure`), or several of
these. What it needs for measuring besides the memories it reads beforehand (`read`), so that measuring does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.fitted import load_fitted, values_of
from tacit.model.evidence import Ranking, Shortlist
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.ports.store import MemoryStore
from tacit.recall.stage import Outcome, Tools

Family = Literal["meaning", "words", "situation", "things", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceThresholds:
    """The thresholds of one space, as they were derived; `python -m tacit_evals.fit` writes the file byte for byte again.

    Attributes:
        low, high: on the space's own scale: at or above `high` a score speaks for a memory, below `low` against it. Quantiles
            of the scores of pairs that nobody needed, on real prompts.
        by: `data` = quantiles; `hand` = set by hand, where too few pairs speak.
        pairs: pairs that nobody needed, of which the space says something.
        others_at_high, needed_at_high: share of those pairs, and of needed pairs, at or above `high`.
    """

    low: float
    high: float
    by: Literal["data", "hand"]
    pairs: int = 0
    others_at_high: float = 0.0
    needed_at_high: float = 0.0


def shipped_thresholds() -> Mapping[str, SpaceThresholds]:
    """What ships."""
    return load_fitted("space_thresholds", dict[str, SpaceThresholds], values_of)


SPACE_THRESHOLDS = {
    name: (thresholds.low, thresholds.high) for name, thresholds in shipped_thresholds().items()
}
"""(low, high) by space."""


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
