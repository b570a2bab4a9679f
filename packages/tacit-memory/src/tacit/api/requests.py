"""What the API accepts: one small model per request. Unknown fields are refused; sizes are limited here.

In: JSON bodies and query strings. Out: checked values. Never touches the engine.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tacit.api.cursors import MAX_CHARS as MAX_CURSOR_CHARS
from tacit.app.maintenance.review_queue import ReviewCause, ReviewFilter
from tacit.errors import InvalidInput, TacitError
from tacit.model.change_reason import ChangeCause
from tacit.model.memory import MemoryStatus, Sensitivity, SensitivityName, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import MAX_USER_CHARS, USER_FOLDER, Scope, ScopeKind, is_user_name
from tacit.model.session import SessionKey
from tacit.model.trace import AskedWith
from tacit.ports.store import Recorded
from tacit.verbs.get import MOST_IDS

MAX_CONTENT_CHARS = 1_000_000
MOST_MS = 2**53 - 1
"""Greatest time: what every reader of JSON keeps exactly."""


def _absolute(path: str) -> str:
    if path and not PurePath(path).is_absolute():
        raise ValueError("an absolute path")
    return path


def _place(path: str) -> str:
    if not path.startswith(USER_FOLDER):
        return _absolute(path)
    if not is_user_name(path.removeprefix(USER_FOLDER)):
        raise ValueError(
            f"`{USER_FOLDER}` stands before the name of a user, of 1 to {MAX_USER_CHARS} characters"
        )
    return path


def _change_id(text: str) -> str:
    if not text.startswith("chg_"):
        raise ValueError(
            "names a change: the `change_id` of the answer to a write, or of GET /v1/changes; a memory of it goes into `memory`"
        )
    return text


def _scope(text: str) -> str:
    try:
        Scope.parse(text)
    except TacitError as error:
        raise ValueError(str(error)) from error
    return text


def _scope_or_here(text: str) -> str:
    return text if text == ScopeKind.PROJECT else _scope(text)


Folder = Annotated[str, Field(max_length=4096), AfterValidator(_absolute)]
Place = Annotated[str, Field(max_length=4096), AfterValidator(_place)]
"""A folder, or `user:NAME` for the memories of one user of a program with many."""
ScopeText = Annotated[str, Field(max_length=4096), AfterValidator(_scope)]
NewScope = Annotated[str, Field(max_length=4096), AfterValidator(_scope_or_here)]
"""A scope for a memory; `project` = the project of the folder that the request names."""
AskedSurface = Literal["start", "prompt", "action", "failure", "compaction", "subagent", "on_demand"]
StoredStatus = MemoryStatus | Literal["all"]


class Request(BaseModel):
    """What all requests have in common: unknown fields are refused."""

    # Deferred: a daemon that serves hooks alone never pays for these.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Page(Request):
    """A part of a list."""

    limit: int = Field(default=50, ge=1, le=500, description="most rows in one answer")
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the part before"
    )


class LongPage(Page):
    """A part of a list that is seldom longer than one answer."""

    limit: int = Field(default=500, ge=1, le=500, description="most rows in one answer")


class NoBody(Request):
    """A request that says nothing more than its path."""


class AsOf(Request):
    """A moment."""

    as_of_ms: int | None = Field(default=None, ge=0, le=MOST_MS, description="as it was known at this time")


class SessionName(Request):
    """A session by its host and the host's id."""

    host: str = Field(min_length=1, max_length=100)
    session_id: str = Field(min_length=1, max_length=500)

    @classmethod
    def of(cls, host: str, session_id: str) -> SessionKey:
        """The key of a session that a path names.

        Raises:
            InvalidInput: if it cannot be one.
        """
        try:
            return cls(host=host, session_id=session_id).key
        except ValidationError:
            raise InvalidInput("No session has such a name.", hint="GET /v1/sessions lists them.") from None

    @property
    def key(self) -> SessionKey:
        """The session's key."""
        return SessionKey(host=self.host, session_id=self.session_id)


