"""Stage 6: who may appear. In: scored candidates. Out: those that trust, validity, age, freshness and threshold let through. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tacit.model.evidence import PINNED, Candidate
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.stage import Outcome, RecallState
from tacit.safety.trust import ENDED_STATUSES, why_not_on

STALE_EPISODE = 0.25
"""An episodic memory whose freshness fell below this (two half-lives) is handed over on demand only."""

_IN_CONTEXT = (Surface.START, Surface.PROMPT, Surface.ACTION, Surface.FAILURE)
"""Surfaces of a session that still has in its context what its own digest tells, also where it is resumed."""


def guard(state: RecallState) -> Outcome[RecallState]:
    """The candidates that may and should be handed over, in the order given."""
    preset, asked_for = state.preset, state.query.surface is Surface.ON_DEMAND
    done = admit(
        state.reached if state.reached is not None else state.scored or (),
        query=state.query,
        kinds=state.kinds,
        threshold=state.threshold,
        enabled=() if asked_for else state.settings.kinds,
        is_enabled=preset.enabled,
        ages_out=preset.ages_out,
    )
    return Outcome(kept=state.changed(passed=done.kept), drops=(*state.withheld, *done.drops))


def admit(
    candidates: Sequence[Candidate],
    *,
    query: Query,
    kinds: KindRegistry,
    threshold: float,
    enabled: Collection[str] = (),
    is_enabled: Callable[[str, Collection[str]], bool] = lambda kind, enabled: kind in enabled,
    ages_out: bool = True,
) -> Outcome[tuple[Candidate, ...]]:
    """Keep candidates that may and should be handed over, in the order given.

    Args:
        candidates: with their relevance.
        query: what is asked.
        kinds: the kinds.
        threshold: least relevance.
        enabled: names of the kinds that come unasked; () = all.
        is_enabled: whether a kind is one of them.
        ages_out: whether an episodic memory that is too old for its kind stays away.
    """
    kept: list[Candidate] = []
    drops: list[Drop] = []
    if query.surface is Surface.PROMPT and query.situation.nothing_coming:
        return Outcome(kept=(), drops=(Drop(memory_id="", why=DropReason(cause=DropCause.NOTHING_COMING)),))
    for candidate in candidates:
        if enabled and PINNED not in candidate.reasons and not is_enabled(candidate.memory.kind, enabled):
            off = DropReason(cause=DropCause.KIND_OFF, detail=candidate.memory.kind)
            drops.append(Drop(memory_id=candidate.memory.id, why=off))
            continue
        reason = _objection(candidate, query=query, kinds=kinds, threshold=threshold, ages_out=ages_out)
        if reason:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        else:
            kept.append(candidate)
    return Outcome(kept=tuple(kept), drops=tuple(drops))


def may_start(candidate: Candidate, state: RecallState) -> bool:
    """Whether a start block may hold the memory, whatever its need."""
    query, sure = replace(state.query, surface=Surface.START), candidate.judged(1.0, ())
    return not _objection(sure, query=query, kinds=state.kinds, threshold=0.0, ages_out=state.preset.ages_out)


def _objection(
    candidate: Candidate, *, query: Query, kinds: KindRegistry, threshold: float, ages_out: bool
) -> DropReason | None:
    memory = candidate.memory
    past = query.about_past and memory.status in ENDED_STATUSES
    if not (past or memory.validity.holds_at(query.at_ms)):
        return DropReason(cause=DropCause.NOT_VALID)
    ruling = why_not_on(memory, query.surface, session=query.session, by_user=query.by_user, ended=past)
    ruling = ruling or query.elsewhere(memory)
    if ruling is not None:
        return ruling
    if memory.kind == DIGEST and memory.session == query.session and query.surface in _IN_CONTEXT:
        return DropReason(cause=DropCause.OWN_DIGEST)
    kind = kinds.of_stored(memory.kind)
    on_demand = query.surface is Surface.ON_DEMAND
    if ages_out and kind.episodic and not on_demand and (candidate.score("recent") or 0.0) < STALE_EPISODE:
        return DropReason(cause=DropCause.TOO_OLD)
    if candidate.freshness in ("gone", "moved") and not kind.standing and not on_demand:
        return DropReason(cause=DropCause.CODE_GONE)
    least = max(threshold, kind.relevance_floor)
    if candidate.relevance < least:
        return DropReason(cause=DropCause.BELOW_THRESHOLD, value=candidate.relevance, bound=least)
    return None
