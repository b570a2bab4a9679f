"""Explain why a recall does not give a memory, and what would let it through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.evidence import EvidencePart
from tacit.app.queries.why_not import (
    details,
    evidence,
    measured_text,
    remedy_text,
    sentences,
    step_command,
    step_text,
)
from tacit.app.reasons import reason_text, silence_reason_text
from tacit.app.values import Caller, RecallAsked
from tacit.model.pack import Surface
from tacit.model.trace import DropCause, SilenceCause
from tacit.model.why_not import Absence, RecallNumbers, Remedy, RemedyKind, WhyNot
from tacit.verbs.answers import MemoryAnswer, Shape
from tacit.verbs.recall import Asked
from tacit.verbs.requests import AskedSurface


class WhyNotRequest(Asked):
    """A request to explain why a recall does not give a memory."""

    memory: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    surface: AskedSurface = Field(default="prompt", description="the surface that does not give it")
    trace: str = Field(
        default="",
        max_length=64,
        description="id of a recorded recall; its surface, words, situation, session and folder are used, not those of the request",
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not (self.trace or self.asks_something):
            raise ValueError("text or trace; or for action and failure a tool, command, paths or error")
        return self


class AbsenceView(Shape):
    """The stage at which a recall left a memory out, and the reason: `value` was measured, and compared with `bound`."""

    stage: str = Field(description="name of the stage, as in a trace")
    cause: DropCause | SilenceCause = Field(
        description="of the memory, or of the silence of the whole recall"
    )
    value: float | None = Field(description="what was measured; null where nothing was")
    bound: float | None = Field(description="what it was held against")
    detail: str
    reason: str = Field(description="the cause in words")


class RemedyStepView(Shape):
    """One change of a remedy, to the memory, the session or the prompt. `value` is the new value."""

    kind: RemedyKind
    value: str
    text: str = Field(description="the change in words")
    command: str = Field(description="the command that makes it; empty where there is none")


class RemedyView(Shape):
    """Changes that together let the memory through. The recall was repeated with them, and gave the memory."""

    steps: Sequence[RemedyStepView]
    text: str
    others: int = Field(description="of `of`, how many would have given it besides")
    of: int = Field(
        description="how many of the last recalls of the surface in this project were repeated with the changes; 0 = none, as they leave the memory as it is"
    )
    measured: str = Field(description="`others` of `of` in words; empty where none was repeated")


class WhyNotView(Shape):
    """The explanation why a recall does not give a memory: the stage, the measured numbers, and remedies."""

    memory: MemoryAnswer
    surface: Surface
    preset: str
    given: bool = Field(description="whether the recall gives the memory")
    absence: AbsenceView | None = Field(description="where it was left out; null where it is given")
    numbers: RecallNumbers
    remedies: Sequence[RemedyView] = Field(
        description="safe changes, each tried, the one first that would have given it least besides; a change that would give it far more often is left out"
    )
    untried: bool = Field(
        description="whether no change of the memory itself was tried, because its scope holds too many memories"
    )
    recorded_given: bool | None = Field(
        description="whether the recorded recall gave it; null where none was asked about"
    )
    recorded: AbsenceView | None = Field(
        description="where the recorded recall left it out, as far as its record says"
    )
    sentences: Sequence[str] = Field(description="the answer in short sentences; the first one says it all")
    evidence: Sequence[EvidencePart] = Field(
        description="what adds up to its relevance, in points: 0 = nothing speaks for or against it, 100 = needed; empty where rules decided"
    )
    details: Sequence[str] = Field(description="the stage and the places by each measure, in sentences")


def why_not(engine: Engine, caller: Caller, request: WhyNotRequest) -> WhyNotView:
    """Tell why a recall does not give a memory.

    The recall runs as it does for an agent, but nothing is stored and nobody is given anything. The answer names the stage
    that leaves the memory out and the numbers that decided. Each change in `remedies` was tried with the same recall.

    Raises:
        NotFound: no memory or recorded recall has this id.
        Ambiguous: several memories have it.
    """
    adjust = None
    if request.threshold is not None or request.preset is not None:
        adjust = engine.admin.options.trial(
            request.cwd, preset=request.preset, surface=request.wanted_surface, threshold=request.threshold
        )
    asked = RecallAsked(
        text=request.text,
        cwd=request.cwd,
        surface=request.wanted_surface,
        given=request.given,
        session=request.session.key if request.session is not None else None,
        held=request.held,
        budget_tokens=request.budget_tokens,
        trace_id=request.trace,
        adjust=adjust,
    )
    found = engine.why_not(request.memory, asked, speaker=caller.speaker)
    return WhyNotView(
        memory=found.memory,
        surface=found.surface,
        preset=found.preset,
        given=found.given,
        absence=_absence(found.absence),
        numbers=found.numbers,
        remedies=[_remedy(remedy, found) for remedy in found.remedies],
        untried=found.untried,
        recorded_given=found.recorded_given,
        recorded=_absence(found.recorded),
        sentences=sentences(found),
        evidence=evidence(found),
        details=details(found),
    )


def _absence(absence: Absence | None) -> AbsenceView | None:
    if absence is None:
        return None
    if absence.why is not None:
        why = absence.why
        return AbsenceView(
            stage=absence.stage,
            cause=why.cause,
            value=why.value,
            bound=why.bound,
            detail=why.detail,
            reason=reason_text(why),
        )
    silence = absence.silence
    assert silence is not None
    return AbsenceView(
        stage=absence.stage,
        cause=silence.cause,
        value=None,
        bound=silence.bound,
        detail=silence.detail,
        reason=silence_reason_text(silence),
    )


def _remedy(remedy: Remedy, found: WhyNot) -> RemedyView:
    steps = [
        RemedyStepView(
            kind=step.kind,
            value=step.value,
            text=step_text(step),
            command=step_command(step, found.memory.id),
        )
        for step in remedy.steps
    ]
    return RemedyView(
        steps=steps,
        text=remedy_text(remedy),
        others=remedy.others,
        of=remedy.of,
        measured=measured_text(remedy, found.surface),
    )
