"""What a trace records, in words. In: reasons and losses as values. Out: sentences for people. The only place that words them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tacit.model.trace import (
    Drop,
    DropCause,
    DropReason,
    Loss,
    NotAsked,
    SilenceCause,
    SilenceReason,
    StageRecord,
    Trace,
)

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

_NOT_ASKED_TEXTS: dict[NotAsked, Callable[[SilenceReason], str]] = {
    NotAsked.BEFORE_COMPACTION: lambda _: "nothing is injected before a compaction; the pack follows it",
    NotAsked.MESSAGE_END: lambda _: "nothing is injected when a message ends",
    NotAsked.SESSION_END: lambda _: "nothing is injected when a session ends",
    NotAsked.MACHINE_PROMPT: lambda _: "machine-made prompt",
    NotAsked.EMPTY_PROMPT: lambda _: "empty prompt",
    NotAsked.SHORT_PROMPT: lambda why: f"the prompt is shorter than {why.bound or 0:.0f} characters",
    NotAsked.NO_TARGET: lambda why: f"tool call {why.detail!r} names no file or command",
    NotAsked.SEARCHING: lambda _: "searching is no action that a rule governs",
}
_SILENCE_TEXTS: dict[SilenceCause, Callable[[SilenceReason], str]] = {
    SilenceCause.OFF: lambda _: "recall is off in the settings",
    SilenceCause.OFF_IN_PRESET: lambda why: f"off in this preset (recall.budgets.{why.detail} is 0)",
    SilenceCause.SHADOW: lambda _: "shadow mode: scored, not injected",
    SilenceCause.MUTED: lambda _: "the session is muted",
    SilenceCause.OPTED_OUT: lambda why: f"the prompt carries the opt-out token {why.detail}",
    SilenceCause.COMPARISON: lambda _: "the session is held out, to see what memory is worth",
    SilenceCause.NOT_ASKED: lambda why: (
        _NOT_ASKED_TEXTS[why.not_asked](why) if why.not_asked else "nothing was asked"
    ),
    SilenceCause.CONTEXT_FULL: lambda why: (
        f"the context holds more than {why.bound or 0:.0f} memories already"
    ),
    SilenceCause.NOTHING_COMING: lambda _: "no action is coming",
    SilenceCause.NOTHING_FOUND: lambda _: "no candidate was found",
    SilenceCause.NOT_RELEVANT: lambda _: "no candidate passed the gate",
    SilenceCause.IN_CONTEXT: lambda _: "everything that passed is in context already",
    SilenceCause.NO_ROOM: lambda _: "nothing that passed fits the budget",
    SilenceCause.LATE: lambda _: "the session was busy beyond the deadline",
    SilenceCause.FAILED: lambda why: f"recall failed: {why.detail}",
}

_CAUSE_TEXTS: dict[str, str] = {
    SilenceCause.OFF: "recall is switched off",
    SilenceCause.OFF_IN_PRESET: "off in this preset",
    SilenceCause.SHADOW: "shadow mode: decided, not handed over",
    SilenceCause.MUTED: "the session is muted",
    SilenceCause.OPTED_OUT: "the prompt opted out",
    SilenceCause.COMPARISON: "the session is in the group without memory (holdout)",
    SilenceCause.NOT_ASKED: "nothing to look up: an empty, very short or machine-made prompt",
    SilenceCause.CONTEXT_FULL: "the session holds as many memories as the settings allow",
    SilenceCause.NOTHING_COMING: "the prompt asks for no work, such as thanks or a greeting",
    SilenceCause.NOTHING_FOUND: "no memory was found for it",
    SilenceCause.NOT_RELEVANT: "no memory was relevant enough",
    SilenceCause.IN_CONTEXT: "the session already holds what is relevant",
    SilenceCause.NO_ROOM: "nothing relevant fits the budget",
    SilenceCause.LATE: "the session was busy beyond the deadline",
    SilenceCause.FAILED: "recall failed; `tacit logs` says why",
}
"""A cause for counts of many recalls, where the fields of `SilenceReason` differ."""


def cause_text(cause: str | None) -> str:
    """A cause of silence in words; None = recorded before causes were kept. One of a later version stays as it is."""
    if cause is None:
        return "recorded by an earlier version, which did not keep the cause"
    return _CAUSE_TEXTS.get(cause, cause)


def silence_text(trace: Trace) -> str:
    """Why nothing was handed over, in words: those of the record where it was stored before reasons were values.

    Empty where something was.
    """
    return _SILENCE_TEXTS[trace.why.cause](trace.why) if trace.why is not None else trace.silence


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
    stages = [_stage_in_words(stage) for stage in trace.stages]
    silence = silence_text(trace)
    if trace.why is not None and stages:  # the stage where the recall ended says why it did
        stages[-1] = replace(stages[-1], notes=(*stages[-1].notes, silence))
    return replace(trace, silence=silence, stages=tuple(stages))


def _stage_in_words(stage: StageRecord) -> StageRecord:
    drops = tuple(replace(drop, reason=drop_text(drop)) for drop in stage.drops)
    return replace(stage, drops=drops, notes=(*stage.notes, *map(loss_text, stage.losses)))


def _compared(why: DropReason) -> str:
    return f"{why.value or 0.0:.2f} below {why.bound or 0.0:.2f}"
