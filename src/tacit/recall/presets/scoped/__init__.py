"""The `scoped` preset: scope, frequency, recency and task; a start pool of every scope; tokens for every scope, then the codes of past sessions."""

from __future__ import annotations

from dataclasses import replace

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.presets.scoped.packing import pack_scoped
from tacit.recall.presets.scoped.render import (
    scoped_answer_item_line,
    scoped_answer_line,
    scoped_block,
    scoped_frame,
    scoped_item_line,
    scoped_line,
)
from tacit.recall.presets.scoped.score import scope_score, scoped_relevance
from tacit.recall.spaces.recent import freshness
from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

PER_SCOPE = 120
DIGESTS = 40
START_POOL_KEEP_MS = 15 * 60_000


def scoped_start(
    store: SearchableStore, scope: ScopeFilter, *, at_ms: int, kinds: KindRegistry, settings: RecallSettings
) -> tuple[tuple[Candidate, ...], tuple[Note, ...]]:
    """Candidates of every kind of scope with score and freshness, without relevance, and a fact per kind of scope.

    The scoped seed loads all memories of every layer; here each kind of scope brings its 120 most important ones, so that none
    crowds out another, and the newest digests come besides.
    Of two that say nearly the same the one of the better score is kept.
    """
    del settings
    removed = kinds.unknown(store.kinds(scope=scope))
    names = [*(kind.name for kind in kinds if kind.name != DIGEST), *removed]
    ids: dict[str, None] = {}
    facts: list[Note] = []
    for kind in ScopeKind:
        own = ScopeFilter.of(*(visible_scope for visible_scope in scope.scopes if visible_scope.kind is kind))
        if own.scopes:
            hits = store.search.standing(names, scope=own, limit=PER_SCOPE).hits
            ids.update(dict.fromkeys(hit.memory_id for hit in hits))
            facts.append(Note(cause=NoteCause.LISTED, detail=kind.value, count=len(hits)))
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=scope, limit=DIGESTS)
    facts.append(Note(cause=NoteCause.LISTED, detail="digests", count=len(digests)))
    candidates = [
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
    return tuple(candidates), tuple(facts)


_LAYOUT = Layout(
    frame=scoped_frame,
    line=scoped_line,
    block=scoped_block,
    item_line=scoped_item_line,
    pack=pack_scoped,
    frame_is_most=True,
)
PARTS = PresetParts(
    scores={
        "scoped": Score(
            judge=lambda query, candidate, kind, _settings: scoped_relevance(query, candidate, kind)
        )
    },
    start_pools={"score": StartPoolDesign(make=scoped_start, keep_ms=START_POOL_KEEP_MS, ranked=False)},
    layouts={
        "scoped": replace(
            _LAYOUT,
            others={
                Surface.ON_DEMAND: replace(
                    _LAYOUT, line=scoped_answer_line, item_line=scoped_answer_item_line
                )
            },
        )
    },
)
