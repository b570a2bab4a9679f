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
from tacit.model.trace import Drop, DropCause, DropReason, TracedCandidate
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
        why = DropReason(cause=DropCause.HOST_CAP, bound=cap_chars)
        drops.append(Drop(memory_id=pack.items[-1].candidate.memory.id, why=why))
        pack = replace(pack, items=pack.items[:-1])
    tokens = frame_tokens + pack.tokens if text else 0
    ids = tuple(dict.fromkeys(item.candidate.memory.id for item in pack.items)) if text else ()
    block = Block(surface=pack.surface, text=text, tokens=tokens, memory_ids=ids)
    return Outcome(kept=Delivered(pack=pack, block=block), drops=tuple(drops))


def traced(
    scored: Sequence[Candidate], block: Block, *, most: int = TRACED_CANDIDATES
) -> tuple[TracedCandidate, ...]:
    """All candidates as the trace keeps them: the `most` best and what was injected whole, the others by their numbers."""
    chosen = set(block.memory_ids)
    found: list[TracedCandidate] = []
    for place, candidate in enumerate(scored):
        memory = candidate.memory
        whole = place < most or memory.id in chosen
        found.append(
            TracedCandidate(
                memory_id=memory.id,
                kind=memory.kind,
                content=memory.content[:TRACED_CHARS] if whole else "",
                scores=candidate.scores if whole else (),
                fused=round(candidate.fused, 5),
                relevance=candidate.relevance,
                reasons=candidate.reasons if whole else (),
            )
        )
    return tuple(found)
