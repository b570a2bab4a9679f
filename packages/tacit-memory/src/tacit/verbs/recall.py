"""Recall memories for a question or a situation, and what a session starts with or a program puts before a prompt."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.pack import Surface
from tacit.model.trace import AskedWith
from tacit.verbs.answers import RecalledView
from tacit.verbs.requests import (
    MAX_CONTENT_CHARS,
    MOST_MS,
    MOST_TOKENS,
    AskedSurface,
    Place,
    Request,
    SessionName,
)

Some = Annotated[tuple[Annotated[str, Field(max_length=20_000)], ...], Field(max_length=200)]


SITUATION = (
    "previous",
    "prompts",
    "tools",
    "files",
    "tool",
    "command",
    "paths",
    "written",
    "finished",
    "error",
    "turn",
)
"""The fields of a recall request that describe what the agent is doing, such as its tool, its command and its files."""


class Asked(Request):
    """The fields of a request that asks the memory: the words, the surface, the situation and the session."""

    text: str = Field(
        default="",
        max_length=MAX_CONTENT_CHARS,
        description="the query text; `action` and `failure` need a tool, command or file instead",
    )
    cwd: Place = Field(default="", description="working folder, or `user:NAME`: decides what may be seen")
    surface: AskedSurface = Field(default="on_demand", description="answer as this surface would")
    budget_tokens: int | None = Field(
        default=None, ge=0, le=MOST_TOKENS, description="most tokens of the block"
    )
    threshold: float | None = Field(
        default=None, ge=0.0, le=1.0, description="least relevance for an injection, instead of the setting"
    )
    preset: str | None = Field(default=None, max_length=40, description="answer as this preset would")
    previous: str = Field(
        default="",
        max_length=MAX_CONTENT_CHARS,
        description="end of the agent's last message, which a short prompt may accept",
    )
    prompts: Some = Field(default=(), description="the prompts before, newest last")
    tools: Some = Field(default=(), description="recent tool steps, newest last")
    files: Some = Field(default=(), description="files in use, relative to the project")
    tool: str = Field(default="", max_length=200, description="`action` and `failure`: the called tool")
    command: str = Field(default="", max_length=20_000, description="the command it runs")
    paths: Some = Field(default=(), description="the files it touches")
    written: str = Field(default="", max_length=MAX_CONTENT_CHARS, description="the text it writes")
    finished: bool = Field(
        default=False, description="`action`: the call has run; recall for what follows it"
    )
    error: str = Field(
        default="", max_length=MAX_CONTENT_CHARS, description="`failure`: the error of the call"
    )
    turn: int = Field(default=0, ge=0, le=1_000_000, description="turn of the session")
    session: SessionName | None = Field(
        default=None,
        description="the session; its situation is used if none is given, and what was stated for it alone is seen",
    )
    agent: str = Field(
        default="",
        max_length=100,
        description="name of the agent: its own memories are seen, and its settings apply",
    )
    held: Some = Field(default=(), description="ids of memories that the context already holds")

    @property
    def asks_something(self) -> bool:
        """Whether the request has what its surface needs: words, or for `action` and `failure` a call or an error. `start` and `compaction` need nothing."""
        if self.surface in ("start", "compaction"):
            return True
        called = self.surface in ("action", "failure") and bool(self.command or self.paths or self.tool)
        return bool(self.text or called or (self.surface == "failure" and self.error))

    @property
    def wanted_surface(self) -> Surface:
        """Return the surface of the request."""
        return Surface(self.surface)

    @property
    def given(self) -> AskedWith | None:
        """Return the situation that the request describes; None = it describes none."""
        situation = {name: getattr(self, name) for name in SITUATION}
        return AskedWith(**situation) if any(situation.values()) else None


class Recall(Asked):
    """A request for a recall."""

    kind: tuple[str, ...] = Field(default=(), max_length=100, description="only these kinds")
    limit: int | None = Field(
        default=None, ge=1, le=500, description="most memories; default: as many as fit the budget"
    )
    as_of_ms: int | None = Field(default=None, ge=0, le=MOST_MS, description="answer as of this time")
    store_trace: bool = Field(default=True, description="keep the trace for `why`; false = a dry run")
    replay_at: tuple[Annotated[float, Field(ge=0.0, le=1.0)], ...] = Field(
        default=(), max_length=20, description="also repeat the decision at these thresholds"
    )

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.asks_something:
            raise ValueError("text; or for action and failure a tool, command, paths or error")
        return self


def recall(engine: Engine, caller: Caller, request: Recall) -> RecalledView:
    """Recall memories: the block, its memories, the trace. Silence is an empty block.

    It answers as the given surface would, for the situation that the request describes, or that the named
    session is in; on the surface `start` with what a session in `cwd` begins with: rules, pinned memories and what
    was last worked on. It injects nothing into a session, so that it serves a playground and a replay as well.
    `trace` says what each stage kept and dropped.

    Raises:
        NotFound: no session or preset has this name.
        UnknownKind: no kind has this name.
    """
    trial: dict[str, Any] = {}
    if request.threshold is not None or request.preset is not None:
        trial["adjust"] = engine.admin.options.trial(
            request.cwd, preset=request.preset, surface=request.wanted_surface, threshold=request.threshold
        )
    recalled = engine.recall(
        request.text,
        cwd=request.cwd,
        surface=request.wanted_surface,
        budget_tokens=request.budget_tokens,
        kinds=request.kind,
        most=request.limit,
        as_of_ms=request.as_of_ms,
        store_trace=request.store_trace,
        given=request.given,
        session=request.session.key if request.session is not None else None,
        agent=request.agent,
        held=request.held,
        speaker=caller.speaker,
        **trial,
    )
    return RecalledView(
        block=recalled.block,
        memories=recalled.pack.items,
        budget_tokens=recalled.pack.budget_tokens,
        trace=recalled.trace,
        replayed=[
            engine.replayed([recalled.trace], threshold=threshold)[0] for threshold in request.replay_at
        ],
    )
