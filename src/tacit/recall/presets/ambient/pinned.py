"""Ambient awareness: memories of pinned kinds, handed over whatever is asked. Reads the store; scores nothing.

Source: the ambient seed, "opt-in pinned types": so many of each pinned kind, the newest or the most important first.
Validity and trust apply; thresholds, age and the re-injection delay do not.
"""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import PINNED, Candidate
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.safety.trust import why_not_on

PINNED_SURFACES = (Surface.START, Surface.PROMPT)
_SPARE = 4
"""Asked for beyond the limit, for those that trust or validity takes out."""


def add_pinned(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Pinned memories before what the guard let through."""
    pinned = pinned_candidates(state.query, store=tools.store, settings=state.settings)
    known = {candidate.memory.id for candidate in pinned}
    rest = (candidate for candidate in state.passed or () if candidate.memory.id not in known)
    return Outcome(kept=state.changed(passed=(*pinned, *rest)))


def pinned_candidates(
    query: Query, *, store: SearchableStore, settings: RecallSettings
) -> tuple[Candidate, ...]:
    """At most `pinned_limit` memories of every pinned kind, kinds in the order of the settings; () where it is off."""
    if not settings.ambient_enabled or query.surface not in PINNED_SURFACES:
        return ()
    found: list[Memory] = []
    for kind in settings.pinned_kinds:
        asked = settings.pinned_limit + _SPARE
        if settings.pinned_sort == "recent":
            memories = store.list_memories(MemoryFilter(kinds=(kind,)), scope=query.scope, limit=asked)
        else:
            hits = store.search.standing([kind], scope=query.scope, limit=asked).hits
            memories = store.get([hit.memory_id for hit in hits], scope=query.scope)
        fit = [
            m
            for m in memories
            if m.validity.holds_at(query.at_ms)
            and why_not_on(m, query.surface, session=query.session) is None
        ]
        found += fit[: settings.pinned_limit]
    return tuple(
        Candidate(memory=memory, fused=1.0 - place / 1000, relevance=1.0, reasons=(PINNED,))
        for place, memory in enumerate(found)
    )
