"""The start pool of the `refresh` preset: a list for each section, so that no kind crowds out another. In: store, scope, time. Out: candidates.

Source: the refresh seed reads the project's memories and sorts them into sections by type. Of each section the newest are read,
the pinned ones and the most needed of them come first, and of all digests the last one.
"""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.need import by_marginal_need, shipped_need
from tacit.recall.presets.refresh.render import SECTIONS, section_of

SECTION_READ = 100
SECTION_ITEMS = 30
"""Most memories of one section that are looked at, newest first, and that may come."""


def sections_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Candidates of all sections, the most needed of each section first, and a fact per section."""
    del settings
    names = {*(kind.name for kind in kinds), *kinds.unknown(store.kinds(scope=scope))}
    found: list[Candidate] = []
    facts: list[Note] = []
    for title, _ in SECTIONS:
        own = tuple(sorted(name for name in names if section_of(name) == title))
        listed = store.list_memories(MemoryFilter(kinds=own), scope=scope, limit=SECTION_READ)
        memories = _last_digest([memory for memory in listed if memory.validity.holds_at(at_ms)])
        needs = shipped_need().needs(memories, kinds=kinds, at_ms=at_ms)
        ordered = sorted(by_marginal_need(memories, needs), key=lambda one: not one.memory.pinned)
        found += [
            Candidate(memory=one.memory, scores=(("recent", 1.0),), fused=one.need, relevance=one.gain)
            for one in ordered[:SECTION_ITEMS]
        ]
        facts.append(
            Note(
                cause=NoteCause.LISTED, detail=title, count=min(len(ordered), SECTION_ITEMS), of=len(ordered)
            )
        )
    return tuple(found), tuple(facts)


def _last_digest(memories: list[Memory]) -> tuple[Memory, ...]:
    digests = [memory for memory in memories if memory.kind == DIGEST]
    last = sorted(digests, key=lambda memory: (memory.updated_at_ms, memory.id))[-1:]
    return (*(memory for memory in memories if memory.kind != DIGEST), *last)
