"""What a trace records, in words. In: reasons and losses as values. Out: sentences for people. The only place that words them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tacit.model.trace import Drop, DropCause, DropReason, Loss, StageRecord, Trace

_TEXTS: dict[DropCause, Callable[[DropReason], str]] = {
    DropCause.NOTHING_COMING: lambda _: "no action is coming",
    DropCause.NOT_VALID: lambda _: "no longer valid",
    DropCause.ENDED: lambda why: why.detail,
    DropCause.QUARANTINED: lambda _: "quarantined",
    DropCause.UNTRUSTED: lambda why: f"trust: {why.detail}",
    DropCause.SENSITIVE: lambda why: f"sensitivity: {why.detail}",
    DropCause.OWN_DIGEST: lambda _: "tells of this session",
    DropCause.TOO_OLD: lambda _: "too old for its kind",
    DropCause.CODE_GONE: lambda _: "the code that it speaks of is gone",
    DropCause.BELOW_THRESHOLD: lambda why: f"relevance {_compared(why)}",
    DropCause.BELOW_IMPORTANCE: lambda why: f"importance {_compared(why)}",
    DropCause.BELOW_SIMILARITY: lambda why: (
        f"similarity {_compared(why)}" + (f" for kind {why.detail}" if why.detail else "")
    ),
    DropCause.NO_HIT: lambda _: "neither meaning nor words nor entities were found",
    DropCause.KIND_OFF: lambda why: f"kind {why.detail} is not handed over unasked",
    DropCause.KIND_NOT_FOR_TASK: lambda why: f"not a kind for this sort of task ({why.detail})",
    DropCause.KIND_NOT_ASKED: lambda why: f"another kind was asked for: {why.detail}",
    DropCause.SECOND_STAGE: lambda why: f"{why.detail} says {_compared(why)}",
    DropCause.REPEATED: lambda _: "twice in the list",
    DropCause.IN_CONTEXT: lambda why: "already in context" + (f" ({why.detail})" if why.detail else ""),
    DropCause.COPY: lambda why: f"says what {why.detail} says",
    DropCause.SIMILAR: lambda why: f"cosine {why.value or 0.0:.2f} with {why.detail}",
    DropCause.UNCHANGED: lambda _: "unchanged since the session got it",
    DropCause.TOO_MANY: lambda why: f"more than {why.bound or 0:.0f} memories",
    DropCause.NO_ROOM: lambda why: (
        f"does not fit its {why.detail} tokens"
        if why.detail
        else f"does not fit the {why.bound or 0:.0f} tokens left"
    ),
    DropCause.HOST_CAP: lambda why: f"over the host's cap of {why.bound or 0:.0f} characters",
}


def reason_text(why: DropReason) -> str:
    """A reason in words."""
    return _TEXTS[why.cause](why)


def drop_text(drop: Drop) -> str:
    """Why a memory was dropped, in words: those of the record where it was stored before reasons were values."""
    return reason_text(drop.why) if drop.why is not None else drop.reason


def loss_text(loss: Loss) -> str:
    """What a stage had to do without, in words."""
    if loss.cause == "late":
        return f"{loss.source} missed the deadline" + (f": {loss.detail}" if loss.detail else "")
    return f"{loss.source} failed: {loss.detail}"


def in_words(trace: Trace) -> Trace:
    """`trace` with every reason in words, and its losses among the notes, as it is shown."""
    return replace(trace, stages=tuple(_stage_in_words(stage) for stage in trace.stages))


def _stage_in_words(stage: StageRecord) -> StageRecord:
    drops = tuple(replace(drop, reason=drop_text(drop)) for drop in stage.drops)
    return replace(stage, drops=drops, notes=(*stage.notes, *map(loss_text, stage.losses)))


def _compared(why: DropReason) -> str:
    return f"{why.value or 0.0:.2f} below {why.bound or 0.0:.2f}"
