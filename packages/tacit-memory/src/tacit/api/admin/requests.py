"""What the pages' endpoints accept; see `tacit.api.requests`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tacit.api.requests import (
    MAX_CONTENT_CHARS,
    AskedSurface,
    Folder,
    Page,
    Request,
    ScopeText,
    SessionName,
    StoredStatus,
)
from tacit.app.maintenance.jobs import BegunJob
from tacit.model.memory import MemoryStatus
from tacit.model.pack import Surface
from tacit.model.scope import Scope

NOW = 2**53 - 1
Millis = Annotated[int, Field(ge=0, le=NOW)]


class Replace(Request):
    """A memory's every part that can be edited; what is left out gets the value it would have without you."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the statement")
    kind: str = Field(min_length=1, max_length=100, description="its kind")
    when: str = Field(default="", max_length=2000, description="when it applies, in words; empty = unchanged")
    scope: ScopeText = Field(description="who may see it")
    importance: float = Field(ge=0.0, le=1.0, description="0 to 1")
    pinned: bool = Field(default=False, description="packed first in presets that pin")


class Supersede(Request):
    """Another statement in its place."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the new statement")
    kind: str | None = Field(default=None, max_length=100, description="its kind; default: unchanged")
    when: str | None = Field(default=None, max_length=2000, description="when it applies; default: unchanged")
    scope: ScopeText | None = Field(default=None, description="its scope; default: unchanged")


class MergeInto(Request):
    """Which memory says the same."""

    into: str = Field(
        min_length=1, max_length=100, description="id of the memory that stays, or the beginning of it"
    )


class Search(Request):
    """Words to look for, by words and by meaning."""

    text: str = Field(min_length=1, max_length=4000, description="words")
    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    scope: tuple[ScopeText, ...] = Field(default=(), max_length=100, description="only these scopes")
    kind: tuple[str, ...] = Field(default=(), max_length=100, description="only these kinds")
    status: tuple[StoredStatus, ...] = Field(
        default=("active",), max_length=5, description="only these states; `all` for any"
    )
    limit: int = Field(default=20, ge=1, le=200, description="most memories")

    @property
    def wanted_statuses(self) -> tuple[MemoryStatus, ...] | None:
        """The states, or None for any."""
        return None if "all" in self.status else tuple(status for status in self.status if status != "all")


class AskGraph(Request):
    """Which part of the graph."""

    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    scope: tuple[ScopeText, ...] = Field(default=(), max_length=100, description="only these scopes")
    kind: tuple[str, ...] = Field(default=(), max_length=100, description="only these kinds")
    status: tuple[StoredStatus, ...] = Field(
        default=("active", "quarantined"), max_length=5, description="only these states; `all` for any"
    )
    around: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="only this memory and those at most two relations away, nearest first",
    )
    limit: int = Field(default=1000, ge=1, le=5000, description="most nodes, the newest")

    @property
    def wanted_statuses(self) -> tuple[MemoryStatus, ...] | None:
        """The states, or None for any."""
        return None if "all" in self.status else tuple(status for status in self.status if status != "all")


class Timeline(Page):
    """Which recalls."""

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

    @property
    def wanted_surface(self) -> Surface | None:
        """The surface, or None for any."""
        return Surface(self.surface) if self.surface is not None else None


class Threshold(Request):
    """Another threshold."""

    threshold: float = Field(ge=0.0, le=1.0, description="least relevance for an injection")


class TraceFeedback(Request):
    """The owner's word on a recall."""

    useful: bool = Field(description="false = it should not have been injected")
    memory_ids: tuple[Annotated[str, Field(max_length=100)], ...] = Field(
        default=(), max_length=200, description="which memories; default: all injected ones"
    )


class ListSessions(Page):
    """Which sessions."""

    cwd: Folder = Field(default="", description="only sessions of this folder's project")
    text: str = Field(
        default="",
        max_length=1000,
        description="only with all of these words in the first prompt, project, agent or name",
    )


class ListDigests(Page):
    """Whose digests."""

    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=700,
        description="of one session: `host/id`, its id or the beginning of it",
    )
    cwd: Folder = Field(default="", description="of this folder's project; without it of every project")
    limit: int = Field(default=1, ge=1, le=200, description="most digests, the newest")


