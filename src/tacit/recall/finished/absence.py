"""Where a finished recall left one memory out, and what it measured of it. In: its last state, its records. Out: values. Pure.

The stages say themselves what they dropped. What no stage ever held was lost earlier: the scope, the status, the kinds that were
asked for, or the number of places of a space, of the pool of a start pack or of the short list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import DropCause, DropReason, StageRecord
from tacit.model.why_not import Absence, RecallNumbers, SpaceRank
from tacit.recall.fuse import FUSE_WEIGHTS, FUSIONS
from tacit.recall.spaces import SPACES
from tacit.recall.stage import RecallState
from tacit.safety.trust import ENDED_STATUSES


def find_absence(state: RecallState, records: Sequence[StageRecord], memory: Memory) -> Absence | None:
    """The stage that left `memory` out of the block; None = the block holds it.

    Args:
        state: after the last stage.
        records: what the stages kept and dropped, in order.
        memory: as it is stored.
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
    return _never_held(state, memory)


def _never_held(state: RecallState, memory: Memory) -> Absence:
    """Why no stage had the memory as a candidate."""
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
    """Why no search for `query` can see `memory`, however near it is; None = a search can."""
    if not query.scope.allows(memory.scope):
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
    """Place of a memory in the order of all that were found, from 1; None = nothing found it."""
    ranked = state.order
    if state.source == "search":
        ranked = FUSIONS[state.settings.fuse](state.rankings, FUSE_WEIGHTS)
    return next((place for place, (name, _) in enumerate(ranked, start=1) if name == memory_id), None)


def numbers_of(state: RecallState, memory: Memory, *, proposed: Mapping[str, int]) -> RecallNumbers:
    """What was measured of `memory`.

    Args:
        state: after the last stage.
        memory: as it is stored.
        proposed: how many memories each space proposes where the settings hold, which may be fewer than it ranks here.
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
        shortlist=0 if state.from_pool else state.settings.shortlist,
        relevance=candidate.relevance if candidate is not None else None,
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
