"""The evidence for a candidate: one score per space, never combined before the score stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from tacit.model.kinds import BUILTIN_KINDS, KindRegistry
from tacit.model.memory import Memory, Relation

if TYPE_CHECKING:  # every command would load numpy for nothing
    import numpy as np
    from numpy.typing import NDArray

TokenMatches: TypeAlias = "Callable[[str, Sequence[str]], NDArray[np.float32]]"
"""Best cosine (0-1) of each token of a text in each of the others, shape (others, tokens of the text)."""

PINNED = "pinned"
NEAR = "near another"
"""The pack may hold a statement in nearly the same words: they stand together, each with its day."""
"""Reason of a candidate that is handed over because it or its kind is pinned, not because of what was asked."""


class Hit(NamedTuple):
    """A memory in a ranking. Higher is better; scores are comparable only within their space.

    A named tuple, because a recall makes hundreds of them while somebody waits.
    """

    memory_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Scores of any memories of the scope: mean and deviation of `count` of its `total` memories, near and far alike."""

    count: int
    mean: float
    deviation: float
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranking of one space, best first, ties broken by id.

    Attributes:
        space: its name.
        hits: the memories found.
        took_ms: milliseconds.
        complete: False = cut off by the deadline.
        background: what the hits stand out from, where the space knows it.
    """

    space: str
    hits: tuple[Hit, ...]
    took_ms: float = 0.0
    complete: bool = True
    background: Background | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTable:
    """The score of every word of a text for every memory.

    Attributes:
        ids: memories, best sum first, ties by id.
        scores: BM25 of one word each, 0 where the memory lacks it; shape (ids, words), float32.
        weights: how much each word tells, its idf in scope; 0 where it was not looked up; shape (words,), float32.
        complete: False = cut off by the deadline or by the words' frequency; words left out have zeros.
    """

    ids: tuple[str, ...]
    scores: NDArray[np.float32]
    weights: NDArray[np.float32]
    complete: bool = True


Freshness = Literal["", "changed", "moved", "gone"]
"""What its files say of a memory: "" = as it was or not known; see `recall.freshness`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory with its evidence.

    Attributes:
        memory: the memory.
        scores: (space, score) for every space that measured it, in the spaces' fixed order.
        fused: order score of the fuse stage; orders, never gates.
        relevance: calibrated probability (0-1) that injecting it helps; 0 until scored.
        reasons: short words for the trace (`intent: commit`, `lexical: golangci-lint`).
        freshness: what the probe of its files found.
        heard_at_ms: if a team shares it and the team's server was not reached for a day, the time of the last contact; else 0.
        similarity_z: standard deviations of its cosine with the query above the mean of the scope; 0 = not known, None = the cosine has
            no meaning, because the embedder does not read the language of one of the two texts.
    """

    memory: Memory
    scores: tuple[tuple[str, float], ...] = ()
    fused: float = 0.0
    relevance: float = 0.0
    reasons: tuple[str, ...] = ()
    freshness: Freshness = ""
    heard_at_ms: int = 0
    similarity_z: float | None = 0.0

    def judged(self, relevance: float, reasons: tuple[str, ...]) -> Candidate:
        """The same with its relevance. Not by `replace`, which takes four times as long for every one of a short list."""
        return Candidate(
            memory=self.memory,
            scores=self.scores,
            fused=self.fused,
            relevance=relevance,
            reasons=reasons,
            freshness=self.freshness,
            heard_at_ms=self.heard_at_ms,
            similarity_z=self.similarity_z,
        )

    def score(self, space: str) -> float | None:
        """Score in `space`, or None where it was not measured."""
        return next((value for name, value in self.scores if name == space), None)


class CosineReference(Protocol):
    """Mean and deviation of the cosines of a prompt with the memories of its project."""

    @property
    def mean(self) -> float:
        """The usual value of such a cosine."""
        ...

    @property
    def deviation(self) -> float:
        """Its usual distance from the mean."""
        ...

    def transform(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The vector of a prompt, shape (dimensions,), as it is compared with memories; of unit length."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """The memories that the costly spaces measure, with what the pipeline read for them.

    Attributes:
        memories: the short list, best first.
        found: scores by space and memory id, as retrieved; a space that did not find a memory has no score for it.
        relations: edges that touch the short list; empty when the graph is off.
        token_matches: of a text in others; None when the embedder knows no tokens.
        kinds: the kinds, for half-lives.
    """

    memories: tuple[Memory, ...]
    found: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    relations: tuple[Relation, ...] = ()
    token_matches: TokenMatches | None = None
    kinds: KindRegistry = BUILTIN_KINDS