class AskLearned(Request):
    """Of which session."""

    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=700,
        description="`host/id`, its id or the beginning of it; without it the last one",
    )
    cwd: Folder = Field(default="", description="the last one of this folder's project; without it of any")


class Purge(Request):
    """What to forget for good: memories, a project, a session, a source, or what holds words; one of these."""

    ids: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=10_000, description="memories, by id or its beginning"
    )
    shown: bool = Field(
        default=False, description="`ids` are whole and were listed before: missing ones are no error"
    )
    project: Folder = Field(
        default="", description="everything of this folder's project, including its sessions"
    )
    session: SessionName | None = Field(
        default=None, description="all memories learned from this session, and its record"
    )
    source: str | None = Field(
        default=None, min_length=1, max_length=200, description="all memories from this source"
    )
    text: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="all memories with exactly these words",
    )
    cwd: Folder = Field(
        default="", description="for `source` and `text`: only what may be seen from this folder"
    )
    dry_run: bool = Field(default=False, description="only list what would be removed")

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        selectors = (
            bool(self.ids),
            bool(self.project),
            self.session is not None,
            self.source is not None,
            self.text is not None,
        )
        if sum(selectors) != 1:
            raise ValueError("one of ids, project, session, source and text")
        words = (*self.ids, *(text for text in (self.source, self.text) if text is not None))
        if not all(word.strip() for word in words):
            raise ValueError("ids, source and text that are not blank")
        if self.cwd and self.source is None and self.text is None:
            raise ValueError("cwd with source or text alone")
        if self.shown and not self.ids:
            raise ValueError("shown with ids alone")
        return self


class ListExposures(Page):
    """Which exposures."""

    host: str | None = Field(default=None, max_length=100, description="of one session: its host")
    session_id: str | None = Field(default=None, max_length=500, description="of one session: its id")
    memory: str | None = Field(default=None, max_length=100, description="only of this memory")

    @model_validator(mode="after")
    def _whole_session(self) -> Self:
        if (self.host is None) != (self.session_id is None):
            raise ValueError("host and session_id together")
        return self


class ChartTime(Request):
    """A stretch of time in buckets."""

    since_ms: Millis | None = Field(
        default=None, description="from this time on; default: 30 days, or 2 by the hour"
    )
    until_ms: Millis | None = Field(default=None, description="before this time; default: now")
    bucket: Literal["hour", "day"] = Field(
        default="day", description="length of a bucket (UTC); at most 800 buckets"
    )


class BeginJob(Request):
    """Which long work."""

    name: BegunJob = Field(
        description="`reindex` renews vectors of another embedder, `check` reads the whole store for damage"
    )


class AtPlace(Request):
    """Whose settings."""

    cwd: Folder = Field(default="", description="as they hold in this folder's project")
    agent: str = Field(default="", max_length=200, description="effective values for this agent")


class ChangeSettings(Request):
    """Values for one layer."""

    holder: Literal["user", "agents", "projects", "project_file"] = Field(
        default="user",
        description="`user` = for everything; `agents` = for one agent; `projects` = your own for one project;"
        " `project_file` = the file that comes with its code, which can only restrict",
    )
    name: str = Field(default="", max_length=4096, description="the agent's name, or a folder of the project")
    values: dict[str, Any] = Field(
        min_length=1,
        description="settings by dotted name, or nested; null resets a setting that has no null value",
    )


class RevertSettings(Request):
    """What to take back."""

    holder: Literal["user", "agents", "projects", "project_file"] = Field(default="user", description="whose")
    name: str = Field(default="", max_length=4096, description="the agent's name, or a folder of the project")
    key: str = Field(default="", max_length=200, description="one dotted name; empty = everything")


class ChangeAgent(Request):
    """An agent's injection settings."""

    memory_injection: dict[str, Any] = Field(
        default_factory=dict[str, Any], description="settings below `recall`; others stay unchanged"
    )
    reset_memory_injection_override: bool = Field(
        default=False, description="first reset all of the agent's settings there"
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.memory_injection and not self.reset_memory_injection_override:
            raise ValueError("settings to change, or reset_memory_injection_override")
        return self


def scopes_of(texts: tuple[str, ...]) -> tuple[Scope, ...]:
    """Scopes of their texts, which were checked."""
    return tuple(Scope.parse(text) for text in texts)
