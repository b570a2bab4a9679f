"""The search over memories for the lists of the page, the command line and MCP, and for `GET /v1/search`.

In: words as somebody types them, a filter, a scope. Out: memories, best first. Words count in any order, inflected, as beginnings
of longer words and misspelled; meaning counts beside them where it stands out. The same question of the same store gives the
same answer. Not for recall: nothing is judged, nothing is handed over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.errors import EmbedderMismatch, ProviderError
from tacit.model.evidence import Hit, Ranking
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.retrieve import reciprocal_rank

MAX_HITS = 200
"""Most memories that one search finds."""
MAX_SEMANTIC_HITS = 20
"""Most of them that are found by meaning."""
MIN_DEVIATIONS_ABOVE_MEAN = 2.5
"""Deviations above the mean similarity of the scope from which a meaning counts."""
MIN_SIMILARITY = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A memory found by words or by meaning: its places in the two rankings (1 = first), and their fused score."""

    memory: Memory
    score: float
    by_words: int | None
    by_meaning: int | None


class MemorySearch:
    """Searches one store. Safe to use from several threads."""

    def __init__(self, store: SearchableStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def find(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int = MAX_HITS
    ) -> tuple[SearchHit, ...]:
        """The memories that fit `where`, best first; ties by id. `where.text` and `where.after` are not looked at."""
        where = replace(where, text=None, after=None, order="created")
        vector = None
        if where.as_of_ms is None and (where.statuses is None or "active" in where.statuses):
            try:
                vector = self._embedder.embed([text])[0]
            except ProviderError:
                vector = None  # words alone must do
        with self._store.at_once():
            words = Ranking(
                space="words", hits=self._store.find_memories(text, where, scope=scope, limit=MAX_HITS)
            )
            near: tuple[Hit, ...] = ()
            if vector is not None:
                try:
                    near = _above_background(
                        self._store.search.semantic(
                            vector, identity=self._embedder.identity, scope=scope, limit=MAX_HITS
                        )
                    )
                except EmbedderMismatch:
                    near = ()
            memories = self._store.get([hit.memory_id for hit in near], scope=scope)
            fitting = {memory.id for memory in memories if where.fits(memory)}
            meaning = Ranking(
                space="semantic",
                hits=tuple(hit for hit in near if hit.memory_id in fitting)[:MAX_SEMANTIC_HITS],
            )
            scores = dict(reciprocal_rank((words, meaning), {})[:limit])
            by_id = {memory.id: memory for memory in self._known(list(scores), where, scope)}
        by_words = {hit.memory_id: place for place, hit in enumerate(words.hits, start=1)}
        by_meaning = {hit.memory_id: place for place, hit in enumerate(meaning.hits, start=1)}
        return tuple(
            SearchHit(
                memory=by_id[name],
                score=round(score, 6),
                by_words=by_words.get(name),
                by_meaning=by_meaning.get(name),
            )
            for name, score in scores.items()
            if name in by_id
        )

    def _known(self, ids: list[str], where: MemoryFilter, scope: ScopeFilter) -> tuple[Memory, ...]:
        """The memories as they are now, or as they were at the time asked for."""
        current = self._store.get(ids, scope=scope)
        if where.as_of_ms is None:
            return current
        everything = self._store.scopes()
        earlier: list[Memory] = []
        for memory_id in ids:
            versions = self._store.recorded(scope=everything, limit=10_000, memory_id=memory_id)
            earlier += [next(v.memory for v in versions if v.at_ms <= where.as_of_ms)]
        return tuple(earlier)


def _above_background(ranking: Ranking) -> tuple[Hit, ...]:
    """The hits that are nearer than memories of this scope usually are."""
    background = ranking.background
    least = MIN_SIMILARITY
    if background is not None and background.total > MAX_SEMANTIC_HITS:
        least = max(least, background.mean + MIN_DEVIATIONS_ABOVE_MEAN * background.deviation)
    return tuple(hit for hit in ranking.hits if hit.score >= least)
