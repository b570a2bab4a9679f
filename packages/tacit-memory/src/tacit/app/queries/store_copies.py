"""Copies in memory of what a recall can see. In: the store, scopes, a moment. Out: a read path over the copy.

In a trial one memory may be changed. As of a moment in the past the copy holds what was known and held then; the nearest by words get
vectors, as many as one can wait for. Never writes to the real store.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.app.values import Parts
from tacit.errors import ProviderError
from tacit.model.changes import Add, Rewrite
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.reading.memory_vectors import memory_vectors
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Tools
from tacit.safety.trust import visible_levels
from tacit.text.stemming import stems

MOST_COPIED = 3000
"""Most memories that are copied: making the text indexes of the copy takes half a millisecond for each."""


class TrialStore:
    """A copy in memory of what a scope shows, to try changed versions of one memory, one after another, with `pipeline`."""

    def __init__(self, parts: Parts, *, scope: ScopeFilter, memory: Memory, at_ms: int) -> None:
        """Copy what `scope` shows at `at_ms`, and `memory` wherever it belongs."""
        self._parts = parts
        store, identity = parts.store, parts.embedder.identity
        live = MemoryFilter(statuses=("active", "quarantined"))
        seen = store.list_memories(live, scope=scope, limit=MOST_COPIED)
        memories = {found.id: found for found in seen} | {memory.id: memory}
        ids = list(memories)
        around = ScopeFilter.of(*scope.scopes, memory.scope, lent=scope.lent)
        self._store = parts.store_as_of(at_ms)
        relations = store.relations(ids, scope=around)
        self._store.apply([Add(memory=one) for one in memories.values()], relations=relations)
        vectors = store.get_vectors(ids, scope=around, identity=identity)
        if vectors:
            self._store.put_vectors(list(vectors), np.stack(list(vectors.values())), identity=identity)
        tools = Tools(
            store=self._store,
            embedder=parts.embedder,
            reranker=parts.reranker,
        )
        self._pipeline = RecallPipeline(tools, tokens=parts.tokens, kinds=parts.kinds)
        self._holds: Memory | None = None

    def pipeline(self, memory: Memory) -> RecallPipeline:
        """Put this version of the memory into the copy, and return the recall pipeline over the copy.

        Raises:
            ProviderError: if its words cannot be embedded.
        """
        if memory == self._holds:
            return self._pipeline
        embedder = self._parts.embedder
        self._holds = None
        self._store.apply([Rewrite(memory=memory)])
        vectors = memory_vectors([memory], embedder=embedder)
        self._store.put_vectors([memory.id], vectors, identity=embedder.identity)
        self._holds = memory
        return self._pipeline


# --- as of a moment

MAX_MEMORIES = 20_000
"""Most memories of a past moment that are read, newest first.

If they are more than `MOST_COPIED`, those with the most words of the question are copied.
"""
EMBEDDED = 256
"""Most memories that get vectors: those with the most words of the question, then the newest."""


def pipeline_as_of(parts: Parts, query: Query, as_of_ms: int) -> RecallPipeline:
    """Return a recall pipeline for `query` alone: over a copy in memory of what it could see at `as_of_ms`, with that moment as its time.

    Of a large store only the memories with most of the words of `query` are copied, and the nearest of these get vectors.

    Raises:
        StoreError: as the store.
    """
    where = MemoryFilter(
        statuses=("active", "quarantined"),
        as_of_ms=as_of_ms,
        sensitivities=visible_levels(by_user=query.by_user),
    )
    memories = parts.store.list_memories(where, scope=query.scope, limit=MAX_MEMORIES)
    if len(memories) > MOST_COPIED:
        asked = stems(query.text)
        by_words = sorted(memories, key=lambda memory: -len(asked & stems(memory.content)))
        memories = by_words[:MOST_COPIED]
    store = parts.store_as_of(as_of_ms)
    store.apply([Add(memory=memory) for memory in memories])
    _add_vectors(store, memories, query, parts)
    tools = Tools(store=store, embedder=parts.embedder)
    return RecallPipeline(tools, tokens=parts.tokens, kinds=parts.kinds)


def _add_vectors(store: SearchableStore, memories: Sequence[Memory], query: Query, parts: Parts) -> None:
    hits = store.search.lexical(query.text, scope=query.scope, limit=EMBEDDED).hits if query.text else ()
    by_id = {memory.id: memory for memory in memories}
    ids = list(dict.fromkeys([*(hit.memory_id for hit in hits), *by_id]))[:EMBEDDED]
    if not ids:
        return
    try:
        vectors = memory_vectors([by_id[name] for name in ids], embedder=parts.embedder)
    except ProviderError:
        return  # words alone must do
    store.put_vectors(ids, vectors, identity=parts.embedder.identity)
