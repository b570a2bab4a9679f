"""What the context or a better candidate says already, by meaning. Reads the store and embeds; the rule is `dedupe`'s.

In: candidates that passed, ids of what the context holds. Out: those that say something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import ProviderError
from tacit.model.evidence import Candidate
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.store import Store
from tacit.recall.dedupe import without_similar
from tacit.recall.outcome import Outcome
from tacit.recall.retrieve import QUERY_CHARS


def dissimilar(
    fresh: Outcome[tuple[Candidate, ...]],
    query: Query,
    *,
    store: Store,
    embedder: Embedder,
    window: Sequence[str],
    threshold: float,
) -> Outcome[tuple[Candidate, ...]]:
    """Drop what lies nearer than `threshold`; all of it stays where nothing can be embedded."""
    if not fresh.kept:
        return fresh
    held = {memory.id: memory.content for memory in store.get(window, scope=query.scope)}
    texts = held | {c.memory.id: c.memory.content for c in fresh.kept}
    try:
        rows = embedder.embed([text[:QUERY_CHARS] for text in texts.values()])
    except ProviderError as error:
        return replace(fresh, notes=(*fresh.notes, f"not compared by meaning: {error}"))
    vectors = dict(zip(texts, rows, strict=True))
    apart = without_similar(fresh.kept, vectors=vectors, window=tuple(held), threshold=threshold)
    return Outcome(kept=apart.kept, drops=(*fresh.drops, *apart.drops), notes=fresh.notes)
