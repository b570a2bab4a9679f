"""The fates of a session's statements. In: changes as they are stored. Out: records. Pure.

A record holds no words of the session: a statement is named by the memory that holds it, the quoted span by its hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.model.change_reason import ChangeReason
from tacit.model.changes import Add, Change, Contradict, Merge, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.memory import Memory
from tacit.state.captured import Fate, Outcome

_FATES: dict[type[Change], Fate] = {
    Add: "new",
    Merge: "merged",
    Supersede: "replaced",
    Contradict: "contradicts",
}


def outcomes_of(
    items: Sequence[Memory | Change], changes: Sequence[Change], *, at_ms: int
) -> tuple[Outcome, ...]:
    """Records of the statements `items` and of what became of each; a session's own notes are no statements."""
    found = (_outcome(item, change, at_ms) for item, change in zip(items, changes, strict=False))
    return tuple(one for one in found if one is not None)


def _outcome(item: Memory | Change, change: Change, at_ms: int) -> Outcome | None:
    fate = _FATES.get(type(change))
    stated = item if isinstance(item, Memory) else None
    if stated is not None and stated.is_session_note:
        return None
    said: dict[str, Any] = {"at_ms": at_ms}
    if stated is not None:
        told = stated.provenance
        span = content_hash(told.span) if told.span else ""
        said |= {"speaker": told.speaker, "extractor": told.extractor, "turn": told.turn, "span": span}
    if isinstance(change, Skip):
        if change.memory_id:
            return Outcome(fate="duplicate", memory_id=change.memory_id, **said)
        # The detail of a reason may be a statement's own words.
        why = ChangeReason(cause=change.reason.cause, terms=change.reason.terms)
        return Outcome(fate="dropped", why=why, **said)
    if fate is None or stated is None or not isinstance(change, Add | Merge | Supersede | Contradict):
        return None
    others, questions = (), ()
    if isinstance(change, Supersede):
        others, questions = (change.old_id, *change.further), change.contested
    elif isinstance(change, Contradict):
        questions = (change.other_id, *change.further)
    return Outcome(fate=fate, memory_id=change.memory.id, others=others, questions=questions, **said)
