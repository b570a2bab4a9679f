"""Answering as of a moment in the past. In: the store, a moment, a question. Out: a read path over what was known and held then.

The versions of that moment go into a store in memory; the nearest by words get vectors, as many as one can wait for. Never
writes to the real store.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.app.parts import Parts
from tacit.errors import ProviderError
from tacit.model.changes import Add
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.reading.memory_vectors import memory_vectors
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Tools
from tacit.safety.trust import visible_levels

MAX_MEMORIES = 20_000
"""Memories of one moment that are looked at, newest first."""
EMBEDDED = 256
"""Memories that are compared by meaning: those with the most words of the question, then the newest."""


def pipeline_as_of(parts: Parts, query: Query, as_of_ms: int) -> RecallPipeline:
    """A read path that knows what was known at `as_of_ms`, and whose time it is.

    Raises:
        StoreError: as the store.
    """
    where = MemoryFilter(
        statuses=("active", "quarantined"),
        as_of_ms=as_of_ms,
        sensitivities=visible_levels(by_user=query.by_user),
    )
    memories = parts.store.list_memories(where, scope=query.scope, limit=MAX_MEMORIES)
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
