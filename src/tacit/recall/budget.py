"""Stage 8: what fits. In: candidates, a budget. Out: a pack that never exceeds it. Pure.

Greedy by value with diversity over kinds: the value of the n-th memory of one kind is multiplied by 0.85 ** n, pinned
kinds come first. A memory that does not fit is shortened at a sentence end, else left out; smaller ones after it may
still fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.model.evidence import Candidate
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.trace import Drop
from tacit.reading.sentences import shorten_at_sentence
from tacit.recall.outcome import Outcome

DIVERSITY = 0.85
PATIENCE = 24
"""After so many in a row that did not fit, what is left of the budget is taken for full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a pack may cost.

    Attributes:
        tokens: budget of the whole block.
        frame_tokens: what the frame of the block costs.
        max_items: most memories.
        pinned_kinds: kinds that come first.
    """

    tokens: int
    frame_tokens: int
    max_items: int
    pinned_kinds: tuple[str, ...] = ()


def pack(
    candidates: Sequence[Candidate],
    *,
    surface: Surface,
    allowance: Allowance,
    cost: Callable[[Candidate, str], int],
) -> Outcome[Pack]:
    """Choose what to hand over.

    Args:
        candidates: best first.
        surface: for which surface.
        allowance: what it may cost.
        cost: tokens of one rendered line for (candidate, text).
    """
    left = allowance.tokens - allowance.frame_tokens
    chosen: list[PackItem] = []
    drops: list[Drop] = []
    misses = 0
    for candidate in diversified(candidates, pinned_kinds=allowance.pinned_kinds):
        memory = candidate.memory
        if len(chosen) >= allowance.max_items:
            drops.append(Drop(memory_id=memory.id, reason=f"more than {allowance.max_items} memories"))
            continue
        item = _fitted(candidate, left, cost) if misses < PATIENCE else None
        if item is None:
            misses += 1
            drops.append(Drop(memory_id=memory.id, reason=f"does not fit the {max(0, left)} tokens left"))
            continue
        misses = 0
        chosen.append(item)
        left -= item.tokens
    result = Pack(surface=surface, items=tuple(chosen), budget_tokens=allowance.tokens)
    return Outcome(kept=result, drops=tuple(drops))


def diversified(
    candidates: Sequence[Candidate], *, pinned_kinds: Sequence[str] = ()
) -> tuple[Candidate, ...]:
    """Order by value with diversity: pinned first, then relevance * 0.85 ** (how many of its kind came before)."""
    rest = sorted(candidates, key=lambda c: (-c.relevance, -c.fused, c.memory.id))
    seen: dict[str, int] = {}
    valued: list[tuple[bool, float, float, str, Candidate]] = []
    for candidate in rest:
        memory = candidate.memory
        count = seen.get(memory.kind, 0)
        seen[memory.kind] = count + 1
        first = memory.pinned or memory.kind in pinned_kinds
        valued.append(
            (not first, -candidate.relevance * DIVERSITY**count, -candidate.fused, memory.id, candidate)
        )
    valued.sort(key=lambda entry: entry[:4])
    return tuple(entry[4] for entry in valued)


def _fitted(candidate: Candidate, left: int, cost: Callable[[Candidate, str], int]) -> PackItem | None:
    text = candidate.memory.content
    tokens = cost(candidate, text)
    if tokens <= left:
        return PackItem(candidate=candidate, text=text, tokens=tokens)
    if left <= 0:
        return None
    short = shorten_at_sentence(text, lambda part: cost(candidate, part) <= left)
    if not short or short == text:
        return None
    return PackItem(candidate=candidate, text=short, tokens=cost(candidate, short), shortened=True)
