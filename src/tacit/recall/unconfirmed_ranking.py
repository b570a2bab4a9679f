"""What waits for confirmation, for answers on demand. In: a query. Out: the few likely ones with their cosine.

Quarantined memories are in no index on purpose: however many somebody adds, they cannot crowd out what the user said.
They are few and read in full here; the likeliest by characters are embedded (mostly from the cache) and compared.
"""

from __future__ import annotations

from tacit.errors import ProviderError
from tacit.model.evidence import Hit, Ranking
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, Store
from tacit.recall.spaces.character import closeness

MAX_READ = 200
MAX_COMPARED = 12


def rank_unconfirmed(query: Query, *, store: Store, embedder: Embedder) -> Ranking:
    """Semantic ranking of the newest quarantined memories in scope; empty when nothing waits or nothing was asked."""
    where = MemoryFilter(statuses=("quarantined",))
    waiting = store.list_memories(where, scope=query.scope, limit=MAX_READ) if query.text.strip() else ()
    likely = sorted(waiting, key=lambda m: (-closeness(query.text, m.content), m.id))[:MAX_COMPARED]
    if not likely:
        return Ranking(space="semantic", hits=())
    try:
        vectors = embedder.embed([query.text, *(memory.content for memory in likely)])
    except ProviderError:
        return Ranking(space="semantic", hits=())
    cosines = vectors[1:] @ vectors[0]
    hits = [Hit(memory_id=m.id, score=float(c)) for m, c in zip(likely, cosines, strict=True)]
    return Ranking(space="semantic", hits=tuple(sorted(hits, key=lambda hit: (-hit.score, hit.memory_id))))
