"""What becomes of a captured statement, given what is stored already. In: a prepared memory and its neighbours.

Out: one change with its reason. Pure: no I/O, no clock, no randomness. Never lets a lower trust tier replace a higher
one, and never lets an older statement replace a newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tacit.capture.reconcile.compare import Verdict, compare, take_apart
from tacit.model.changes import Add, Change, Contradict, Merge, Skip, Supersede
from tacit.model.memory import Memory
from tacit.safety.trust import may_supersede

MAX_EVIDENCE = 8
MERGE_IMPORTANCE = 0.1
"""A repeated statement gains importance; source: the typed seed, section 4.3 (+0.1 on the scale 0-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A stored memory near the statement; `cosine` of their vectors, 0 where unknown."""

    memory: Memory
    cosine: float = 0.0


def reconcile(memory: Memory, neighbours: Sequence[Neighbour], *, near_duplicate_cosine: float) -> Change:
    """Decide what happens to `memory`.

    The first that holds: it says the same as a neighbour (Merge, or Skip when it is the same utterance read again);
    it changes, reverses or replaces one (Supersede, or Contradict when trust forbids that, or an Add that is over
    already when the neighbour is the newer one); else Add. Neighbours are tried from the nearest; ties by id.
    """
    ordered = sorted(neighbours, key=lambda n: (-n.cosine, n.memory.id))
    verdicts: list[tuple[Neighbour, Verdict]] = [
        (near, compare(memory.content, near.memory.content, cosine=near.cosine, near=near_duplicate_cosine))
        for near in ordered
        if near.memory.status in ("active", "quarantined") and near.memory.id != memory.id
    ]
    for near, verdict in verdicts:
        if verdict == "same":
            return _same(memory, near.memory)
    for near, verdict in verdicts:
        comparable = near.memory.scope == memory.scope and near.memory.status == "active"
        if comparable and _conflicts(memory, near.memory, verdict):
            return _conflict(memory, near.memory, verdict)
    return Add(memory=memory)


def _same(memory: Memory, stored: Memory) -> Change:
    mine, theirs = memory.provenance, stored.provenance
    spans = {theirs.span, *stored.evidence}
    if mine.session_id and mine.span in spans and mine.session_id == theirs.session_id:
        return Skip(content=memory.content, reason=f"captured already as {stored.id}")
    if mine.session_id and (mine.host, mine.session_id) == (theirs.host, theirs.session_id):
        return Skip(content=memory.content, reason=f"said before in this session: {stored.id}")
    if mine.source == theirs.source and not mine.session_id and mine.span == theirs.span:
        return Merge(memory=stored, reason=f"stored already as {stored.id}")
    evidence = stored.evidence
    if mine.span and mine.span not in spans:
        evidence = (*evidence, mine.span)[-MAX_EVIDENCE:]
    vouched = replace(theirs, tier=max(theirs.tier, mine.tier))
    merged = replace(
        stored,
        frequency=stored.frequency + 1,
        importance=min(1.0, max(stored.importance, memory.importance) + MERGE_IMPORTANCE),
        confidence=max(stored.confidence, memory.confidence),
        pinned=stored.pinned or memory.pinned,
        evidence=evidence,
        updated_at_ms=max(stored.updated_at_ms, memory.updated_at_ms),
        provenance=vouched,
        status="active" if "active" in (stored.status, memory.status) else stored.status,
        trigger=memory.trigger if stored.trigger.empty else stored.trigger,
    )
    return Merge(memory=merged, reason=f"says the same as {stored.id}")


def _conflicts(memory: Memory, stored: Memory, verdict: Verdict) -> bool:
    """Whether the verdict is firm enough to end one of the two."""
    if verdict in ("reversed", "replaced", "value_changed"):
        return verdict != "value_changed" or _same_sort(memory, stored)
    # One word differs: "run tests before pushing" beside "run lint before pushing" is no change of mind, unless the
    # statement itself says that it changes something.
    return verdict == "slot_changed" and (
        memory.kind == "correction" or take_apart(memory.content).marks_change
    )


def _same_sort(memory: Memory, stored: Memory) -> bool:
    """Two error patterns or file descriptions that differ in a name speak of two things."""
    separate = {"error_pattern", "file_context", "digest", "todo", "event", "outcome"}
    return memory.kind not in separate and stored.kind not in separate


_WHY: dict[Verdict, str] = {
    "reversed": "says the opposite of",
    "replaced": "replaces what is said in",
    "value_changed": "gives another value than",
    "slot_changed": "corrects",
}


def _conflict(memory: Memory, stored: Memory, verdict: Verdict) -> Change:
    why = f"{_WHY[verdict]} {stored.id}"
    ruling = may_supersede(memory.provenance.tier, stored.provenance.tier)
    if not ruling:
        return Contradict(memory=memory, other_id=stored.id, reason=f"{why}, but {ruling.reason}")
    if memory.status == "quarantined":
        return Contradict(memory=memory, other_id=stored.id, reason=f"{why}, but nobody confirmed it")
    since, until = memory.validity.valid_from_ms, stored.validity.valid_from_ms
    if not since or not until or (since == until and not _later_turn(memory, stored)):
        return Contradict(memory=memory, other_id=stored.id, reason=f"{why}; neither is known to be newer")
    if since < until:
        if verdict == "replaced":
            return Add(memory=memory)  # the newer statement may well ask for the old thing again
        past = replace(memory.validity, valid_to_ms=until, superseded_by=stored.id)
        return Add(
            memory=replace(memory, validity=past, status="superseded"), reason=f"older; {stored.id} holds now"
        )
    return Supersede(memory=memory, old_id=stored.id, at_ms=since, reason=why)


def _later_turn(memory: Memory, stored: Memory) -> bool:
    mine, theirs = memory.provenance, stored.provenance
    return (mine.host, mine.session_id) == (theirs.host, theirs.session_id) and mine.turn > theirs.turn