Whens = (
    Annotated[str, Field(max_length=2000)]
    | Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=20)]
)


class Remember(Request):
    """Store a statement."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the statement")
    headline: str = Field(
        default="",
        max_length=200,
        description="what an index shows of it, 60 characters; default: made from the words",
    )
    kind: str | None = Field(default=None, max_length=100, description="its kind; default: detected")
    scope: NewScope | None = Field(
        default=None,
        description="`universal`, `language:python`, `project` (that of `cwd`), `project:...`; default: the project of `cwd`, else `universal`",
    )
    when: Whens | None = Field(
        default=None,
        description="when it applies, in words; a list of terms and phrases, any of which is enough",
    )
    cwd: Place = Field(
        default="",
        description="working folder, for the project; or `user:NAME`: for this user of your program alone",
    )
    user_words: str = Field(
        default="",
        max_length=4000,
        description="for a caller without the user's authority: the user's words about it, verbatim from one prompt",
    )
    source: str = Field(default="api", min_length=1, max_length=200, description="where it came from")
    session: SessionName | None = Field(default=None, description="the session it was said in")
    pinned: bool = Field(default=False, description="packed first in presets that pin")
    files: tuple[str, ...] = Field(default=(), max_length=200, description="files that it is about")
    sensitivity: SensitivityName | None = Field(
        default=None, description="where it may appear; default: `project`"
    )
    replaces: tuple[Annotated[str, Field(max_length=100)], ...] = Field(
        default=(), max_length=20, description="ids of memories that it replaces"
    )
    all_branches: bool = Field(
        default=False,
        description="whether it holds on all branches, even if an unmerged one is checked out in the folder",
    )

    @property
    def wanted_sensitivity(self) -> Sensitivity | None:
        """The level, or None for the default."""
        return Sensitivity.parse(self.sensitivity) if self.sensitivity else None


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
"""Fields of a recall that say in which situation it is asked."""


class Asked(Request):
    """What a recall is asked with."""

    text: str = Field(
        default="",
        max_length=MAX_CONTENT_CHARS,
        description="the query text; `action` and `failure` need a tool, command or file instead",
    )
    cwd: Place = Field(default="", description="working folder, or `user:NAME`: decides what may be seen")
    surface: AskedSurface = Field(default="on_demand", description="answer as this surface would")
    budget_tokens: int | None = Field(default=None, ge=0, le=20_000, description="most tokens of the block")
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
        """Whether there are words, or for `action` and `failure` a call or an error. A start and a compaction need neither."""
        if self.surface in ("start", "compaction"):
            return True
        called = self.surface in ("action", "failure") and bool(self.command or self.paths or self.tool)
        return bool(self.text or called or (self.surface == "failure" and self.error))

    @property
    def wanted_surface(self) -> Surface:
        """The surface."""
        return Surface(self.surface)

    @property
    def given(self) -> AskedWith | None:
        """The situation; None where nothing of it is said."""
        situation = {name: getattr(self, name) for name in SITUATION}
        return AskedWith(**situation) if any(situation.values()) else None


class Recall(Asked):
    """Ask the memory."""

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


class AtFolder(Request):
    """A working folder."""

    cwd: Folder = Field(min_length=1, description="working folder")


class Get(AtFolder):
    """Memories by their ids."""

    ids: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        min_length=1,
        max_length=MOST_IDS,
        description="ids, or their beginnings or endings, as an index shows them",
    )


class Unshare(AtFolder):
    """A memory whose file is to be removed."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")


class Share(Unshare):
    """A memory to write into the team's folder."""

    by: str = Field(min_length=1, max_length=80, description="the name that teammates are shown")


class InitProject(AtFolder):
    """A project to set up."""

    dry_run: bool = Field(default=False, description="only list what the rule files would add")
    confirmed: bool = Field(
        default=True, description="false: the statements of the rule files wait in review"
    )


