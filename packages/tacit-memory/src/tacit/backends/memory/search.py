"""Search over plain Python values: slow, short and obviously right. Used by `InMemoryStore`, and to judge other backends.

In: the memories and vectors of that store. Out: rankings. Never caches, never approximates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tacit.backends.text import clean_text, clean_value, linked_entities, memory_code_words
from tacit.errors import EmbedderMismatch, InvalidInput
from tacit.model.evidence import Background, Hit, Ranking, WordTable
from tacit.model.ids import newest_id_first
from tacit.model.memory import Entity, Memory
from tacit.model.scope import ScopeFilter
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.text.stemming import porter_stem
from tacit.text.tokens import code_query_words, fold_word, index_words, query_words

ALWAYS_SCORE = 0.25
"""What a trigger that always applies scores in the intent space."""

_K1, _B = 1.2, 0.75


class _Data(Protocol):
    """The parts of a store that the search reads."""

    def active(self, scope: ScopeFilter) -> list[Memory]:
        """Active memories in scope, whether or not they hold now."""
        ...

    def vectors(self) -> Mapping[str, tuple[EmbedderIdentity, Vectors]]:
        """Stored vectors by memory id."""
        ...

    def now_ms(self) -> int:
        """The time at which memories must hold."""
        ...


def _stems(text: str) -> list[str]:
    return [porter_stem(fold_word(word)) for word in index_words(text)]


class InMemorySearch:
    """The Search port in memory."""

    def __init__(self, data: _Data) -> None:
        self._data = data

    def semantic(
        self,
        vector: Vectors,
        *,
        identity: EmbedderIdentity,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port."""
        if vector.shape != (identity.dimensions,):
            raise InvalidInput(
                f"The vector has shape {vector.shape}; {identity} needs ({identity.dimensions},)."
            )
        stored = self._data.vectors()
        in_scope = [memory for memory in self._data.active(scope) if memory.id in stored]
        fitting = [memory for memory in in_scope if stored[memory.id][0] == identity]
        if in_scope and not fitting:
            stored_identity = stored[in_scope[0].id][0]
            raise EmbedderMismatch(
                f"The stored vectors belong to {stored_identity}, the query to {identity}.",
                hint="Run `tacit reindex` to renew them.",
            )
        scores = {memory.id: float(np.dot(stored[memory.id][1], vector)) for memory in fitting}
        ranking = self._rank("semantic", fitting, scores, limit, kinds)
        matches = list(scores.values())
        if not matches:
            return ranking
        background = Background(
            count=len(matches),
            mean=float(np.mean(matches)),
            deviation=float(np.std(matches)),
            total=len(matches),
        )
        return replace(ranking, background=background)

    def lexical(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """See the port."""
        query_stems = {stem for word in query_words(clean_text(text)) for stem in _stems(word)}
        memories = self._data.active(scope)
        documents = {memory.id: _stems(memory.search_text) for memory in memories}
        return self._rank("lexical", memories, _bm25(query_stems, documents), limit, kinds)

    def word_table(
        self,
        words: Sequence[str],
        *,
        scope: ScopeFilter,
        limit: int,
        also: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        common: bool = True,
    ) -> WordTable:
        """See the port. All words are read, with `common` or without."""
        del common
        kind_names = None if kinds is None else {clean_text(kind) for kind in kinds}
        memories = {
            memory.id: memory
            for memory in self._data.active(scope)
            if self._holds(memory) and (kind_names is None or memory.kind in kind_names)
        }
        everything = max(len(self._data.active(scope)), 1)
        columns = [
            {hit.memory_id: hit.score for hit in self.lexical(word, scope=scope, limit=everything).hits}
            for word in words
        ]
        sums = {name: math.fsum(column.get(name, 0.0) for column in columns) for name in memories}
        order = sorted(memories, key=lambda name: (-sums[name], newest_id_first(name)))
        best = [name for name in order if sums[name] > 0][: max(limit, 0)]
        chosen = [name for name in order if name in {*best, *map(clean_text, also)}] if limit > 0 else []
        table = [[column.get(name, 0.0) for column in columns] for name in chosen]
        total = len(self._data.active(scope))
        return WordTable(
            ids=tuple(chosen),
            scores=np.array(table, np.float32).reshape(len(chosen), len(columns)),
            weights=np.array(
                [
                    _idf(total, len(column)) if query_words(clean_text(word)) else 0.0
                    for word, column in zip(words, columns, strict=True)
                ],
                np.float32,
            ),
        )

    def code(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """See the port."""
        code_words = set(code_query_words(clean_text(text)))
        memories = self._data.active(scope)
        documents = {memory.id: list(memory_code_words(memory)) for memory in memories}
        return self._rank("code", memories, _bm25(code_words, documents), limit, kinds)

    def entity(
        self,
        entities: Sequence[Entity],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port. idf = ln(1 + N / (1 + df)), N and df counted over the active memories in scope."""
        query_entities = set(clean_value(tuple(entities)))
        memories = self._data.active(scope)
        links = {memory.id: set(linked_entities(memory)) & query_entities for memory in memories}
        counts = Counter(entity for matched in links.values() for entity in matched)
        idf = {entity: math.log(1 + len(memories) / (1 + counts[entity])) for entity in query_entities}
        whole = math.fsum(idf.values())
        scores: dict[str, float] = {}
        for memory in memories:
            if matched := links[memory.id]:
                scores[memory.id] = math.fsum(idf[entity] for entity in matched) / whole
        return self._rank("entity", memories, scores, limit, kinds)

    def intent(
        self,
        actions: Sequence[tuple[str, float]],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port."""
        probability: dict[str, float] = {}
        for name, value in actions:
            probability[name] = max(value, probability.get(name, 0.0))
        memories = self._data.active(scope)
        scores: dict[str, float] = {}
        for memory in memories:
            products = [weight * probability.get(name, 0.0) for name, weight in memory.trigger.actions]
            anywhere = memory.trigger.always or memory.trigger.places_only
            best = max([*products, ALWAYS_SCORE if anywhere else 0.0])
            if best > 0:
                scores[memory.id] = best
        return self._rank("intent", memories, scores, limit, kinds)

    def standing(
        self, kinds: Sequence[str], *, scope: ScopeFilter, limit: int, broadest: bool = False
    ) -> Ranking:
        """See the port."""
        memories = [m for m in self._data.active(scope) if m.kind in set(kinds) and self._holds(m)]
        memories.sort(
            key=lambda memory: (
                not memory.pinned,
                -memory.trigger.reach if broadest else 0.0,
                -memory.importance,
                newest_id_first(memory.id),
            )
        )
        hits = tuple(Hit(memory_id=m.id, score=m.importance) for m in memories[: max(limit, 0)])
        return Ranking(space="standing", hits=hits)

    def error(self, signature: str, *, scope: ScopeFilter, limit: int) -> Ranking:
        """See the port."""
        clean_signature = clean_text(signature)
        matches = [
            m for m in self._data.active(scope) if clean_signature and m.error_signature == clean_signature
        ]
        return self._rank("error", matches, {memory.id: 1.0 for memory in matches}, limit, None)

    def _holds(self, memory: Memory) -> bool:
        return memory.validity.holds_at(self._data.now_ms())

    def _rank(
        self,
        space: str,
        memories: Iterable[Memory],
        scores: Mapping[str, float],
        limit: int,
        kinds: Sequence[str] | None,
    ) -> Ranking:
        kind_names = None if kinds is None else {clean_text(kind) for kind in kinds}
        hits = [
            Hit(memory_id=m.id, score=scores[m.id])
            for m in memories
            if m.id in scores and self._holds(m) and (kind_names is None or m.kind in kind_names)
        ]
        hits.sort(key=lambda hit: (-hit.score, newest_id_first(hit.memory_id)))
        return Ranking(space=space, hits=tuple(hits[: max(limit, 0)]))


def _idf(total: int, holding: int) -> float:
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _bm25(query_words: Iterable[str], documents: Mapping[str, list[str]]) -> dict[str, float]:
    """Okapi BM25 (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75), a word counted once per memory, idf never negative.

    idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)); documents without any asked-for term get no score.
    """
    total = sum(len(terms) for terms in documents.values())
    mean = total / len(documents) if total else 1.0
    term_sets = {name: set(terms) for name, terms in documents.items()}
    scores: dict[str, float] = {}
    for term in sorted(set(query_words)):
        frequency = sum(1 for terms in term_sets.values() if term in terms)
        idf = _idf(len(documents), frequency)
        for name, terms in term_sets.items():
            if term in terms:
                length = len(documents[name]) / mean
                scores[name] = scores.get(name, 0.0) + idf * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * length))
    return scores
