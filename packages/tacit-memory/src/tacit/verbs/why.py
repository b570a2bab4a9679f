"""Explain recalls: their traces, one trace, a decision at another threshold."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tacit.app.admin.recalls import row_of
from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.pack import Surface
from tacit.ports.store import TraceFilter
from tacit.verbs.answers import OneTrace, TracePage
from tacit.verbs.feedback import seen_verdicts
from tacit.verbs.requests import AskedSurface, Folder, Millis, OfTrace, Page, from_cursor, to_cursor


class ListTraces(Page):
    """A request for a page of recalls in one line each, or whole."""

    session: str | None = Field(default=None, max_length=700, description="`host/id`")
    cwd: Folder = Field(default="", description="only sessions of this folder's project")
    surface: AskedSurface | None = Field(default=None, description="only this surface")
    outcome: Literal["injected", "silent"] | None = Field(
        default=None, description="only recalls with an injection, or without"
    )
    text: str | None = Field(default=None, min_length=1, max_length=1000, description="only with these words")
    memory: str | None = Field(
        default=None, min_length=1, max_length=100, description="only where this memory was a candidate"
    )
    since_ms: Millis | None = Field(default=None, description="from this time on")
    until_ms: Millis | None = Field(default=None, description="before this time")
    whole: bool = Field(default=False, description="also every stage's keeps and drops of each")
    threshold: float | None = Field(
        default=None, ge=0.0, le=1.0, description="also repeat each decision with this threshold"
    )

    @property
    def wanted_surface(self) -> Surface | None:
        """Return the surface to list; None = any."""
        return Surface(self.surface) if self.surface is not None else None


class AskTrace(OfTrace):
    """A request for one recorded recall."""

    threshold: float | None = Field(
        default=None, ge=0.0, le=1.0, description="also repeat the decision with this threshold"
    )


def list_traces(engine: Engine, caller: Caller, request: ListTraces) -> TracePage:
    """List recalls in one line each, newest first: the injected memories, or the reason for silence.

    Filters are combined. With `text` only recalls are listed whose query has these words. With `whole` the answer
    also has their traces: the query, the candidates with their scores, what each stage dropped and why, and the
    result; and what was learned from their prompts.
    """
    where = TraceFilter(
        sessions=(request.session,) if request.session is not None else None,
        surface=request.wanted_surface,
        injected=None if request.outcome is None else request.outcome == "injected",
        text=request.text,
        memory_id=engine.show(request.memory, speaker=caller.speaker).id
        if request.memory is not None
        else None,
        since_ms=request.since_ms,
        until_ms=request.until_ms,
        after=from_cursor(request.cursor) if request.cursor else None,
    )
    visibility = engine.visibility(caller.speaker)
    fetched = engine.admin.recalls.traces(
        where,
        root=engine.project(request.cwd).root if request.cwd else "",
        limit=request.limit + 1,
        visibility=visibility,
        with_contents=request.whole,
    )
    page = fetched[: request.limit]
    whole = page if request.whole else ()
    more = to_cursor((page[-1].at_ms, page[-1].id)) if len(fetched) > len(page) else None
    return TracePage(
        recalls=[row_of(trace) for trace in page],
        traces=whole,
        learned=engine.admin.learned.of_turns(whole, visibility=visibility),
        replayed=() if request.threshold is None else engine.replayed(page, threshold=request.threshold),
        next_cursor=more,
    )


def get_trace(engine: Engine, caller: Caller, request: AskTrace) -> OneTrace:
    """Get one recall with every stage's keeps and drops, and its verdicts.

    It explains one recall: the query, the candidates with their scores, what each stage dropped and why, the
    block, what was learned from its prompt, and what the user said of it. With `threshold`, `replayed` says how the decision would differ: nothing
    is searched again, the stored scores are compared with it.

    Raises:
        NotFound: no trace has this id, or it is no longer kept.
    """
    visibility = engine.visibility(caller.speaker)
    (recall,) = visibility.traces([engine.admin.recalls.trace(request.id)])
    verdicts = seen_verdicts(engine, caller, engine.admin.verdicts.of(recall.id))
    if request.threshold is None:
        replayed = None
    else:
        (replayed,) = engine.replayed([recall], threshold=request.threshold)
    learned = engine.admin.learned.of_turns([recall], visibility=visibility)
    return OneTrace(trace=recall, verdicts=verdicts, learned=learned, replayed=replayed)
