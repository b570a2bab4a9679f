"""Memories and relations as a graph, bounded. In: a store, a scope. Out: nodes and edges. Never more than asked for."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.memory import Memory, MemoryStatus, RelationType
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, MemoryStore

LABEL_CHARS = 80
MOST_EDGES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One memory. `label` = its first words."""

    id: str
    kind: str
    label: str
    scope: str
    status: MemoryStatus
    importance: float
    use_count: int
    created_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One relation between two nodes."""

    source: str
    target: str
    type: RelationType
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Nodes, newest first, and the edges between them, strongest first. `total` = nodes there would be without a limit."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int
    truncated: bool


def graph_of(store: MemoryStore, where: MemoryFilter, *, scope: ScopeFilter, limit: int) -> Graph:
    """The newest `limit` memories of `where` and how they hang together."""
    memories = store.list_memories(where, scope=scope, limit=limit)
    total = len(memories) if len(memories) < limit else store.count_memories(where, scope=scope)
    names = {memory.id for memory in memories}
    relations = [
        one
        for one in store.relations(sorted(names), scope=scope)
        if one.weight > 0 and {one.source_id, one.target_id} <= names
    ]
    relations.sort(key=lambda one: (-one.weight, one.source_id, one.target_id, one.type))
    edges = tuple(
        Edge(source=one.source_id, target=one.target_id, type=one.type, weight=round(one.weight, 4))
        for one in relations[:MOST_EDGES]
    )
    return Graph(
        nodes=tuple(_node(memory) for memory in memories),
        edges=edges,
        total=total,
        truncated=total > len(memories) or len(relations) > MOST_EDGES,
    )


def _node(memory: Memory) -> Node:
    words = " ".join(memory.content[: 4 * LABEL_CHARS].split())
    label = words if len(words) <= LABEL_CHARS else f"{words[: LABEL_CHARS - 1]}…"
    return Node(
        id=memory.id,
        kind=memory.kind,
        label=label,
        scope=str(memory.scope),
        status=memory.status,
        importance=memory.importance,
        use_count=memory.use_count,
        created_at_ms=memory.created_at_ms,
    )
