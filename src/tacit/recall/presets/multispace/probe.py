"""What a pack with sections needs beside its candidates. In: a query, the store. Out: which memories are recent, which was last.

A probe of the fuse stage; what it finds goes on as values. Never decides what is handed over.
"""

from __future__ import annotations

from collections.abc import Collection

from tacit.errors import ProviderError
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, MemoryStore
from tacit.recall.presets.multispace.divergence import WINDOW_MEMORIES, in_window
from tacit.recall.retrieve import QUERY_CHARS
from tacit.recall.stage import Outcome, RecallState, Tools

DIGESTS_READ = 5


def read_sections(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """For a prompt what the `sections` of the settings need: the recent window and the digest of the last session.

    Recent memories that the semantic ranking left out get their cosine.
    """
    query, sections = state.query, state.settings.sections
    if not sections or query.surface is not Surface.PROMPT:
        return Outcome(kept=state)
    recent = recent_memories(query, store=tools.store) if "divergence" in sections else {}
    last = last_session(query, store=tools.store) if "session" in sections else None
    scores = state.space_scores
    if (ranked := scores.get("semantic")) is not None:
        missing = [memory for name, memory in recent.items() if name not in ranked]
        near = cosines(query, missing, embedder=tools.embedder, chars=QUERY_CHARS)
        scores = {**scores, "semantic": {**ranked, **near}}
    last_id = last.id if last else ""
    return Outcome(kept=state.changed(recent=recent, last_session=last_id, space_scores=scores))


def recent_memories(query: Query, *, store: MemoryStore) -> dict[str, Memory]:
    """Memories of the recent window, newest first; nothing that is newer than the query."""
    newest = store.list_memories(MemoryFilter(), scope=query.scope, limit=WINDOW_MEMORIES)
    return {m.id: m for m in newest if m.created_at_ms <= query.at_ms and in_window(m, query)}


def last_session(query: Query, *, store: MemoryStore) -> Memory | None:
    """The newest digest of another session; None where there is none."""
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=query.scope, limit=DIGESTS_READ)
    others = [
        m
        for m in digests
        if m.created_at_ms <= query.at_ms
        and f"{m.provenance.host}/{m.provenance.session_id}" != query.session
    ]
    return max(others, key=lambda m: (m.updated_at_ms, m.id), default=None)


def cosines(
    query: Query, memories: Collection[Memory], *, embedder: Embedder, chars: int
) -> dict[str, float]:
    """Cosine of the words with each memory, for those that the store's ranking left out; {} when it cannot be had."""
    if not memories or not query.text.strip():
        return {}
    try:
        vectors = embedder.embed([query.text[:chars], *(memory.content for memory in memories)])
    except ProviderError:
        return {}
    values = vectors[1:] @ vectors[0]
    return {memory.id: float(value) for memory, value in zip(memories, values, strict=True)}
