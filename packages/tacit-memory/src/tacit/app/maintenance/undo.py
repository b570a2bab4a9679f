"""Taking a change back. In: the versions that one change wrote. Out: the changes that bring back what stood before. Pure.

A change is taken back whole, or for one memory of it together with what that memory replaced. What was replaced holds again
and what was added is retired or, with `keep_both`, stays beside it. Nothing is deleted: taking back is a change too, and can
be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.errors import InvalidInput
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Edit, Retire
from tacit.model.ids import new_id
from tacit.model.memory import Memory
from tacit.ports.clock import Clock
from tacit.ports.store import Recorded


def plan_undo(versions: Sequence[Recorded], *, clock: Clock, keep_both: bool = False) -> tuple[Change, ...]:
    """The changes that take `versions` back; they are the whole change, or `connected_versions` ones of it.

    Args:
        versions: what one change wrote.
        clock: for the time, and for ids of what is stored anew.
        keep_both: let the later statement of a supersession or a merge stay as one of its own.

    Raises:
        InvalidInput: if `keep_both` was asked for and there is nothing to keep.
    """
    now = clock.now_ms()
    restored = tuple(_restored(version, now) for version in versions if version.before is not None)
    added = [version for version in versions if version.before is None]
    if keep_both:
        if added and restored:
            return restored
        if added or len(versions) != 1:
            raise InvalidInput(
                "There is no second statement to keep.", hint="Run the command without --keep-both."
            )
        return (*restored, _split_merged(versions[0], clock))
    retired = (Retire(memory_id=version.memory.id, at_ms=now, reason=_reason(version)) for version in added)
    return (*restored, *retired)


def connected_versions(versions: Sequence[Recorded], memory_id: str) -> tuple[Recorded, ...]:
    """The version of `memory_id` and those of what it replaced or was replaced by, in the order given."""
    connected_ids = {memory_id}
    while True:
        more = {
            end
            for version in versions
            for end in (version.memory.id, *_superseding_ids(version))
            if connected_ids & {version.memory.id, *_superseding_ids(version)}
        }
        if more <= connected_ids:
            return tuple(version for version in versions if version.memory.id in connected_ids)
        connected_ids |= more


def _superseding_ids(version: Recorded) -> tuple[str, ...]:
    """Ids of the memory that superseded it with this version, or whose supersession this version undid."""
    after = version.memory.validity.superseded_by
    before = version.before.validity.superseded_by if version.before is not None else None
    return tuple(name for name in (after, before) if name and after != before)


def _reason(version: Recorded) -> ChangeReason:
    return ChangeReason(cause=ChangeCause.UNDONE, further=(version.reason,))


def _restored(version: Recorded, now_ms: int) -> Edit:
    assert version.before is not None
    return Edit(memory=replace(version.before, updated_at_ms=now_ms), reason=_reason(version))


def _split_merged(merged: Recorded, clock: Clock) -> Add:
    """Return the statement that was merged into a memory as a separate memory, in its original words."""
    before = merged.before
    assert before is not None
    own_evidence = [span for span in merged.memory.evidence if span not in before.evidence]
    if not own_evidence or merged.memory.frequency <= before.frequency:
        raise InvalidInput(
            "This memory holds no merged statement that could stand alone.",
            hint="Run the command without --keep-both.",
        )
    now = clock.now_ms()
    separate: Memory = replace(
        before,
        id=new_id("mem", now_ms=now, entropy=clock.entropy(5)),
        content=own_evidence[-1],
        created_at_ms=now,
        updated_at_ms=now,
        validity=replace(before.validity, valid_from_ms=now, valid_to_ms=None, superseded_by=None),
        frequency=1,
        use_count=0,
        shown_count=0,
        evidence=(),
        provenance=replace(before.provenance, span=own_evidence[-1]),
    )
    return Add(memory=separate, reason=_reason(merged))
