"""A copy in memory of what a recall can see, where one memory may be changed. In: the store, scopes. Out: a read path over the copy.

Never writes to the real store.
"""

from __future__ import annotations

import numpy as np

from tacit.app.parts import Parts
from tacit.model.changes import Add, Edit
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.reading.memory_vectors import memory_vectors
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Tools

MOST_COPIED = 3000
"""A scope with more memories is not copied: a search in the copy reads every one of them."""


class TrialStore:
    """The copy, made once for a scope. `pipeline` may be called with several versions of the memory in turn."""

    def __init__(self, parts: Parts, *, scope: ScopeFilter, memory: Memory, at_ms: int) -> None:
        """Copy what `scope` shows at `at_ms`, and `memory` wherever it belongs."""
        self._parts = parts
        store, identity = parts.store, parts.embedder.identity
        live = MemoryFilter(statuses=("active", "quarantined"))
        seen = store.list_memories(live, scope=scope, limit=MOST_COPIED)
        memories = {found.id: found for found in seen} | {memory.id: memory}
        ids = list(memories)
        around = ScopeFilter.of(*scope.scopes, memory.scope)
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
            sparse=parts.sparse,
        )
        self._pipeline = RecallPipeline(tools, tokens=parts.tokens, kinds=parts.kinds)

    def pipeline(self, memory: Memory) -> RecallPipeline:
        """The read path over the copy, in which the memory of this id reads `memory`.

        Raises:
            ProviderError: if its words cannot be embedded.
        """
        embedder = self._parts.embedder
        self._store.apply([Edit(memory=memory)])
        vectors = memory_vectors([memory], embedder=embedder)
        self._store.put_vectors([memory.id], vectors, identity=embedder.identity)
        return self._pipeline
