"""The `typed` preset: five weighted parts of relevance, fixed lists at the start, sections by type."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.presets.typed.render import typed_block, typed_frame, typed_line, typed_text
from tacit.recall.presets.typed.score import (
    DAY_MS,
    RULES,
    is_enabled,
    start_relevance,
    typed_query,
    typed_relevance,
)
from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

START_POOL_KEEP_MS = 5 * 60_000
"""Source: section 8.3 of the typed seed."""
MOST_READ = 400
"""Memories of one list that are looked at, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    name: str
    kinds: tuple[str, ...]
    limit: int
    days: int | None = None


LISTS: tuple[_List, ...] = (
    _List(name="preferences", kinds=tuple(sorted(RULES)), limit=20),
    _List(name="decisions", kinds=("decision",), limit=10, days=30),
    _List(name="files", kinds=("file_context",), limit=10),
    _List(name="errors", kinds=("error_pattern",), limit=5, days=60),
    _List(name="research", kinds=("research",), limit=5, days=90),
)


def typed_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Candidates of the lists with their scores, best first, and a fact per list.

    Source: the typed seed, section 8.1: preferences (20), decisions of the last 30 days (10), file contexts (10, the most
    used), error patterns of the last 60 days (5); each only where the settings turn its type on. Research, where it is on, has
    a section and a share at the start in the seed (3.3, 5.2) and no list: it gets that of error patterns, 5 of two half-lives.
    Ties are broken by memory id.
    """
    weights, enabled = settings.typed, settings.kinds
    candidates: list[Candidate] = []
    facts: list[Note] = []
    for listing in LISTS:
        names = tuple(kind for kind in listing.kinds if is_enabled(kind, enabled))
        if not names:
            continue
        memories = store.list_memories(MemoryFilter(kinds=names), scope=scope, limit=MOST_READ)
        fit = [m for m in memories if m.validity.holds_at(at_ms) and _within(m, at_ms, listing.days)]
        scored = [(start_relevance(m, kinds.of_stored(m.kind), at_ms=at_ms, weights=weights), m) for m in fit]
        scored.sort(
            key=lambda entry: (-entry[0], -entry[1].importance, -entry[1].use_count, entry[1].newest_first)
        )
        candidates += [
            Candidate(memory=m, scores=(("recent", 1.0),), fused=s, relevance=s)
            for s, m in scored[: listing.limit]
        ]
        facts.append(
            Note(
                cause=NoteCause.LISTED,
                detail=listing.name,
                count=min(len(scored), listing.limit),
                of=len(scored),
            )
        )
    candidates.sort(key=lambda c: (-c.relevance, c.memory.newest_first))
    return tuple(candidates), tuple(facts)


def _within(memory: Memory, at_ms: int, days: int | None) -> bool:
    return days is None or at_ms - memory.validity.valid_from_ms <= days * DAY_MS


PARTS = PresetParts(
    scores={
        "typed": Score(
            judge=lambda query, candidate, kind, settings: typed_relevance(
                query, candidate, kind, weights=settings.typed
            ),
            ask=typed_query,
        )
    },
    start_pools={"typed": StartPoolDesign(make=typed_start, keep_ms=START_POOL_KEEP_MS)},
    layouts={
        "typed": Layout(
            frame=typed_frame, line=typed_line, block=typed_block, text=typed_text, frame_is_most=True
        )
    },
)
