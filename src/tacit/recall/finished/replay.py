"""Decide stored recalls again at another threshold. In: a trace. Out: what would have been handed over, and what changes. Pure.

Only the gate is asked again: what another stage dropped (trust, age, in context already, a copy) stays dropped. A trace
keeps its best candidates only, and what the gate had dropped was never compared with the context: those are marked unsure.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.trace import DropCause, SilenceCause, Trace

OPEN_STAGES = frozenset({"budget", "deliver"})
"""Stages that drop for want of room: with fewer or more candidates they would decide anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One recall decided again.

    Attributes:
        trace_id, surface, at_ms, text: of the trace.
        threshold: asked with now; `was` then.
        before: memory ids handed over then; in shadow mode those that would have been.
        after: memory ids that pass now, best first.
        added, gone: the difference.
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


def would_have(trace: Trace) -> tuple[str, ...]:
    """Memory ids that were handed over, or would have been but for shadow mode."""
    if trace.injected or not in_shadow(trace):
        return trace.injected
    return next((stage.kept for stage in trace.stages if stage.stage == "budget"), ())


def in_shadow(trace: Trace) -> bool:
    """Whether shadow mode alone kept the block back."""
    return trace.cause is SilenceCause.SHADOW


def replay(trace: Trace, *, threshold: float, most: int) -> Replayed:
    """Decide `trace` again with `threshold` (0-1), at most `most` memories."""
    dropped = {
        drop.memory_id: (stage.stage, drop.why)
        for stage in trace.stages
        for drop in stage.drops
        if drop.memory_id
    }
    before = would_have(trace)
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
