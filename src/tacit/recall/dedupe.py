"""Stage 7: nothing twice. In: candidates, what the session holds. Out: the rest, best first. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import PINNED, Candidate
from tacit.model.kinds import DIGEST
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.spaces.character import closeness
from tacit.recall.stage import Outcome, RecallState
from tacit.text.tokens import WORD

SAME_WORDS = 0.8
SAME_CHARACTERS = 0.9
LIKELY_WORDS = 0.6
"""Pairs that share fewer of their words are not looked at: no copy of real text is so far apart."""
PAIRS_UP_TO = 12
"""So few are compared pair by pair: preparing to leave pairs out would take longer."""
_NEGATIONS = frozenset({"not", "never", "no", "don", "without"})


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """The set of words of `text`, case folded."""
    return frozenset(WORD.findall(text.casefold()))


def near_identical(left: str, right: str) -> bool:
    """Whether two statements say the same in almost the same words; a differing number or negation is no copy."""
    a, b = words_of(left), words_of(right)
    if not a or not b:
        return left == right
    common = len(a & b)
    shared = common / (len(a) + len(b) - common)
    if shared < LIKELY_WORDS or any(word.isdigit() or word in _NEGATIONS for word in a ^ b):
        return False
    return shared >= SAME_WORDS or closeness(left, right) >= SAME_CHARACTERS


def drop_known(state: RecallState) -> Outcome[RecallState]:
    """What the context does not hold yet, without copies; pinned memories may come again where their blocks leave the history."""
    passed, context = state.passed or (), state.context
    why_known: dict[str, DropReason] = {}
    for candidate in passed:
        in_context = context.pinned_in_context if PINNED in candidate.reasons else context.in_context
        if why := in_context(candidate.memory):
            why_known[candidate.memory.id] = why
    done = dedupe(passed, in_context=why_known, digest_apart=state.layout.digest_apart)
    return Outcome(kept=state.changed(fresh=done.kept), drops=done.drops)


def dedupe(
    candidates: Sequence[Candidate],
    *,
    in_context: Mapping[str, DropReason],
    digest_apart: bool = False,
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what the context holds and copies within the pack.

    Args:
        candidates: best first; of two copies the first stays.
        in_context: memory id -> why the session's context already holds it.
        digest_apart: a digest is no copy of the memory that it repeats, since the layout sets it apart.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    seen_ids: set[str] = set()
    texts = tuple(
        c.memory.id if digest_apart and c.memory.kind == DIGEST else c.memory.content for c in candidates
    )
    first_of = copies_among(texts)
    # A copy of what the context holds need not come either, wherever in the list it stands.
    by_text = {
        first_of[number]: candidate.memory.id
        for number, candidate in enumerate(candidates)
        if in_context.get(candidate.memory.id)
    }
    for number, candidate in enumerate(candidates):
        memory = candidate.memory
        if memory.id in seen_ids:
            drops.append(Drop(memory_id=memory.id, why=DropReason(cause=DropCause.REPEATED)))
            continue
        seen_ids.add(memory.id)
        why = in_context.get(memory.id)
        if why:
            drops.append(Drop(memory_id=memory.id, why=why))
            continue
        first = first_of[number]
        if first in by_text:
            drops.append(
                Drop(memory_id=memory.id, why=DropReason(cause=DropCause.COPY, detail=by_text[first]))
            )
            continue
        by_text[first] = memory.id
        kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))


def without_similar(
    candidates: Sequence[Candidate],
    *,
    vectors: Mapping[str, NDArray[np.float32]],
    window: Sequence[str],
    threshold: float,
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what lies nearer than `threshold` (cosine) to a better candidate or to what the context holds.

    Args:
        candidates: best first.
        vectors: memory id -> unit vector, of the candidates and of the window; one without is kept.
        window: ids of memories that the context holds. Pinned memories are compared with the pack alone.
        threshold: above it two memories say the same. Source: the ambient seed's third stage of deduplication.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    context_ids = [name for name in window if name in vectors]
    places = {name: place for place, name in enumerate(vectors)}
    rows = np.stack(list(vectors.values())) if vectors else np.zeros((0, 0), np.float32)
    all_cosines = rows @ rows.T
    for candidate in candidates:
        memory_id = candidate.memory.id
        compared_ids = [c.memory.id for c in kept if c.memory.id in vectors]
        if PINNED not in candidate.reasons:
            compared_ids += [name for name in context_ids if name != memory_id]
        if memory_id in vectors and compared_ids:
            cosines = all_cosines[places[memory_id], [places[name] for name in compared_ids]]
            nearest = int(np.argmax(cosines))
            if float(cosines[nearest]) > threshold:
                why = DropReason(
                    cause=DropCause.SIMILAR, value=float(cosines[nearest]), detail=compared_ids[nearest]
                )
                drops.append(Drop(memory_id=memory_id, why=why))
                continue
        kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))


@lru_cache(maxsize=32)
def copies_among(texts: tuple[str, ...]) -> tuple[int, ...]:
    """For each text the number of the first one that it is a copy of, its own when it is none.

    Kept for the last few lists, because every session of a project starts from the same one.
    """
    if len(texts) <= PAIRS_UP_TO:
        return _by_pairs(texts)
    copies = _Copies(texts)
    originals: list[int] = []
    for number, text in enumerate(texts):
        first = copies.find(text)
        if first is None:
            copies.add(text, number)
        originals.append(number if first is None else first)
    return tuple(originals)


def _by_pairs(texts: Sequence[str]) -> tuple[int, ...]:
    """The same, pair by pair."""
    firsts: list[int] = []
    originals: list[int] = []
    for number, text in enumerate(texts):
        first = next((earlier for earlier in firsts if near_identical(text, texts[earlier])), number)
        if first == number:
            firsts.append(number)
        originals.append(first)
    return tuple(originals)


class _Copies:
    """Finds copies without comparing every pair.

    Prefix filter (Chaudhuri, Ganti and Kaushik, ICDE 2006): sort the words of each text rarest first; two texts whose
    Jaccard similarity is at least t share a word among the first n - ceil(t * n) + 1 of each.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._frequency = Counter(word for text in texts for word in words_of(text))
        self._by_word: dict[str, list[tuple[int, str]]] = {}
        self._wordless: dict[str, int] = {}

    def _prefix(self, text: str) -> list[str]:
        words = sorted(words_of(text), key=lambda word: (self._frequency[word], word))
        return words[: len(words) - math.ceil(LIKELY_WORDS * len(words)) + 1]

    def find(self, text: str) -> int | None:
        """Number of the first text added that `text` is a copy of, or None."""
        prefix = self._prefix(text)
        if not words_of(text):
            return self._wordless.get(text)
        likely = {entry for word in prefix for entry in self._by_word.get(word, ())}
        return next((number for number, other in sorted(likely) if near_identical(text, other)), None)

    def add(self, text: str, number: int) -> None:
        """Make `text` known under `number`."""
        if not words_of(text):
            self._wordless.setdefault(text, number)
        for word in self._prefix(text):
            self._by_word.setdefault(word, []).append((number, text))
