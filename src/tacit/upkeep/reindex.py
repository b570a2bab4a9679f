"""Renews vectors that another embedder made. In: a store and the embedder of today. Out: how many were renewed.

Works in batches: an interruption keeps what is done, the next run goes on from there. No lock or transaction is held
while the model works. Never changes a memory.
"""

from __future__ import annotations

from collections.abc import Callable

from tacit.ports.models import Embedder
from tacit.ports.store import Store


def reindex(
    store: Store,
    embedder: Embedder,
    *,
    batch: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Make a vector for every memory that has none of `embedder`'s identity.

    Args:
        store: the store.
        embedder: makes the vectors.
        batch: memories per call of the model.
        progress: called before the first batch and after every one with (renewed so far, renewed and missing).

    Returns:
        How many vectors were stored.

    Raises:
        ProviderError: if the embedder fails; batches before it are kept.
        StoreError: as the store; batches before it are kept.
    """
    done = 0
    if progress:
        progress(0, store.count_pending(embedder.identity))
    tried: set[str] = set()
    while True:
        pending = store.pending_vectors(embedder.identity, limit=batch)
        fresh = [memory for memory in pending if memory.id not in tried]
        if not fresh:
            return done
        tried.update(memory.id for memory in fresh)
        vectors = embedder.embed([memory.content for memory in fresh])
        store.put_vectors([memory.id for memory in fresh], vectors, identity=embedder.identity)
        done += len(fresh)
        if progress:
            progress(done, done + store.count_pending(embedder.identity))
