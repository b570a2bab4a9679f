"""What a pack with sections needs beside its candidates. In: a query, the store. Out: which memories are recent, which was last.

The pipeline calls this before the pure stages; what it finds goes on as a value. Never decides what is handed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tacit.errors import ProviderError
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, Store
from tacit.recall.sections.divergence import WINDOW_MEMORIES, in_window

DIGESTS_READ = 5
LAST_SESSION = "last session"
"""Reason of the digest that tells of the last session: it is handed over for that, not for what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionInputs:
    """What was found: the recent memories by id, and the digest of the last session."""

    recent: Mapping[str, Memory] = field(default_factory=dict[str, Memory])
    last_session: Memory | None = None

    @property
    def last_id(self) -> str:
        """Id of the digest of the last session, or empty."""
        return self.last_session.id if self.last_session else ""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all of them, without repeats."""
        last = (self.last_session.id,) if self.last_session else ()
        return tuple(dict.fromkeys((*self.recent, *last)))


def probe(query: Query, *, store: Store, sections: Collection[str]) -> SectionInputs:
    """Read what `sections` need for `query`; nothing that is newer than it."""
    recent: dict[str, Memory] = {}
    if "divergence" in sections:
        newest = store.list_memories(MemoryFilter(), scope=query.scope, limit=WINDOW_MEMORIES)
        recent = {m.id: m for m in newest if m.created_at_ms <= query.at_ms and in_window(m, query)}
    last: Memory | None = None
    if "session" in sections:
        digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=query.scope, limit=DIGESTS_READ)
        others = [
            m
            for m in digests
            if m.created_at_ms <= query.at_ms
            and f"{m.provenance.host}/{m.provenance.session_id}" != query.session
        ]
        last = max(others, key=lambda m: (m.updated_at_ms, m.id), default=None)
    return SectionInputs(recent=recent, last_session=last)


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
