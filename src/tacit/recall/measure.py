"""Every space's score for the short list. In: a query, the memories, what the spaces found. Out: scores by memory.

Reads what the costly spaces need (relations, token vectors, sparse scores) before it measures; the spaces themselves do
no I/O. Never orders and never drops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.evidence import Shortlist, TokenMatches
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.models import Embedder, TokenEmbedder
from tacit.ports.store import Store
from tacit.recall.spaces import SPACES
from tacit.recall.spaces.recent import freshness

Scores = tuple[tuple[str, float], ...]


def token_matches_of(embedder: Embedder) -> TokenMatches | None:
    """The token matches of an embedder (of the one behind the cache, where there is one); None when it knows no tokens."""
    inner = getattr(embedder, "inner", embedder)
    return inner.token_matches if isinstance(inner, TokenEmbedder) else None


def read_shortlist(
    query: Query,
    memories: Sequence[Memory],
    found: Mapping[str, Mapping[str, float]],
    *,
    spaces: Sequence[str],
    store: Store,
    embedder: Embedder,
    sparse: Mapping[str, float] | None = None,
) -> Shortlist:
    """The short list with what the wanted spaces need of the store, the embedder and a sparse encoder."""
    ids = [memory.id for memory in memories]
    return Shortlist(
        memories=tuple(memories),
        found=found,
        relations=store.relations(ids, scope=query.scope) if "graph" in spaces else (),
        token_matches=token_matches_of(embedder) if "late" in spaces else None,
        sparse=sparse,
    )


def measure_spaces(
    query: Query, shortlist: Shortlist, *, spaces: Sequence[str], kinds: KindRegistry
) -> dict[str, Scores]:
    """Scores by memory id, in the spaces' fixed order; a space that says nothing of a memory is left out."""
    together = {
        name: space.together(query, shortlist)
        for name, space in SPACES.items()
        if name in spaces and space.together is not None
    }
    known = {**shortlist.found, **together}
    memories = shortlist.memories
    names: list[str] = []
    columns: list[Sequence[float | None]] = []
    for name, space in SPACES.items():
        if name not in spaces:
            continue
        if space.measure is not None:
            measure = space.measure
            columns.append([measure(query, memory) for memory in memories])
        elif name == "recent":
            columns.append([_freshness(query, memory, kinds) for memory in memories])
        elif name in known:
            columns.append([known[name].get(memory.id) for memory in memories])
        else:
            continue
        names.append(name)
    return {
        memory.id: tuple(
            (name, round(value, 4)) for name, value in zip(names, row, strict=True) if value is not None
        )
        for memory, row in zip(
            memories, zip(*columns, strict=True) if columns else ((),) * len(memories), strict=True
        )
    }


def _freshness(query: Query, memory: Memory, kinds: KindRegistry) -> float:
    return freshness(at_ms=query.at_ms, since_ms=memory.updated_at_ms, kind=kinds.of_stored(memory.kind))
