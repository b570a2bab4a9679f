"""Two questions about a recall that is done: where it left one memory out, and what another threshold would change. Pure.

`find_absence` reads the last state and the records. The stages say themselves what they dropped. What no stage ever held was lost
earlier: the scope, the status, the kinds that were asked for, or the number of places of a space, of the pool of a start pack or of
the short list.

`replay` reads a trace and asks only the gate again: what another stage dropped (trust, age, in context already, a copy) stays
dropped. A trace keeps its best candidates only, and what the gate had dropped was never compared with the context: those are
marked unsure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.frozen import frozen
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import DropCause, DropReason, SilenceCause, StageRecord, Trace
from tacit.model.why_not import Absence, RecallNumbers, SpaceRank
from tacit.recall.spaces import SPACES
from tacit.recall.stage import RecallState
from tacit.safety.trust import ENDED_STATUSES

# --- one memory


def find_absence(state: RecallState, records: Sequence[StageRecord], memory: Memory) -> Absence | None:
    """Return which stage left `memory` out of the block, and why; None = the block holds it.

    Args:
        state: the state after the last stage.
        records: what the stages kept and dropped, in order.
        memory: the memory as it is stored.
    """
    if state.delivered is not None and memory.id in state.delivered.block.memory_ids:
        return None
    # The last: pinned memories come back behind the guard, and may then find no room.
    for record in reversed(records):
        for drop in record.drops:
            if drop.memory_id == memory.id:
                return Absence(stage=record.stage, why=drop.why)
    if state.pack is not None and any(item.candidate.memory.id == memory.id for item in state.pack.items):
        return Absence(stage="deliver", silence=state.silence)
    return _why_no_candidate(state, memory)


def _why_no_candidate(state: RecallState, memory: Memory) -> Absence:
    """Return why a memory that is no candidate did not become one.

    It is not visible, not in the pool, not found, or cut from the short list; or the reason is the recall's
    silence.
    """
    if (why := why_unseen(state.query, memory)) is not None:
        return Absence(stage="retrieve", why=why)
    if state.nothing_coming and state.silence is not None:
        return Absence(stage="retrieve", silence=state.silence)
    if state.from_pool:
        cause = DropCause.OLDER_DIGEST if memory.kind == DIGEST else DropCause.NOT_IN_POOL
        return Absence(stage="retrieve", why=DropReason(cause=cause))
    place = place_of(state, memory.id)
    if place is None:
        return Absence(stage="retrieve", why=DropReason(cause=DropCause.NOT_FOUND))
    bound = len(state.order)
    return Absence(
        stage="fuse", why=DropReason(cause=DropCause.SHORT_LIST, value=float(place), bound=float(bound))
    )


def why_unseen(query: Query, memory: Memory) -> DropReason | None:
    """Return why no search for `query` can see `memory`, however near it is; None = a search can."""
    if not query.scope.allows(memory.scope, memory.lent_as):
        return DropReason(cause=DropCause.OUT_OF_SCOPE, detail=str(memory.scope))
    if memory.status in ENDED_STATUSES:
        return DropReason(cause=DropCause.ENDED, detail=memory.status)
    if memory.status == "quarantined" and query.surface is not Surface.ON_DEMAND:
        return DropReason(cause=DropCause.QUARANTINED)
    if not memory.validity.holds_at(query.at_ms):
        return DropReason(cause=DropCause.NOT_VALID)
    if query.kinds is not None and memory.kind not in query.kinds:
        return DropReason(cause=DropCause.KIND_OFF, detail=memory.kind)
    return None


def place_of(state: RecallState, memory_id: str) -> int | None:
    """Return the place, from 1, of a memory among all that the spaces found, before the short list was cut; None = no space found it."""
    ranked = state.order
    if state.searched:
        ranked = state.preset.fuse(state.rankings)
    return next((place for place, (name, _) in enumerate(ranked, start=1) if name == memory_id), None)


def numbers_of(state: RecallState, memory: Memory, *, proposed: Mapping[str, int]) -> RecallNumbers:
    """Return what the recall measured of `memory`: ranks by space, place, relevance, threshold, tokens.

    Args:
        state: after the last stage.
        memory: as it is stored.
        proposed: how many memories each space proposes under the settings; here it may have ranked more.
    """
    candidate = next((c for c in state.scored or () if c.memory.id == memory.id), None)
    item = next(
        (i for i in (state.pack.items if state.pack else ()) if i.candidate.memory.id == memory.id), None
    )
    tokens = item.tokens if item is not None else None
    if tokens is None and candidate is not None:
        tokens = state.line_tokens(candidate, state.layout.text(memory, state.query.surface))
    return RecallNumbers(
        spaces=_space_ranks(state, memory.id, dict(candidate.scores) if candidate else {}, proposed),
        place=place_of(state, memory.id),
        shortlist=0 if state.from_pool else state.preset.shortlist_at(state.query.surface),
        relevance=candidate.relevance if candidate is not None else None,
        parts=candidate.parts if candidate is not None else (),
        threshold=state.threshold,
        tokens=tokens,
        budget_tokens=state.query.budget_tokens,
    )


def _space_ranks(
    state: RecallState, memory_id: str, measured: Mapping[str, float], proposed: Mapping[str, int]
) -> tuple[SpaceRank, ...]:
    ranks: dict[str, SpaceRank] = {}
    for ranking in state.rankings:
        places = {hit.memory_id: place for place, hit in enumerate(ranking.hits, start=1)}
        scores = {hit.memory_id: hit.score for hit in ranking.hits}
        if memory_id not in places and (ranking.space in ranks or ranking.space not in SPACES):
            continue
        ranks[ranking.space] = SpaceRank(
            space=ranking.space,
            rank=places.get(memory_id),
            of=len(ranking.hits),
            proposes=proposed.get(ranking.space, 0),
            score=round(scores[memory_id], 4) if memory_id in scores else measured.get(ranking.space),
        )
    for name, score in measured.items():
        if name not in ranks:
            ranks[name] = SpaceRank(space=name, score=score)
    order = (*(name for name in ranks if name not in SPACES), *(name for name in SPACES if name in ranks))
    return tuple(ranks[name] for name in order)


# --- another threshold

OPEN_STAGES = frozenset({"budget", "deliver"})
"""Stages that drop for want of room: with fewer or more candidates they would decide anew."""


@frozen
class Replayed:
    """One recall, decided again with another threshold.

    Attributes:
        trace_id, surface, at_ms, text: of the trace.
        threshold, was: the threshold now, and the one of the trace.
        before: memory ids handed over then; in shadow mode those that would have been.
        after: memory ids that pass now, best first.
        added, gone: ids only in `after`, and only in `before`.
        unsure: of `added`, those that might have been in the context already.
        shadow: nothing was handed over then, whatever `before` says.
    """

    trace_id: str
    surface: str
    at_ms: int
    text: str
    threshold: float
    was: float
    before: tuple[str, ...]
    after: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]
    unsure: tuple[str, ...]
    shadow: bool


def chosen_ids(trace: Trace) -> tuple[str, ...]:
    """Return the ids of the memories that a recall handed over or, in shadow mode, would have handed over."""
    if trace.injected or not in_shadow(trace):
        return trace.injected
    return next((stage.kept for stage in trace.stages if stage.stage == "budget"), ())


def in_shadow(trace: Trace) -> bool:
    """Whether the recall of `trace` made a block that was not handed over only because shadow mode was on."""
    return trace.cause is SilenceCause.SHADOW


def replay(trace: Trace, *, threshold: float, most: int) -> Replayed:
    """Return what the recall of `trace` would hand over with `threshold` (0-1) and at most `most` memories.

    Only the decision of the gate changes: what other stages dropped stays dropped, except for want of room.
    """
    dropped = {
        drop.memory_id: (stage.stage, drop.why)
        for stage in trace.stages
        for drop in stage.drops
        if drop.memory_id
    }
    before = chosen_ids(trace)
    passing: list[str] = []
    unsure: list[str] = []
    for candidate in sorted(
        trace.candidates, key=lambda candidate: (-candidate.relevance, candidate.memory_id)
    ):
        memory_id = candidate.memory_id
        if candidate.relevance < threshold or memory_id in passing:
            continue
        stage, why = dropped.get(memory_id, ("", None))
        gated = why is not None and why.cause is DropCause.BELOW_THRESHOLD
        if memory_id not in before and not gated and stage not in OPEN_STAGES:
            continue
        passing.append(memory_id)
        if gated:
            unsure.append(memory_id)
    after = tuple(passing[:most])
    return Replayed(
        trace_id=trace.id,
        surface=trace.surface.value,
        at_ms=trace.at_ms,
        text=trace.text,
        threshold=threshold,
        was=trace.threshold,
        before=before,
        after=after,
        added=tuple(memory_id for memory_id in after if memory_id not in before),
        gone=tuple(memory_id for memory_id in before if memory_id not in after),
        unsure=tuple(memory_id for memory_id in unsure if memory_id in after),
        shadow=in_shadow(trace),
    )
