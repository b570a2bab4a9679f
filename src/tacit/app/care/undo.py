"""Taking back what was written. In: recorded versions. Out: the changes that bring back what stood before. Pure.

A supersession is taken back whole: what it ended holds again and the statement that ended it goes, or, with `keep_both`, stays
beside it. Nothing is deleted: taking back is a version too, and can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import InvalidInput
from tacit.model.changes import Add, Change, Edit, Retire
from tacit.model.ids import new_id
from tacit.model.memory import Memory
from tacit.ports.clock import Clock
from tacit.ports.store import Recorded

UNDONE = "undone"


def plan_undo(
    last: Recorded, beside: Sequence[Recorded], *, clock: Clock, keep_both: bool = False
) -> tuple[Change, ...]:
    """The changes that take `last` back.

    Args:
        last: the newest version of its memory.
        beside: everything recorded at the same moment.
        clock: for the time, and for ids of what is stored anew.
        keep_both: let the later statement of a supersession or a merge stay as one of its own.

    Raises:
        InvalidInput: if `keep_both` was asked for and there is nothing to keep.
    """
    now = clock.now_ms()
    if last.reason.startswith(UNDONE):
        same = [one for one in beside if one.reason == last.reason and one.before is not None]
        return tuple(_restored(one, now) for one in same)
    maker = _maker(last, beside)
    if maker.before is None:
        ended = [one for one in beside if _ended_by(one, maker.memory.id)]
        back = tuple(_restored(one, now) for one in ended)
        if keep_both:
            if not ended:
                raise InvalidInput("Nothing else would hold beside it.", hint="Leave --keep-both out.")
            return back
        reason = f"{UNDONE}: {maker.reason}"
        return (*back, Retire(memory_id=maker.memory.id, at_ms=now, reason=reason))
    if keep_both:
        return _restored(last, now), _said_apart(last, clock)
    return (_restored(last, now),)


def _maker(last: Recorded, beside: Sequence[Recorded]) -> Recorded:
    """The version that `last` came with: where it was ended by a statement added at that moment, that statement."""
    by = last.memory.validity.superseded_by
    if last.memory.status != "superseded" or by is None:
        return last
    return next((one for one in beside if one.memory.id == by and one.before is None), last)


def _ended_by(one: Recorded, memory_id: str) -> bool:
    return one.before is not None and one.memory.validity.superseded_by == memory_id


def _restored(one: Recorded, now_ms: int) -> Edit:
    assert one.before is not None
    return Edit(memory=replace(one.before, updated_at_ms=now_ms), reason=f"{UNDONE}: {one.reason}")


def _said_apart(merged: Recorded, clock: Clock) -> Add:
    """What was merged into a memory, as a memory of its own: in the words that were said."""
    before = merged.before
    assert before is not None
    said = [span for span in merged.memory.evidence if span not in before.evidence]
    if not said or merged.memory.frequency <= before.frequency:
        raise InvalidInput("Nothing was merged here that could stand alone.", hint="Leave --keep-both out.")
    now = clock.now_ms()
    apart: Memory = replace(
        before,
        id=new_id("mem", now_ms=now, entropy=clock.entropy(5)),
        content=said[-1],
        created_at_ms=now,
        updated_at_ms=now,
        validity=replace(before.validity, valid_from_ms=now, valid_to_ms=None, superseded_by=None),
        frequency=1,
        use_count=0,
        evidence=(),
        provenance=replace(before.provenance, span=said[-1]),
    )
    return Add(memory=apart, reason=f"{UNDONE}: {merged.reason}")
