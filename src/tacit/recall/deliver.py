"""Stage 10: make sure the block is within every limit, whole. In: a pack. Out: the block and what it really holds. Pure.

The budget stage has counted frame and lines; joined lines never count more than their sum. Here the finished text is held
to the host's own cap on characters. What is too much goes from the end, a whole memory at a time, so that a closing
delimiter is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tacit.model.evidence import Candidate
from tacit.model.pack import Block, Pack
from tacit.model.sections import NO_SECTIONS
from tacit.model.trace import Drop, TracedCandidate
from tacit.recall.outcome import Outcome

TRACED_CANDIDATES = 24
TRACED_CHARS = 240
READ_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A block and the pack it was rendered from."""

    pack: Pack
    block: Block


def deliver(
    pack: Pack, *, render: Callable[[Pack], str], frame_tokens: int, cap_chars: int
) -> Outcome[Delivered]:
    """Render `pack` and cut it to `cap_chars` (0 = no cap)."""
    drops: list[Drop] = []
    while True:
        text = render(pack)
        if not cap_chars or len(text) <= cap_chars:
            break
        if not pack.items:
            if pack.sections.empty:
                break
            pack = replace(pack, sections=NO_SECTIONS)
            continue
        reason = f"over the host's cap of {cap_chars} characters"
        drops.append(Drop(memory_id=pack.items[-1].candidate.memory.id, reason=reason))
        pack = replace(pack, items=pack.items[:-1])
    tokens = frame_tokens + pack.tokens if text else 0
    ids = tuple(dict.fromkeys(item.candidate.memory.id for item in pack.items)) if text else ()
    block = Block(surface=pack.surface, text=text, tokens=tokens, memory_ids=ids)
    return Outcome(kept=Delivered(pack=pack, block=block), drops=tuple(drops))


def traced(
    scored: Sequence[Candidate], block: Block, *, most: int = TRACED_CANDIDATES
) -> tuple[TracedCandidate, ...]:
    """The `most` best candidates and everything that was injected, as the trace keeps them."""
    chosen = set(block.memory_ids)
    listed = [c for i, c in enumerate(scored) if i < most or c.memory.id in chosen]
    return tuple(
        TracedCandidate(
            memory_id=c.memory.id,
            kind=c.memory.kind,
            content=c.memory.content[:TRACED_CHARS],
            scores=c.scores,
            fused=round(c.fused, 5),
            relevance=c.relevance,
            reasons=c.reasons,
        )
        for c in listed
    )
