"""What became of the statements of a session. In: changes as they are stored. Out: records, and the JSON text that keeps them in the store.

A record holds no words of the session: a statement is named by the memory that holds it, the quoted span by its hash.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from tacit.model.changes import Add, Change, Contradict, Merge, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.memory import Memory

MOST = 500
"""Records that are kept of one session, the newest."""
Fate = Literal["new", "merged", "replaced", "contradicts", "duplicate", "dropped"]
_FATES: dict[type[Change], Fate] = {
    Add: "new",
    Merge: "merged",
    Supersede: "replaced",
    Contradict: "contradicts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one statement.

    Attributes:
        fate: `duplicate` = a memory says it already, `dropped` = it was not stored.
        memory_id: the memory that holds it; "" = none.
        others: ids of the memories that it replaced.
        questions: ids of the memories that it may contradict, about which the user is asked.
        speaker: who said it, see `Provenance.speaker`.
        extractor: the language model that wrote it down, or "".
        turn: the user's prompt it belongs to; 0 = unknown.
        span: hash of the quoted words, or "".
        reason: why it was dropped.
        at_ms: when this was decided.
    """

    fate: Fate
    memory_id: str = ""
    others: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    speaker: str = ""
    extractor: str = ""
    turn: int = 0
    span: str = ""
    reason: str = ""
    at_ms: int = 0


def outcomes_name(host: str, session_id: str) -> str:
    """Name of the value that keeps a session's records."""
    return f"capture/learned/{host}/{session_id}"


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
        # The words behind a colon may be a statement's own.
        return Outcome(fate="dropped", reason=change.reason.partition(":")[0], **said)
    if fate is None or stated is None or not isinstance(change, Add | Merge | Supersede | Contradict):
        return None
    others, questions = (), ()
    if isinstance(change, Supersede):
        others, questions = (change.old_id, *change.further), change.contested
    elif isinstance(change, Contradict):
        questions = (change.other_id, *change.further)
    return Outcome(fate=fate, memory_id=change.memory.id, others=others, questions=questions, **said)


def add_outcomes(text: str | None, new: Sequence[Outcome]) -> str:
    """The value `text` with further records."""
    return json.dumps([_plain(one) for one in (*read_outcomes(text), *new)][-MOST:], separators=(",", ":"))


def _plain(outcome: Outcome) -> dict[str, object]:
    return {name: value for name, value in asdict(outcome).items() if value}


def read_outcomes(text: str | None) -> tuple[Outcome, ...]:
    """The records, oldest first; none where the text makes no sense."""
    try:
        return tuple(_read(row) for row in cast("list[dict[str, Any]]", json.loads(text or "[]")))
    except (AttributeError, TypeError, ValueError):
        return ()


def _read(row: dict[str, Any]) -> Outcome:
    names = {one.name for one in fields(Outcome)}
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("others", "questions") if name in row}
    return Outcome(**{**{name: value for name, value in row.items() if name in names}, **lists})
