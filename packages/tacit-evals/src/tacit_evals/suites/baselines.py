"""What simpler methods would have handed over, from the same pool and in the same run. In: a pool, items. Out: packs.

Prompt packs: BM25 (SQLite FTS5 with Porter stemming; Robertson and Zaragoza, 2009), cosine of the embedder, and their
reciprocal rank fusion (Cormack et al., 2009, k = 60). Each hands over as many as Tacit did, either to the same prompts
or the best-scored pairs of all prompts. Start packs: by kind, by breadth, newest first, at random.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tacit.model.memory import Memory
from tacit.ports.models import Embedder
from tacit_evals.metrics.counts import ItemResult

KIND_ORDER = (
    "preference", "correction", "decision", "error_pattern", "file_context", "fact", "todo", "research", "outcome",
)  # fmt: skip
"""Standing rules first: the order of the data's own baseline."""
_FUNCTION_WORDS = (
    "a an the and or of to in on at for with is are was were be been do does did has have had what when where who which "
    "how why that this it its his her their he she they i me we us you my our your by from as not about would could"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Left out of a lexical query: with them BM25 finds less, and a baseline should be as good as it gets."""
RRF_K = 60
LINE_TOKENS = 6
CHARS_PER_TOKEN = 4
RANDOM_ORDERS = 20
_WORD = re.compile(r"\w+")
Ranked = Mapping[str, float]
"""Score by memory id; what is missing scored nothing."""


class Lexical:
    """BM25 over a pool, by SQLite."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute(
            "CREATE VIRTUAL TABLE pool USING fts5(id UNINDEXED, content, tokenize='porter unicode61')"
        )
        self._base.executemany("INSERT INTO pool VALUES (?, ?)", sorted(texts.items()))

    def scores(self, text: str) -> dict[str, float]:
        """Score of every memory that shares a word with `text`."""
        terms = dict.fromkeys(word.lower() for word in _WORD.findall(text))
        words = [word for word in terms if word not in FUNCTION_WORDS] or list(terms)
        if not words:
            return {}
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._base.execute("SELECT id, -bm25(pool) FROM pool WHERE pool MATCH ?", (expression,))
        return {str(name): float(score) for name, score in rows}


class Dense:
    """Cosine over a pool."""

    def __init__(self, texts: Mapping[str, str], *, embedder: Embedder) -> None:
        self._ids = sorted(texts)
        self._embedder = embedder
        self._vectors = embedder.embed([texts[name] for name in self._ids])

    def scores(self, text: str) -> dict[str, float]:
        """Cosine of every memory."""
        values = self._vectors @ self._embedder.embed([text])[0]
        return dict(zip(self._ids, (float(value) for value in values), strict=True))


def ranked(scores: Ranked) -> list[str]:
    """Ids, best first; ties by id."""
    return sorted(scores, key=lambda name: (-scores[name], name))


def fused(rankings: Sequence[Ranked]) -> dict[str, float]:
    """Reciprocal rank fusion: sum over rankings of 1 / (60 + rank), ranks from 1."""
    total: dict[str, float] = {}
    for scores in rankings:
        for rank, name in enumerate(ranked(scores), start=1):
            total[name] = total.get(name, 0.0) + 1 / (RRF_K + rank)
    return total


def convex(rankings: Sequence[Ranked], weights: Sequence[float]) -> dict[str, float]:
    """Weighted sum of min-max scaled scores (Bruch et al., 2023); what a ranking misses counts 0 there."""
    total: dict[str, float] = {}
    for scores, weight in zip(rankings, weights, strict=True):
        low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
        for name, value in scores.items():
            total[name] = total.get(name, 0.0) + weight * (
                (value - low) / (high - low) if high > low else 1.0
            )
    return total


def top(scores: Ranked, *, without: frozenset[str], size: int) -> tuple[str, ...]:
    """The best `size` that are not in context."""
    return tuple([name for name in ranked(scores) if name not in without][:size])


def as_many_each(handed: Sequence[ItemResult], scores: Sequence[Ranked]) -> list[ItemResult]:
    """As many for every item as it was handed."""
    return [
        replace(result, pack=top(own, without=result.start, size=len(result.pack)), tokens=0, predicted={})
        for result, own in zip(handed, scores, strict=True)
    ]


def as_many_in_all(handed: Sequence[ItemResult], scores: Sequence[Ranked]) -> list[ItemResult]:
    """As many over all items: the best-scored pairs, so that the method may be silent where it is unsure."""
    pairs = sorted(
        (-value, result.item, memory)
        for result, own in zip(handed, scores, strict=True)
        for memory, value in own.items()
        if memory not in result.start
    )[: sum(len(result.pack) for result in handed)]
    packs: dict[str, list[str]] = {}
    for _, item, memory in pairs:
        packs.setdefault(item, []).append(memory)
    return [
        replace(result, pack=tuple(packs.get(result.item, ())), tokens=0, predicted={}) for result in handed
    ]


def start_orders(memories: Sequence[Memory]) -> dict[str, list[list[Memory]]]:
    """Orders of a start pack by name; `random` has several, the others one. Ties end in the id."""

    def place(memory: Memory) -> int:
        return KIND_ORDER.index(memory.kind) if memory.kind in KIND_ORDER else len(KIND_ORDER)

    def newest(memory: Memory) -> tuple[int, str]:
        return -memory.created_at_ms, memory.id

    def breadth(memory: Memory) -> float:
        return 3.0 if memory.trigger.always else memory.trigger.breadth

    by_id = sorted(memories, key=lambda memory: memory.id)
    return {
        "kind order": [sorted(by_id, key=lambda m: (place(m), newest(m)))],
        "breadth order": [sorted(by_id, key=lambda m: (-breadth(m), place(m), newest(m)))],
        "newest first": [sorted(by_id, key=newest)],
        "random order": [random.Random(seed).sample(by_id, len(by_id)) for seed in range(RANDOM_ORDERS)],
    }


def plain_cost(memory: Memory) -> float:
    """Cost of a line as the data's own baselines count it."""
    return LINE_TOKENS + len(memory.content) / CHARS_PER_TOKEN


def filled(order: Sequence[Memory], *, tokens: float, cost: Callable[[Memory], float]) -> frozenset[str]:
    """Ids of what fits into `tokens`, taken in order; what does not fit is passed over."""
    chosen: set[str] = set()
    for memory in order:
        if cost(memory) <= tokens:
            tokens -= cost(memory)
            chosen.add(memory.id)
    return frozenset(chosen)
