"""Renews vectors that another embedder made. In: a store and the embedder of today. Out: how many were renewed.

Works in batches: an interruption keeps what is done, the next run goes on from there. No lock or transaction is held
while the model works. Never changes a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.model.memory import Memory
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryStore
from tacit.reading.memory_vectors import embedded_texts, memory_vectors

LISTED = 1024
"""Memories without a vector that are asked for at once."""


def reindex(
    store: MemoryStore,
    embedder: Embedder,
    *,
    batch: int = 64,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Compute and store a vector for every memory that has none of `embedder`'s identity. Blocks; works in batches, so a later run continues.

    Args:
        store: the store.
        embedder: makes the vectors.
        batch: memories per call of the model.
        progress: called before the first batch and after every one with (renewed so far, renewed and missing).
        stop: asked before every batch; if it returns true, no further batch is done.

    Returns:
        How many vectors were stored.

    Raises:
        ProviderError: if the embedder fails; batches before it are kept.
        StoreError: as the store; batches before it are kept.
    """
    done = 0
    whole = store.count_pending(embedder.identity) if progress else 0
    if progress:
        progress(0, whole)
    tried: set[str] = set()
    while True:
        # Finding them reads over all that have a vector: many are asked for at once.
        pending = store.pending_vectors(embedder.identity, limit=LISTED)
        fresh = [memory for memory in pending if memory.id not in tried]
        if not fresh:
            return done
        tried.update(memory.id for memory in fresh)
        for start in range(0, len(fresh), batch):
            if stop():
                return done
            part = fresh[start : start + batch]
            vectors = memory_vectors(part, embedder=embedder)
            rows = _still_so(store, part)
            ids = [part[row].id for row in rows]
            store.put_vectors(ids, vectors[rows], identity=embedder.identity)
            done += len(rows)
            if progress:
                progress(done, max(whole, done))


def _still_so(store: MemoryStore, memories: Sequence[Memory]) -> list[int]:
    """Return the places of the memories that are still stored with the same texts: others were changed or removed while the model worked."""
    there = {memory.id: memory for memory in store.get([each.id for each in memories], scope=store.scopes())}
    return [
        row
        for row, memory in enumerate(memories)
        if memory.id in there and embedded_texts(there[memory.id]) == embedded_texts(memory)
    ]
