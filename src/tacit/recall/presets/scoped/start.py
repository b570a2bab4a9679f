"""The start pool of a preset that scores it: the most important memories of every scope, and the newest digests.

In: store, scope, time. Out: candidates without relevance, for the score stage. Source: the scoped seed loads all memories of
every layer; here each kind of scope brings its 120 most important ones, so that none crowds out another.
"""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.note import Note, NoteCause
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.presets.scoped.score import scope_score
from tacit.recall.spaces.recent import freshness

PER_SCOPE = 120
DIGESTS = 40


def scoped_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Candidates of every kind of scope with score and freshness, and a fact per kind of scope.

    Of two that say nearly the same the one of the better score is kept.
    """
    del settings
    removed = kinds.unknown(store.kinds(scope=scope))
    names = [*(kind.name for kind in kinds if kind.name != DIGEST), *removed]
    ids: dict[str, None] = {}
    facts: list[Note] = []
    for kind in ScopeKind:
        own = ScopeFilter.of(*(one for one in scope.scopes if one.kind is kind))
        if own.scopes:
            hits = store.search.standing(names, scope=own, limit=PER_SCOPE).hits
            ids.update(dict.fromkeys(hit.memory_id for hit in hits))
            facts.append(Note(cause=NoteCause.LISTED, detail=kind.value, count=len(hits)))
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=scope, limit=DIGESTS)
    facts.append(Note(cause=NoteCause.LISTED, detail="digests", count=len(digests)))
    found = [
        Candidate(
            memory=memory,
            fused=round(scope_score(memory, allowed=scope.scopes, at_ms=at_ms, task=""), 4),
            scores=(
                (
                    "recent",
                    round(
                        freshness(
                            at_ms=at_ms, since_ms=memory.updated_at_ms, kind=kinds.of_stored(memory.kind)
                        ),
                        4,
                    ),
                ),
            ),
        )
        for memory in (*store.get(list(ids), scope=scope), *digests)
    ]
    return tuple(found), tuple(facts)
