"""Minimum values of a candidate besides its relevance: kind, similarity, importance. Part of stage 5. Pure.

In: scored candidates, the query, the settings. Out: those that reach the floors, with reasons for the others. Answers on
demand are not held to them: somebody asked. Without any floor set nothing is looked at.

Sources: the typed seed, sections 2.2 (kinds of a task, least importance), 2.3 (least similarity by type, what is certain),
6.1 (enabled types); the ambient seed's `contextual_min_score`, read as a ratio to the best cosine with an absolute floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.config.settings import Floors, RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.memory import Relation
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.presets.typed.score import is_enabled, serves_task, similarity_of, task_of, type_of
from tacit.recall.spaces import graph
from tacit.recall.stage import Outcome, RecallState

_REST = "*"
REAL_HITS = ("lexical", "entity", "error")
"""Spaces whose find stands for itself where no cosine was measured."""
_NO_FLOORS = Floors()
_NO_NAMES: Mapping[str, str] = {}
_BY_COSINE = (DropCause.BELOW_SIMILARITY, DropCause.NO_HIT)


def reach_floors(
    scored: Sequence[Candidate],
    *,
    query: Query,
    settings: RecallSettings,
    named: Mapping[str, str] = _NO_NAMES,
    relations: Sequence[Relation] = (),
) -> Outcome[tuple[Candidate, ...]]:
    """Keep what reaches every floor; what is certain passes the threshold of its surface too.

    A memory below the least cosine passes if it shares a rare name with the prompt (`named`), or if the graph found it and one of
    `relations` joins it to a memory that passed.
    """
    floors = settings.floors
    kinds = enabled_kinds(query.surface, settings)
    if query.surface is Surface.ON_DEMAND or (not kinds and floors == _NO_FLOORS):
        return Outcome(kept=tuple(scored))
    searched = query.surface not in (Surface.START, Surface.COMPACTION)
    best = max((similarity_of(query, c) for c in scored if not kinds or c.memory.kind in kinds), default=0.0)
    kept: list[Candidate] = []
    drops: list[Drop] = []
    for candidate in scored:
        reason = _kind_objection(
            candidate.memory.kind, query, kinds, by_task=floors.by_task, searched=searched
        )
        if not reason and searched:
            reason = _objection(candidate, query, floors, best)
        name = named.get(candidate.memory.id, "")
        if reason and reason.cause in _BY_COSINE and name:
            kept.append(replace(candidate, reasons=(*candidate.reasons, f"name: {name}")))
        elif reason:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        else:
            kept.append(_made_certain(candidate, query, settings) if searched else candidate)
    return _with_related(scored, kept, drops, relations)


def _with_related(
    scored: Sequence[Candidate],
    kept: Sequence[Candidate],
    drops: Sequence[Drop],
    relations: Sequence[Relation],
) -> Outcome[tuple[Candidate, ...]]:
    """What passed, with the memories that the graph leads to from them, in the order of `scored`."""
    passed = {candidate.memory.id: candidate for candidate in kept}
    far = {d.memory_id for d in drops if d.why.cause in _BY_COSINE}
    joined = {
        to_id
        for relation in relations
        for from_id, to_id in (
            (relation.source_id, relation.target_id),
            (relation.target_id, relation.source_id),
        )
        if from_id in passed and to_id in far
    }
    for candidate in scored:
        memory_id = candidate.memory.id
        if memory_id in joined and (candidate.score("graph") or 0.0) >= graph.HIGH:
            passed[memory_id] = replace(candidate, reasons=(*candidate.reasons, "related"))
    return Outcome(
        kept=tuple(passed[c.memory.id] for c in scored if c.memory.id in passed),
        drops=tuple(drop for drop in drops if drop.memory_id not in passed),
    )


def floors(state: RecallState) -> Outcome[RecallState]:
    """The candidates that reach the floors."""
    relations = state.shortlist.relations if state.shortlist is not None else ()
    done = reach_floors(
        state.scored or (), query=state.query, settings=state.settings, named=state.named, relations=relations
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops)


def of_enabled_kinds(query: Query, settings: RecallSettings) -> Query:
    """The query for the kinds that are handed over unasked, so that no other kind takes their places in the search."""
    if query.surface is Surface.ON_DEMAND or query.kinds is not None:
        return query
    return replace(query, kinds=enabled_kinds(query.surface, settings) or None)


def enabled_kinds(surface: Surface, settings: RecallSettings) -> tuple[str, ...]:
    """Kinds that `surface` hands over unasked; () = all."""
    if surface is Surface.FAILURE and settings.failure_kinds:
        return settings.failure_kinds
    return settings.kinds


def _kind_objection(
    kind: str, query: Query, kinds: Sequence[str], *, by_task: bool, searched: bool
) -> DropReason | None:
    if kinds and kind not in kinds and not (by_task and is_enabled(kind, kinds)):
        return DropReason(cause=DropCause.KIND_OFF, detail=kind)
    if by_task and searched and query.surface is not Surface.FAILURE:
        task = task_of(query)
        if not serves_task(kind, task, kinds):
            return DropReason(cause=DropCause.KIND_NOT_FOR_TASK, detail=f"{kind}, {task}")
    return None


def _objection(candidate: Candidate, query: Query, floors: Floors, best: float) -> DropReason | None:
    memory = candidate.memory
    if memory.importance < floors.importance:
        return DropReason(cause=DropCause.BELOW_IMPORTANCE, value=memory.importance, bound=floors.importance)
    unmeasured = candidate.score("semantic") is None
    similar = similarity_of(query, candidate)
    default_floor = floors.similarity.get(type_of(memory.kind), floors.similarity.get(_REST, 0.0))
    least = floors.similarity.get(memory.kind, default_floor)
    if similar < least:
        return DropReason(cause=DropCause.BELOW_SIMILARITY, value=similar, bound=least, detail=memory.kind)
    if not floors.ratio and not floors.cosine:
        return None
    if unmeasured and similar == 0.0:
        real = any((candidate.score(space) or 0.0) > 0 for space in REAL_HITS)
        return None if real else DropReason(cause=DropCause.NO_HIT)
    least = max(floors.ratio * best, floors.cosine)
    return (
        DropReason(cause=DropCause.BELOW_SIMILARITY, value=similar, bound=least) if similar < least else None
    )


def _made_certain(candidate: Candidate, query: Query, settings: RecallSettings) -> Candidate:
    certain = settings.floors.certain
    if not certain or similarity_of(query, candidate) < certain:
        return candidate
    threshold = float(getattr(settings.thresholds, query.surface.value, 0.0))
    reasons = (*candidate.reasons, "certain")
    return replace(candidate, relevance=max(candidate.relevance, threshold), reasons=reasons)
