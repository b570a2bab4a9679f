"""The ranking for somebody who asks: wide, word by word, with what was said around each hit.

In: a query, the store, the embedder. Out: memories in order, a score of 0-1 each, and what the spaces found. Takes some
ten milliseconds, so it is for questions and never for the hook path.

    score = mean over lexical, semantic and late of  max(0, x - floor) / mean of the ten largest,  floor = mean (lexical: 0)

Source: convex combination with equal weights (Bruch, Gai and Ingber, TOIS 2023). BM25 parts and token matches are spread to
the turns beside them (`spaces.sequence`) before they are summed. A long text (a pasted report) has its first line, the
heading, as a fourth part, and no late part: token matches of whole reports say little and cost much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate, Ranking
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.search import Search
from tacit.ports.store import Store
from tacit.recall.measure import token_matches_of
from tacit.recall.spaces import late
from tacit.recall.spaces.sequence import Neighbours, neighbours, place_of, with_neighbours
from tacit.recall.spaces.stems import content_words

WIDE = 256
"""Most memories that each space proposes."""
PER_WORD = 512
"""Most memories read for one word."""
WORDS = 48
"""Most words of a question that are looked up, first come first; each takes about half a millisecond."""
LONG_WORDS = 24
"""From here a question is a text, whose first line is its heading."""
POOL = 800
"""Most memories that are weighed."""

TOP = 10
"""A part is scaled by the mean of its best ten: one text that repeats the question must not flatten all others."""

Scores = NDArray[np.float32]


def answer(
    query: Query, rankings: Sequence[Ranking], *, spaces: Sequence[str], store: Store, embedder: Embedder
) -> tuple[tuple[str, float], ...]:
    """Weigh all memories that share a word with the query or are among the nearest by meaning.

    Returns:
        (memory id, score >= 0), best first, ties by id.
    """
    words = content_words(query.text)[:WORDS]
    by_word = _by_word(store.search, query, words) if "lexical" in spaces else ()
    near_in_meaning = {h.memory_id: h.score for r in rankings if r.space == "semantic" for h in r.hits}
    memories = _pool(query, store, _summed(by_word), near_in_meaning)
    if not memories:
        return ()
    names = [memory.id for memory in memories]
    near = neighbours([place_of(memory) if "sequence" in spaces else None for memory in memories])
    parts: list[Scores] = []
    if by_word:
        table = np.array([[scores.get(name, 0.0) for scores in by_word] for name in names], np.float32)
        parts.append(_share(with_neighbours(table, near).sum(axis=1), floor=0.0))
        heading = _heading(query.text, words)
        if heading:
            parts.append(_share(table[:, heading].sum(axis=1), floor=0.0))
    if near_in_meaning:
        cosines = [[max(0.0, near_in_meaning.get(name, 0.0))] for name in names]
        parts.append(_share(with_neighbours(np.array(cosines, np.float32), near)[:, 0]))
    matched = _late(query, memories, near, embedder) if "late" in spaces and len(words) < LONG_WORDS else None
    if matched is not None:
        parts.append(_share(matched))
    whole = np.mean(parts, axis=0) if parts else np.zeros(len(names), np.float32)
    order = zip(names, map(float, whole), strict=True)
    return tuple(sorted(order, key=lambda entry: (-entry[1], entry[0])))


def in_order(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Candidates by their place in the answer, each as relevant as its share of the best answer says.

    Whether there is an answer at all is judged by the best candidate's own evidence; what stands beside it in the talk may
    share no word with the question and is handed over with it: relevance = max(own, best own * score / best score).
    """
    best_own = max((c.relevance for c in candidates), default=0.0)
    best_score = max((c.fused for c in candidates), default=0.0)
    raised = [
        replace(c, relevance=round(max(c.relevance, best_own * c.fused / best_score), 4))
        if best_score > 0
        else c
        for c in candidates
    ]
    return tuple(sorted(raised, key=lambda c: (-c.fused, -c.relevance, c.memory.id)))


def _heading(text: str, words: Sequence[str]) -> list[int]:
    """Which words of a long text stand in its first line; none for a short one, or when all do."""
    if len(words) < LONG_WORDS:
        return []
    head = set(content_words(text.strip().split("\n", 1)[0]))
    columns = [number for number, word in enumerate(words) if word in head]
    return columns if len(columns) < len(words) else []


def _summed(by_word: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for scores in by_word:
        for name, score in scores.items():
            total[name] = total.get(name, 0.0) + score
    return total


def _by_word(search: Search, query: Query, words: Sequence[str]) -> tuple[dict[str, float], ...]:
    found: list[dict[str, float]] = []
    for word in words:
        ranking = search.lexical(word, scope=query.scope, limit=PER_WORD)
        found.append({hit.memory_id: hit.score for hit in ranking.hits})
    return tuple(found)


def _pool(
    query: Query, store: Store, lexical: Mapping[str, float], semantic: Mapping[str, float]
) -> tuple[Memory, ...]:
    most = max(lexical.values(), default=1.0)
    rough = {name: lexical.get(name, 0.0) / most + semantic.get(name, 0.0) for name in {*lexical, *semantic}}
    best = sorted(rough, key=lambda name: (-rough[name], name))[:POOL]
    return store.get(best, scope=query.scope)


def _late(query: Query, memories: Sequence[Memory], near: Neighbours, embedder: Embedder) -> Scores | None:
    matches = token_matches_of(embedder)
    if matches is None:
        return None
    own = matches(query.text[: late.MAX_CHARS], [memory.content[: late.MAX_CHARS] for memory in memories])
    return late.weighed(with_neighbours(own, near), own) if own.shape[1] else None


def _share(values: Scores, *, floor: float | None = None) -> Scores:
    lowest = float(values.mean()) if floor is None else floor
    above: Scores = np.maximum(values - np.float32(lowest), np.float32(0))
    most = float(np.sort(above)[-TOP:].mean()) if len(above) else 0.0
    return (above / np.float32(most)).astype(np.float32) if most > 0 else above
