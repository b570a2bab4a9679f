"""What speaks for a candidate: one score per space, never mixed before the score stage."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory in one ranking. Higher is better; comparable only within its space."""

    memory_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one space found, best first, ties broken by id. `complete` False = cut off by the deadline."""

    space: str
    hits: tuple[Hit, ...]
    took_ms: float = 0.0
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory with its evidence.

    Attributes:
        memory: the memory.
        scores: (space, score) for every space that measured it, in the spaces' fixed order.
        fused: order score of the fuse stage; orders, never gates.
        relevance: calibrated probability (0-1) that injecting it helps; 0 until scored.
        reasons: short words for the trace (`intent: commit`, `lexical: golangci-lint`).
    """

    memory: Memory
    scores: tuple[tuple[str, float], ...] = ()
    fused: float = 0.0
    relevance: float = 0.0
    reasons: tuple[str, ...] = ()

    def score(self, space: str) -> float | None:
        """Score in `space`, or None where it was not measured."""
        return next((value for name, value in self.scores if name == space), None)
