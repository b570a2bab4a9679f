"""Say whether a memory was useful, in general or in one recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.state.counted import Verdict
from tacit.verbs.answers import ChangeId, MemoryAnswer, Shape, Verdicts
from tacit.verbs.requests import OfMemory, OfTrace
from tacit.verbs.show import find


class Feedback(OfMemory):
    """A request to report whether a memory was useful."""

    useful: bool = Field(description="false = it was wrong or unwanted")
    trace_id: str | None = Field(
        default=None,
        max_length=100,
        description="the recall that injected it; charts and `tune` read it",
    )


class Rated(Shape):
    """The rated memory. `counted` is false if the same client gave the same verdict before."""

    memory: MemoryAnswer
    counted: bool
    change_id: ChangeId = None


class TraceFeedback(OfTrace):
    """The user's verdict on a recall: whether memories that it injected were useful."""

    useful: bool = Field(description="false = it should not have been injected")
    memory_ids: tuple[Annotated[str, Field(max_length=100)], ...] = Field(
        default=(), max_length=200, description="which memories; default: all injected ones"
    )


def rate_memory(engine: Engine, caller: Caller, request: Feedback) -> Rated:
    """Report whether a memory was useful.

    A useful memory counts as used; one that was not useful becomes less important. With `trace_id` the
    verdict also counts in charts and for `POST /v1/tune`. The same verdict of one client through a tool counts once.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByTrust: an agent asks where nothing is noted.
    """
    memory = find(engine, caller, request.id)
    if request.trace_id is not None:
        engine.admin.say(request.trace_id, [memory.id], useful=request.useful)
        return Rated(memory=memory, counted=True)
    counted = not caller.by_tool or engine.agents.counts_once(caller, memory, useful=request.useful)
    if counted:
        engine.memories.feedback(memory, useful=request.useful)
    return Rated(memory=memory, counted=counted)


def rate_trace(engine: Engine, caller: Caller, request: TraceFeedback) -> Verdicts:
    """Report whether injected memories were useful, or whether a memory was missing; charts and `tune` read it.

    Without `memory_ids` the verdict is on all injected memories. A candidate that was not injected may be
    named as well: `useful` then says that it was missing.

    Raises:
        NotFound: no trace has this id, or it is no longer kept.
    """
    verdicts = engine.admin.say(request.id, request.memory_ids, useful=request.useful)
    return Verdicts(verdicts=seen_verdicts(engine, caller, verdicts))


def seen_verdicts(engine: Engine, caller: Caller, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return `verdicts` without those on memories that `caller` may not see."""
    hidden = engine.visibility(caller.speaker).hidden(verdict.memory_id for verdict in verdicts)
    return [verdict for verdict in verdicts if verdict.memory_id not in hidden]