class ListMemories(Request):
    """Which memories to list, and which part of the list."""

    cwd: Place = Field(
        default="", description="only memories visible from this folder, or to `user:NAME`; default: all"
    )
    path: tuple[str, ...] = Field(default=(), max_length=200, description="files in use, for path scopes")
    kind: tuple[str, ...] = Field(default=(), max_length=100, description="only these kinds")
    status: tuple[StoredStatus, ...] = Field(
        default=("active",), max_length=5, description="only these states; `all` for any"
    )
    source: str | None = Field(default=None, max_length=200, description="only from this source")
    text: str | None = Field(
        default=None,
        max_length=1000,
        description="search text: words in any order, misspelled, or by meaning; at most 200 results, best first"
        " unless `order` is set",
    )
    as_of_ms: int | None = Field(
        default=None, ge=0, le=MOST_MS, description="as known and valid at this time"
    )
    scope: tuple[ScopeText, ...] = Field(
        default=(),
        max_length=100,
        description="only these scopes; a project's stands for its paths and tasks, too",
    )
    tier: tuple[Literal["user", "teammate", "assistant", "tool", "import"], ...] = Field(
        default=(), max_length=5, description="only with these trust tiers"
    )
    sensitivity: tuple[SensitivityName, ...] = Field(
        default=(), max_length=4, description="only of these levels"
    )
    pinned: bool | None = Field(default=None, description="only pinned ones, or only others")
    order: Literal["created", "updated", "importance", "used"] | None = Field(
        default=None, description="sort key, greatest first; ties newest first; default: `created`"
    )
    ascending: bool = Field(default=False, description="least of the sort key first; needs `order`")
    limit: int = Field(default=50, ge=1, le=500, description="most memories in one answer")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="number of memories to skip")
    cursor: str | None = Field(
        default=None, max_length=400, description="`next_cursor` of the page before, instead of `offset`"
    )

    @model_validator(mode="after")
    def _says_what_is_least(self) -> Self:
        if self.ascending and self.order is None:
            raise ValueError("order, where ascending is true")
        return self

    @property
    def wanted_statuses(self) -> tuple[MemoryStatus, ...] | None:
        """The states, or None for any."""
        if "all" in self.status:
            return None
        return tuple(status for status in self.status if status != "all")

    @property
    def wanted_sensitivities(self) -> tuple[Sensitivity, ...] | None:
        """The levels, or None for any."""
        return tuple(Sensitivity.parse(level) for level in self.sensitivity) or None

    @property
    def wanted_tiers(self) -> tuple[TrustTier, ...] | None:
        """The tiers, or None for any."""
        return tuple(TrustTier[tier.upper()] for tier in self.tier) or None


class Edit(Request):
    """Change a memory; what is left out stays."""

    content: str | None = Field(
        default=None, min_length=1, max_length=MAX_CONTENT_CHARS, description="the statement"
    )
    headline: str | None = Field(
        default=None, max_length=200, description="what an index shows of it; empty: made from the words"
    )
    kind: str | None = Field(default=None, max_length=100, description="its kind")
    when: str | None = Field(default=None, max_length=2000, description="when it applies, in words")
    scope: NewScope | None = Field(
        default=None,
        description="who may see it: `universal`, `language:python`, `project` (that of `cwd`), `project:...`",
    )
    cwd: Place = Field(default="", description="working folder, for the scope `project`")
    importance: float | None = Field(default=None, ge=0.0, le=1.0, description="0 to 1")
    pinned: bool | None = Field(default=None, description="packed first in presets that pin")
    sensitivity: SensitivityName | None = Field(default=None, description="where it may appear")
    all_branches: Literal[True] | None = Field(
        default=None,
        description="true = from now on it holds on all branches, not only on the one it was learned on",
    )

    @property
    def wanted_sensitivity(self) -> Sensitivity | None:
        """The new level, or None to leave it."""
        return Sensitivity.parse(self.sensitivity) if self.sensitivity else None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if all(getattr(self, name) is None for name in type(self).model_fields if name != "cwd"):
            raise ValueError("at least one field to change")
        return self


