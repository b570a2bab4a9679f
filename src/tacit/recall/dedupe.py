"""Stage 7: nothing twice. In: candidates, what the session holds. Out: the rest, best first. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tacit.model.evidence import Candidate
from tacit.model.trace import Drop
from tacit.recall.outcome import Outcome
from tacit.recall.spaces.character import closeness

SAME_WORDS = 0.8
SAME_CHARACTERS = 0.9
_WORD = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def near_identical(left: str, right: str) -> bool:
    """Whether two statements say the same in almost the same words; a differing number or negation is no copy."""
    a, b = _words(left), _words(right)
    if not a or not b:
        return left == right
    odd = a ^ b
    if any(w.isdigit() or w in ("not", "never", "no", "don", "without") for w in odd):
        return False
    return len(a & b) / len(a | b) >= SAME_WORDS or closeness(left, right) >= SAME_CHARACTERS


def dedupe(
    candidates: Sequence[Candidate], *, in_context: Mapping[str, str]
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what the context holds and copies within the pack.

    Args:
        candidates: best first; of two copies the first stays.
        in_context: memory id -> why the session's context already holds it.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    seen: set[str] = set()
    for candidate in candidates:
        memory = candidate.memory
        if memory.id in seen:
            drops.append(Drop(memory_id=memory.id, reason="twice in the list"))
            continue
        seen.add(memory.id)
        held = in_context.get(memory.id, "")
        if held:
            drops.append(Drop(memory_id=memory.id, reason=held))
            continue
        copy = next((k for k in kept if near_identical(k.memory.content, memory.content)), None)
        if copy is not None:
            drops.append(Drop(memory_id=memory.id, reason=f"says what {copy.memory.id} says"))
            continue
        kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))
