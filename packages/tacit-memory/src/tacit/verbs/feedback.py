"""Say whether a memory was useful, in general or in one recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.state.counted import Verdict
from tacit.verbs.answers import ChangeId, MemoryAnswer, Shape
from tacit.verbs.requests import Name, Request
from tacit.verbs.show import find


class Feedback(Request):
    """A request to report whether a memory was useful, or all that a recall injected."""

    id: str = Field(
        default="",
        max_length=500,
        description="id of a memory, or its beginning or ending; left out = all that the recall injected",
    )
    useful: bool = Field(
        description="false = it was wrong or unwanted, or with `trace_id` should not have come"
    )
    trace_id: str | None = Field(
        default=None,
        max_length=100,
        description="the recall that it is about; charts and `tune` read it",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if not self.id and self.trace_id is None:
            raise ValueError("id or trace_id")
        return self


class MemoryFeedback(Feedback):
    """A request to report whether a memory was useful."""

    id: Name  # pyright: ignore[reportGeneralTypeIssues] - required here


class Rated(Shape):
    """The rated memory, or the verdicts on a recall. `counted` is false if the same client gave the same verdict before."""

    memory: MemoryAnswer | None
    verdicts: Sequence[Verdict]
    counted: bool
    change_id: ChangeId = None


def rate_memory(engine: Engine, caller: Caller, request: Feedback) -> Rated:
    """Report whether a memory was useful, or whether a recall should have injected it.

    A useful memory counts as used; one that was not useful becomes less important. With `trace_id` the
    verdict also counts in charts and for `POST /v1/tuning`, and without `id` it is on all injected memories. A
    candidate that was not injected may be named as well: `useful` then says that it was missing. The same verdict
    of one client through a tool counts once.

    Raises:
        NotFound: no memory has this id; or the trace is no longer kept.
        Ambiguous: several memories have it.
        RefusedByTrust: an agent asks where nothing is noted.
    """
    memory = find(engine, caller, request.id) if request.id else None
    if request.trace_id is not None:
        judged = [] if memory is None else [memory.id]
        verdicts = engine.admin.judge_recall(request.trace_id, judged, useful=request.useful)
        return Rated(memory=memory, verdicts=seen_verdicts(engine, caller, verdicts), counted=True)
    assert memory is not None
    counted = not caller.by_tool or engine.agents.counts_once(caller, memory, useful=request.useful)
    if counted:
        engine.memories.feedback(memory, useful=request.useful)
    return Rated(memory=find(engine, caller, memory.id), verdicts=(), counted=counted)


def seen_verdicts(engine: Engine, caller: Caller, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return `verdicts` without those on memories that `caller` may not see."""
    hidden = engine.visibility(caller.speaker).hidden(verdict.memory_id for verdict in verdicts)
    return [verdict for verdict in verdicts if verdict.memory_id not in hidden]