ReviewValues = Annotated[tuple[Annotated[str, Field(max_length=400)], ...], Field(max_length=100)]


class ReviewWhere(Request):
    """Which entries of the review queue; what is left out asks for all."""

    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    kind: ReviewValues = Field(default=(), description="only these kinds")
    source: ReviewValues = Field(default=(), description="only from these sources, such as an imported file")
    tier: ReviewValues = Field(default=(), description="only with these trust tiers")
    cause: tuple[ReviewCause, ...] = Field(
        default=(),
        max_length=4,
        description="only these causes: a contradiction, added by an agent, imported, captured and not confirmed",
    )
    scope: ReviewValues = Field(default=(), description="only of these projects or other scopes")
    text: str = Field(default="", max_length=1000, description="only with all of these words, in any order")

    @property
    def wanted(self) -> ReviewFilter:
        """The filter."""
        return ReviewFilter(
            kind=self.kind,
            source=self.source,
            tier=self.tier,
            cause=self.cause,
            scope=self.scope,
            text=self.text.strip(),
        )


class ListReview(ReviewWhere, Page):
    """Which part of the review queue."""


class DecideAll(Request):
    """The same decision on many entries of the review queue, as one change."""

    action: Literal["accept", "reject", "keep"] = Field(description="as for one entry")
    ids: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=10_000, description="of these statements"
    )
    where: ReviewWhere | None = Field(default=None, description="instead of `ids`: all entries that match")
    count: int | None = Field(
        default=None,
        ge=0,
        description="with `where`: the expected number of matches, from `total`; if it differs, nothing is decided",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if bool(self.ids) == (self.where is not None):
            raise ValueError("either ids or where")
        if (self.where is None) != (self.count is None):
            raise ValueError("count together with where")
        return self


class Decide(Request):
    """A decision on one statement of the review queue."""

    action: Literal["accept", "reject", "merge", "keep"] = Field(
        description="`accept` = it is active and ends what it contradicts; `reject` = it is dropped and not learned again;"
        " `merge` = both say the same; `keep` = both stay active"
    )
    content: str | None = Field(
        default=None, min_length=1, max_length=MAX_CONTENT_CHARS, description="for `accept`: better words"
    )
    into: str | None = Field(
        default=None, max_length=100, description="for `merge`: the memory that says the same"
    )


class ListChanges(Page):
    """Which changes to tell."""

    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    id: str | None = Field(default=None, max_length=100, description="only of this memory")
    change: str | None = Field(default=None, max_length=100, description="only the entries of this change")
    cause: tuple[ChangeCause, ...] = Field(
        default=(), max_length=100, description="only changes made for these causes"
    )
    scope: tuple[ScopeText, ...] = Field(
        default=(),
        max_length=100,
        description="only these scopes; a project's stands for its paths and tasks, too",
    )
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="from this time on")
    until_ms: int = Field(default=MOST_MS, ge=0, le=MOST_MS, description="before this time")
    limit: int = Field(default=20, ge=1, le=500, description="most changes")

    def wants(self, change: Recorded) -> bool:
        """Whether the cause and the time of a change are among those asked for."""
        fits = not self.cause or change.reason.cause in self.cause
        return fits and self.since_ms <= change.at_ms < self.until_ms


