"""The evidence for a candidate: one score per space, never combined before the score stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from tacit.frozen import frozen
from tacit.model.kinds import BUILTIN_KINDS, KindRegistry
from tacit.model.memory import Memory, Relation

if TYPE_CHECKING:  # every command would load numpy for nothing
    import numpy as np
    from numpy.typing import NDArray

TokenMatches: TypeAlias = "Callable[[str, Sequence[str]], NDArray[np.float32]]"
"""Best cosine (0-1) of each token of a text in each of the others, shape (others, tokens of the text)."""

Parts: TypeAlias = tuple[tuple[str, float], ...]
"""Log odds that add up to what the gate judged of a memory, by name (`recall.score.PARTS`)."""
PINNED = "pinned"
"""Reason of a candidate that is handed over because it or its kind is pinned, not because of what was asked."""
NEAR = "near another"
"""Reason of a candidate that is kept although the pack may hold a statement in nearly the same words: both are shown, each with its day."""


class Hit(NamedTuple):
    """A memory id and its score in one ranking. Higher is better; scores are comparable only within their space.

    `whole` = the memory holds every word of the question; only the search by words says so.
    A named tuple, because a recall makes hundreds of them while somebody waits.
    """

    memory_id: str
    score: float
    whole: bool = False


@frozen
class Background:
    """The usual score in a scope, which shows how far a hit stands out: mean and standard deviation over a sample of `count` of its `total` memories."""

    count: int
    mean: float
    deviation: float
    total: int


@frozen
class Ranking:
    """The result of one space's search: the hits (memory id and score) with the best first. Ties are broken by id, the newest first.

    Attributes:
        space: its name.
        hits: the memories found.
        took_ms: milliseconds.
        complete: False = cut off by the deadline.
        background: mean and deviation of the scores of the scope, to see how far a hit stands out; None = not known.
    """

    space: str
    hits: tuple[Hit, ...]
    took_ms: float = 0.0
    complete: bool = True
    background: Background | None = None


@frozen
class WordTable:
    """The scores of a text's words one by one, for each memory found.

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
"""Whether the files that a memory speaks of are still as they were: "" = unchanged or not known; see `recall.freshness`."""


@frozen
class Candidate:
    """A memory that a recall considers, with its evidence: one score per space, and what later stages decide from them.

    Attributes:
        memory: the memory.
        scores: (space, score) for every space that measured it, in the spaces' fixed order.
        fused: order score of the fuse stage; orders, never gates.
        relevance: calibrated probability (0-1) that injecting it helps; 0 until scored.
        reasons: short words for the trace (`intent: commit`, `lexical: golangci-lint`).
        freshness: what the probe of its files found.
        heard_at_ms: if a team shares it and the team's server was not reached for a day, the time of the last contact; else 0.
        lost: whether a team shares it and the team's server, which was restored from a backup, no longer has it.
        similarity_z: standard deviations of its cosine with the query above the mean of the scope; 0 = not known, None = the cosine has
            no meaning, because the embedder does not read the language of one of the two texts.
        parts: what adds up to what the gate judged; () = it did not judge this memory.
    """

    memory: Memory
    scores: tuple[tuple[str, float], ...] = ()
    fused: float = 0.0
    relevance: float = 0.0
    reasons: tuple[str, ...] = ()
    freshness: Freshness = ""
    heard_at_ms: int = 0
    lost: bool = False
    similarity_z: float | None = 0.0
    parts: Parts = ()

    def judged(self, relevance: float, reasons: tuple[str, ...], parts: Parts = ()) -> Candidate:
        """Return a copy with this relevance, these reasons and parts. Built by hand, as `dataclasses.replace` takes four times as long."""
        return Candidate(
            memory=self.memory,
            scores=self.scores,
            fused=self.fused,
            relevance=relevance,
            reasons=reasons,
            freshness=self.freshness,
            heard_at_ms=self.heard_at_ms,
            lost=self.lost,
            similarity_z=self.similarity_z,
            parts=parts,
        )

    def score(self, space: str) -> float | None:
        """Return the score in `space`; None = it was not measured there."""
        return next((value for name, value in self.scores if name == space), None)


class CosineReference(Protocol):
    """The expected cosine of a prompt with the memories of its project, and the prompt transform that it was measured with."""

    @property
    def mean(self) -> float:
        """The mean cosine of a prompt with the memories of its project."""
        ...

    @property
    def deviation(self) -> float:
        """The standard deviation of the cosines of prompts with the memories of their project."""
        ...

    def transform(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the prompt's vector after the prompt transform, shape (dimensions,), unit length: memories are compared with this one."""
        ...


@frozen
class Shortlist:
    """The memories that the costly spaces measure, with what the pipeline read for them.

    Attributes:
        memories: the short list, best first.
        found: space -> memory id -> score, as retrieved; a space that did not find a memory has no score for it.
        relations: edges that touch the short list; empty when the graph is off.
        token_matches: compares the tokens of a text with other texts; None when the embedder knows no tokens.
        kinds: the kinds, for half-lives.
    """

    memories: tuple[Memory, ...]
    found: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    relations: tuple[Relation, ...] = ()
    token_matches: TokenMatches | None = None
    kinds: KindRegistry = BUILTIN_KINDS