class Undo(Request):
    """Take back one change, or all that a session taught."""

    id: (
        Annotated[
            str,
            AfterValidator(_change_id),
            Field(min_length=5, max_length=100, json_schema_extra={"pattern": "^chg_"}),
        ]
        | None
    ) = Field(
        default=None,
        description="`change_id` of the answer to a write, or of an entry of `GET /v1/changes`; or `session`",
    )
    session: SessionName | None = Field(
        default=None,
        description="the session: all that was captured or noted in it is taken back, what it ended holds again",
    )
    memory: str | None = Field(
        default=None,
        max_length=100,
        description="only its effect on this memory and the ones that it replaced; default: the whole change",
    )
    keep_both: bool = Field(
        default=False,
        description="keep the later statement of a supersession or a merge as a separate memory",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if (self.id is None) == (self.session is None):
            raise ValueError("either id or session")
        if self.session is not None and (self.memory is not None or self.keep_both):
            raise ValueError("memory and keep_both only with id")
        return self


class Forget(Request):
    """Why a memory is retired."""

    reason: str = Field(default="forgotten", min_length=1, max_length=500, description="kept in the history")


class Feedback(Request):
    """Whether a memory was of use."""

    useful: bool = Field(description="false = it was wrong or unwanted")
    trace_id: str | None = Field(
        default=None,
        max_length=100,
        description="the recall that injected it; charts and `tune` read it",
    )


class ListTraces(Page):
    """Which traces to show."""

    session: str | None = Field(default=None, max_length=700, description="`host/id`")
    surface: AskedSurface | None = Field(default=None, description="only this surface")
    limit: int = Field(default=10, ge=1, le=200, description="most traces")
    threshold: float | None = Field(
        default=None, ge=0.0, le=1.0, description="also repeat each decision with this threshold"
    )


class Tune(Request):
    """Fit the levels before a prompt to this store, and the cosine bars of the preset to an embedder of the user's own."""

    bound: float = Field(
        default=0.12,
        ge=0.01,
        le=0.5,
        description="greatest rate of injections into prompts that deserve nothing, at the level `balanced`; `quiet` keeps 5/12 of it, `eager` 25/12",
    )
    apply: bool = Field(default=False, description="keep the levels and the bars")


class BeginRescan(Request):
    """Take secrets out of everything stored, by the rules that hold now."""

    dry_run: bool = Field(default=False, description="only count what would change")


class Mute(Request):
    """Stop or resume injecting."""

    muted: bool = Field(default=True, description="false = resume")


class FindTranscripts(LongPage):
    """Which past transcripts to look for."""

    cwd: Folder = Field(default="", description="working folder of the project; left out = every project")
    path: tuple[Folder, ...] = Field(
        default=(), max_length=1000, description="files and folders to search instead"
    )
    host: str = Field(default="", max_length=100, description="only sessions of this host")
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="only files changed since")


class WriteUps(Request):
    """Have a session that waits written up by the language model."""

    past: bool = Field(default=False, description="for imported sessions instead of current ones")
    dry_run: bool = Field(default=False, description="only show the requests; nothing is sent")


class Backfill(Request):
    """Learn from past transcripts."""

    cwd: Folder = Field(
        default="", description="working folder of the project; with `named`, of sessions that name none"
    )
    paths: tuple[str, ...] | None = Field(
        default=None, max_length=10_000, description="only these of `GET /v1/transcripts`; default: all"
    )
    named: bool = Field(
        default=False, description="`paths` are files of the user's choice, wherever they are"
    )
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="leave out sessions that ended before")
    subagents: bool = Field(default=False, description="also learn from subagents")
    dry_run: bool = Field(default=False, description="preview; nothing is stored")
    write_up: bool = Field(
        default=False, description="let the sessions wait for the language model; POST /v1/write-ups asks it"
    )
    server: str = Field(
        default="",
        max_length=500,
        description="read the sessions of a running OpenCode server at this address",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if self.server:
            return self
        if self.named and not self.paths:
            raise ValueError("paths, where named is true")
        if not self.named and not self.cwd:
            raise ValueError("cwd, or named files, or server")
        return self


class Backup(Request):
    """Where the copy goes."""

    target: Folder = Field(min_length=1, description="a file that does not exist yet")
