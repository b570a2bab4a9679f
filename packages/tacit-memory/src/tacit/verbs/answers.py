"""The shapes of the API's answers, each declared once: handlers fill them, the encoder writes them, the OpenAPI document and the clients' types are made from them.

In: values of the program. Out: models to fill. A value of the program is an answer, or a part of one, as it is, but for those
that `SentAs` names: memories, changes and traces have a form of their own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from tacit.app.admin.learned import Learned, LearnedStatement, SessionDigest, TaughtMemory
from tacit.app.admin.recalls import InjectedMemory, RecallRow, SessionRow, SessionView
from tacit.app.admin.series import Series
from tacit.app.admin.settings import AgentSettings, SettingsView
from tacit.app.maintenance.maintenance import Job, StoreCopy, StoreUse
from tacit.app.maintenance.review import ReviewCause
from tacit.app.projects import Related
from tacit.app.queries.injection import InjectionResult
from tacit.app.reasons import ShownTrace, change_text, in_words, summary_text
from tacit.app.sharing.team import SharedFile
from tacit.app.stats import Holdout, InjectionStats, stats_of
from tacit.app.transfer.report import ImportLine
from tacit.app.values import EngineStatus
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.model.memory import Memory, Provenance, Relation, Sensitivity, SensitivityName, TrustTier
from tacit.model.pack import Block, PackItem
from tacit.model.scope import Scope
from tacit.model.shared import (
    AddedMember,
    AuditEntry,
    MemberView,
    Owned,
    SharedMemory,
    ShareRequest,
    TeamMembership,
)
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import GivenTimes, ProjectRecord
from tacit.recall.finished import Replayed
from tacit.state.counted import Verdict
from tacit.sync.views import (
    DeviceView,
    Exchanged,
    KnownTeam,
    LoginResult,
    SignInBegun,
    SignInResult,
    SyncStatus,
)

Tier = Literal["import", "tool", "assistant", "teammate", "user"]


_Shape = TypeVar("_Shape")


class Shape(BaseModel):
    """The base class of all answer shapes: immutable, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True, slots=True)
class SentAs:
    """An annotation for a field of an answer: `write` turns the program's value into `shape`, which is what the JSON holds."""

    write: Callable[[Any], Any]
    shape: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema for pydantic: the value is not checked when the answer is made, and is serialized as `shape`."""
        written = core_schema.plain_serializer_function_ser_schema(
            self.write, return_schema=handler.generate_schema(self.shape)
        )
        return core_schema.any_schema(serialization=written)


def _view(of: type[Any], name: str, about: str, **other: Any) -> type[Any]:
    """Make a dataclass with the fields of the dataclass `of`. `other` replaces the types of some fields and adds further fields; `about` is its docstring."""
    hints = get_type_hints(of)
    types: dict[str, Any] = {field.name: hints[field.name] for field in fields(of)} | other
    namespace = {"__doc__": about, "__module__": __name__, "__pydantic_config__": ConfigDict(extra="forbid")}
    return make_dataclass(name, types.items(), namespace=namespace, kw_only=True, slots=True)


def _fill(shape: Callable[..., _Shape], value: object, **other: object) -> _Shape:
    """Make a `shape` from the attributes of `value` that have the names of its fields; `other` gives the remaining fields."""
    names = (field.name for field in fields(cast(Any, shape)) if field.name not in other)
    return shape(**{name: getattr(value, name) for name in names}, **other)


_Origin = _view(
    Provenance,
    "Origin",
    "Who said it and where.",
    tier=Annotated[TrustTier, SentAs(lambda tier: tier.name.lower(), Tier)],
    speaker=Annotated[str, Field(description="the tier, or `agent` for what an agent stated through a tool")],
)
_MemoryFields = _view(
    Memory,
    "MemoryFields",
    "One memory. Times are milliseconds since the epoch.",
    scope=Annotated[Scope, SentAs(str, str), Field(description="such as `universal` or `project:...`")],
    provenance=_Origin,
    sensitivity=Annotated[Sensitivity, SentAs(lambda level: level.name.lower(), SensitivityName)],
    content_hash=str,
    etag=Annotated[
        str, Field(description="for `If-Match`; changes with everything but `use_count` and `shown_count`")
    ],
)


@dataclass(slots=True, kw_only=True)
class MemoryView(_MemoryFields):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """One memory. Times are milliseconds since the epoch."""


@dataclass(slots=True, kw_only=True)
class FoundMemory(MemoryView):
    """A memory that a recall gave: the text as the block shows it, its tokens, and why it was chosen."""

    text: str
    text_tokens: int
    shortened: bool
    relevance: float
    scores: Mapping[str, float]
    reasons: Sequence[str]


def _memory_view(memory: Memory, shape: Callable[..., _Shape] = MemoryView, **other: object) -> _Shape:
    origin = _fill(_Origin, memory.provenance)
    return _fill(shape, memory, provenance=origin, etag=etag_of(memory), **other)


@cache
def _versions() -> TypeAdapter[Any]:
    return TypeAdapter(MemoryView)


def etag_of(memory: Memory) -> str:
    """Return the etag of a memory: a digest of all its fields except the counts of uses and exposures, so that a use does not change it."""
    view = _fill(MemoryView, memory, provenance=_fill(_Origin, memory.provenance), etag="")
    version = _versions().dump_python(view, mode="json", exclude={"etag", "use_count", "shown_count"})
    return hashlib.blake2b(json.dumps(version).encode("ascii"), digest_size=10).hexdigest()


def _found_memory(item: PackItem) -> FoundMemory:
    candidate = item.candidate
    return _memory_view(
        candidate.memory,
        FoundMemory,
        text=item.text,
        text_tokens=item.tokens,
        shortened=item.shortened,
        relevance=candidate.relevance,
        scores=dict(candidate.scores),
        reasons=candidate.reasons,
    )


MemoryAnswer = Annotated[Memory, SentAs(_memory_view, MemoryView)]
_TraceFields = _view(
    ShownTrace,
    "TraceFields",
    "One recall from signal to delivery.",
    cause=SilenceCause | None,
    stats=InjectionStats,
    summary=str,
)


@dataclass(slots=True, kw_only=True)
class TraceView(_TraceFields):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """One recall from signal to delivery, with its counts."""


def _trace_view(trace: Trace) -> TraceView:
    return _fill(TraceView, in_words(trace), stats=stats_of(trace), summary=summary_text(trace))


TraceAnswer = Annotated[Trace, SentAs(_trace_view, TraceView)]


class Written(Shape):
    """The change that stored, merged or edited a memory."""

    change: Literal["add", "merge", "edit"]
    reason: str
    cause: ChangeCause
    memory: MemoryAnswer


class Superseded(Shape):
    """The change that stored a memory which replaces others. `old_id` and `further` are the replaced memories."""

    change: Literal["supersede"]
    reason: str
    cause: ChangeCause
    memory: MemoryAnswer
    old_id: str
    at_ms: int
    further: Sequence[str]
    contested: Sequence[str]


class Contradicted(Shape):
    """The change that stored a memory which contradicts others; the user has to decide between them."""

    change: Literal["contradict"]
    reason: str
    cause: ChangeCause
    memory: MemoryAnswer
    other_id: str
    further: Sequence[str]


class Retired(Shape):
    """The change that ended a memory: it is no longer recalled."""

    change: Literal["retire"]
    reason: str
    cause: ChangeCause
    memory_id: str
    at_ms: int


class Skipped(Shape):
    """A statement that was not stored, and the reason; `memory` is the one that already says the same, null = there is none."""

    change: Literal["skip"]
    reason: str
    cause: ChangeCause
    content: str
    memory: MemoryAnswer | None


ChangeView = Written | Superseded | Contradicted | Retired | Skipped


CHANGE_VIEWS: Mapping[type[Change], tuple[str, Any]] = {
    Add: ("add", Written),
    Merge: ("merge", Written),
    Rewrite: ("edit", Written),
    Supersede: ("supersede", Superseded),
    Contradict: ("contradict", Contradicted),
    Retire: ("retire", Retired),
    Skip: ("skip", Skipped),
}
"""By change: what it is called in an answer, and its form there."""


def _change_view(change: Change) -> ChangeView:
    name, shape = CHANGE_VIEWS[type(change)]
    told = {"change": name, "reason": change_text(change.reason), "cause": change.reason.cause}
    return shape(
        **{field: getattr(change, field) for field in shape.model_fields if field not in told}, **told
    )


ChangeAnswer = Annotated[Change, SentAs(_change_view, ChangeView)]


ChangeId = Annotated[
    str | None,
    Field(description="for `POST /v1/undo`; null where nothing was written, or nothing was asked to be"),
]


NextCursor = Annotated[str | None, Field(description="for `cursor`; null at the end")]


class Changed(Shape):
    """The changes that a request made."""

    changes: Sequence[ChangeAnswer]
    change_id: ChangeId = None


class RecalledView(Shape):
    """The answer to a recall: the block as a host would get it, its memories best first, and the trace with all ten stages."""

    block: Block
    memories: Sequence[Annotated[PackItem, SentAs(_found_memory, FoundMemory)]]
    budget_tokens: int
    trace: TraceAnswer
    replayed: Sequence[Replayed] = Field(description="the same decided at the thresholds asked for")


class RankPlaces(Shape):
    """The place of a found memory in the two rankings of a search (1 = first; null = not in it), and the score of both together."""

    matched: bool = Field(
        description="whether it has every word of the search, perhaps in another form or spelling; others are near"
    )
    score: float
    by_words: int | None
    by_meaning: int | None


class Facet(Shape):
    """A value, and how many memories have it."""

    value: str
    count: int


class Facets(Shape):
    """Counts of memories by value, most first. Each list ignores its own filter and heeds all others, so that it shows what a click would list."""

    kind: Sequence[Facet]
    scope: Sequence[Facet] = Field(description="a project stands for its paths and tasks, too")
    tier: Sequence[Facet]
    status: Sequence[Facet]
    sensitivity: Sequence[Facet]
    given: Sequence[Facet] = Field(description="`true` and `false`")
    used: Sequence[Facet] = Field(description="`true` and `false`")


class ListedMemories(Shape):
    """A page of a list of memories; `next_cursor` is null at the end. `total` counts all memories that match; in a search, the best 200."""

    memories: Sequence[MemoryAnswer]
    hits: Sequence[RankPlaces] = Field(
        default=(), description="in a search: how each of `memories` was found, in the same order"
    )
    limit: int
    offset: int
    next_offset: int | None
    next_cursor: str | None
    total: int | None
    matched: int | None = Field(
        description="in a search: how many of `total` have every word of it; they come first"
    )
    given_times: Sequence[GivenTimes] = Field(
        description="how often each of `memories` was given, in the same order"
    )
    facets: Facets | None = Field(
        default=None, description="counts by value, for filters; null if they were not asked for"
    )


class OneMemory(Shape):
    """One memory."""

    memory: MemoryAnswer
    change_id: ChangeId = None

    @property
    def etag(self) -> str:
        """Return the etag of this version of the memory, for `If-Match`."""
        return etag_of(self.memory)


class Edited(OneMemory):
    """A memory after it was changed, replaced or merged, and the changes that were written. A new statement is in `changes`."""

    changes: Sequence[ChangeAnswer]


class ShownMemory(OneMemory):
    """Answer to showing one memory: the memory and, where the request asks for them, its versions, its relations and the related memories."""

    versions: Sequence[MemoryAnswer] = Field(default=(), description="its versions, oldest first")
    relations: Sequence[Relation] = Field(default=(), description="its relations, strongest first")
    related: Sequence[MemoryAnswer] = Field(
        default=(), description="the memories at the other ends of its relations"
    )
    shared_as: Mapping[str, str] = Field(
        default_factory=dict,
        description="of a memory of the user's own: its id for the other members, by the team that shares it",
    )


class ReviewEntry(Shape):
    """An entry of the review queue: a memory about which the user has to decide; `other` is the second one of a pair."""

    memory: MemoryAnswer
    other: MemoryAnswer | None
    cause: ReviewCause
    reason: str
    alike: bool = Field(description="whether a comparison of a pair word by word makes sense")


class GroupCount(Shape):
    """The number of review entries with one value of a property, such as one kind."""

    value: str
    count: int


class ReviewGroups(Shape):
    """The number of matching review entries for each kind, source, tier, cause and scope, most first."""

    kind: Sequence[GroupCount]
    source: Sequence[GroupCount]
    tier: Sequence[GroupCount]
    cause: Sequence[GroupCount]
    scope: Sequence[GroupCount]


class ReviewQueue(Shape):
    """A page of the review queue. `total` counts the entries that match the filters, `waiting` all entries; `next_cursor` is null at the end."""

    review: Sequence[ReviewEntry]
    total: int
    waiting: int
    groups: ReviewGroups
    next_cursor: str | None


class Decided(Shape):
    """The result of a decision in the review queue: the number of decided statements and, for a single statement, the changes."""

    decided: int
    changes: Sequence[ChangeAnswer] = ()
    change_id: ChangeId = None


class ChangeEntry(Shape):
    """An entry of the change log: one written version of a memory, and the version before it. Versions of the same change share `change_id`."""

    change_id: str
    at_ms: int
    reason: str
    cause: ChangeCause
    memory: MemoryAnswer
    before: MemoryAnswer | None


class ChangeLog(Shape):
    """A page of the change log, newest first."""

    changes: Sequence[ChangeEntry]
    next_cursor: NextCursor


class TracePage(Shape):
    """A page of recalls, newest first: in one line each, and whole if the request says so.

    `learned` = what was learned from the prompts of the whole ones. `replayed` repeats the decisions at the threshold of the
    request; empty if it names none.
    """

    recalls: Sequence[RecallRow]
    traces: Sequence[TraceAnswer]
    learned: Sequence[TaughtMemory]
    replayed: Sequence[Replayed]
    next_cursor: NextCursor


class OneTrace(Shape):
    """A recall with the verdicts on it, and what was learned from its prompt. `replayed` repeats the decision at the threshold of the request; null if it names none."""

    trace: TraceAnswer
    verdicts: Sequence[Verdict]
    learned: Sequence[TaughtMemory]
    replayed: Replayed | None = None


class SessionPage(Shape):
    """A page of sessions, the one with the newest signal first; `next_cursor` is null at the end."""

    sessions: Sequence[SessionRow]
    next_cursor: str | None


class ExposurePage(Shape):
    """A page of injected memories, newest first; `next_cursor` is null at the end."""

    exposures: Sequence[InjectedMemory]
    next_cursor: str | None


class Muted(Shape):
    """Whether a session is muted, which means that nothing is injected into it."""

    session: str
    muted: bool


class OneSession(Shape):
    """A session turn by turn: prompts, injected and dropped memories."""

    session: SessionView


_LearnedStatementView = _view(
    LearnedStatement,
    "LearnedStatement",
    "One statement of a session and what became of it. `believed` says whose word it is, `waits` whether the user has to decide.",
    memory=MemoryAnswer,
    waits=bool,
    replaced=Sequence[MemoryAnswer],
    questions=Sequence[MemoryAnswer],
)
_LearnedView = _view(
    Learned,
    "LearnedView",
    "What one session taught.",
    statements=Sequence[
        Annotated[
            LearnedStatement,
            SentAs(lambda statement: _fill(_LearnedStatementView, statement), _LearnedStatementView),
        ]
    ],
)
LearnedAnswer = Annotated[Learned, SentAs(lambda learned: _fill(_LearnedView, learned), _LearnedView)]


class DigestPage(Shape):
    """A page of session digests, newest first. `reason` says why there are none, or why the newest session has none yet."""

    digests: Sequence[SessionDigest]
    reason: str
    learned: LearnedAnswer | None = Field(
        default=None,
        description="what was learned from the session; null if it was not asked for, or no session is known",
    )
    next_cursor: NextCursor


class ProjectRow(Shape):
    """A project and how many active memories it holds."""

    project: ProjectRecord
    scope: str
    active: int


class FolderProject(Shape):
    """The project of a folder, and other projects that may belong to it. `notice` is the question that the user has not answered yet; empty = none."""

    project: ProjectRecord
    related: Sequence[Related]
    notice: str


class Projects(Shape):
    """A page of projects, sorted by name. `here` is that of the folder asked for; null if none was."""

    projects: Sequence[ProjectRow]
    here: FolderProject | None
    next_cursor: NextCursor


class SyncView(Shape):
    """The answer with the state of this home's sync, as it was known without asking the server. `devices` are empty if they were not asked for."""

    sync: SyncStatus
    devices: Sequence[DeviceView] = ()
    next_cursor: NextCursor = None


class SyncedView(Shape):
    """The answer to an exchange with the server: what was sent and received, and the state of the sync afterwards."""

    sync: SyncStatus
    exchanged: Exchanged


class LoggedInView(Shape):
    """The answer to a login. With `dry_run` only `shared` is filled: nothing was sent."""

    shared: int = Field(description="memories that other devices of the account get")
    login: LoginResult | None


class SignInView(Shape):
    """The answer to a step of a single sign-on: where the user continues it, or its present result."""

    begun: SignInBegun | None = None
    result: SignInResult | None = None


class DevicesView(Shape):
    """The answer after a device was invited or refused: the code for the new one, the devices of the account, or the new login."""

    code: str = ""
    devices: Sequence[DeviceView] = ()
    login: LoginResult | None = None


class TeamView(Shape):
    """What a team shares through its repository. `problem` says why that is not known; empty = it is known."""

    project: ProjectRecord
    joined: bool = Field(description="what stands on the default branch counts as the word of teammates here")
    files: Sequence[SharedFile]
    problem: str
    changed: int = Field(description="files that this request imported, changed or ended")


class TeamsView(Shape):
    """The answer with the teams of the user: as the server has them, as this home knows them, or with all that the server holds about the user."""

    teams: Sequence[TeamMembership] = ()
    known: Sequence[KnownTeam] = ()
    owned: Owned | None = None


class MembersView(Shape):
    """The members of a team."""

    members: Sequence[MemberView]
    next_cursor: NextCursor


class MemberPut(Shape):
    """The answer after a member or a service account was added, changed or removed.

    `added` has a code of invitation or a token where one was made; `members` are those left after a removal.
    """

    added: AddedMember | None = None
    members: Sequence[MemberView] = ()


class AuditView(Shape):
    """Entries of a team's audit log, newest first."""

    entries: Sequence[AuditEntry]
    next_cursor: NextCursor


class ShareRequestsView(Shape):
    """A page of share requests, oldest first."""

    requests: Sequence[ShareRequest]
    next_cursor: NextCursor


class ShareRequestView(Shape):
    """A share request in its present state."""

    request: ShareRequest


class SharedView(Shape):
    """What became of sharing a memory: its file in the repository, the request to the team, or the memory that a team no longer shares."""

    file: SharedFile | None = None
    request: ShareRequest | None = None
    memory: SharedMemory | None = None


class KindRow(Shape):
    """A kind of memory: its label, prefix, base importance and half-life. `standing` = it holds until it is superseded; `episodic` = it tells what happened."""

    name: str
    label: str
    prefix: str
    importance: float
    half_life_days: float | None
    standing: bool
    episodic: bool


class SpaceRow(Shape):
    """A space, which is one measure of similarity. `high` and `low` are its thresholds, on its own scale."""

    name: str
    family: Literal["meaning", "words", "situation", "things", "time"]
    summary: str
    topic_weight: float
    high: float
    low: float


class Kinds(Shape):
    """The defined kinds, built-in ones and those of the settings, and all spaces in a fixed order."""

    kinds: Sequence[KindRow]
    spaces: Sequence[SpaceRow]


_RuleFileView = _view(
    RuleFile,
    "RuleFileView",
    "One rule file: its path in the project, how many memories it stands for now, and what happened to it.",
    left_out=Annotated[
        Sequence[Annotated[ChangeReason, SentAs(change_text, str)]],
        Field(description="why statements of it were not stored, one reason each"),
    ],
)
RuleFileAnswer = Annotated[RuleFile, SentAs(lambda file: _fill(_RuleFileView, file), _RuleFileView)]


class Imported(Shape):
    """The result of an import of rule files: each file, and all changes."""

    files: Sequence[RuleFileAnswer]
    changes: Sequence[ChangeAnswer]


class Transcripts(Shape):
    """A page of past transcripts that can be learned from."""

    transcripts: Sequence[TranscriptInfo]
    next_cursor: NextCursor


class WriteUpRequest(Shape):
    """The exact text of one request to the language model. `tokens` is estimated."""

    session: str
    root: str
    tokens: int
    system: str
    user: str


class WrittenUp(Shape):
    """The result of asking the language model once, or with `dry_run` what would be sent. `session` names the session or the other work that was sent; "" = nothing was.

    `waiting` counts the requests that can be sent after it, `tokens` what they would cost, estimated.
    """

    provider: str
    session: str
    error: str
    changes: Sequence[ChangeAnswer]
    waiting: int
    tokens: int
    requests: Sequence[WriteUpRequest]


class BackupPath(Shape):
    """The path of the written backup."""

    target: str


class Exported(Shape):
    """The format and size of an export, and where it was written; without a target its `text`."""

    target: str
    format: str
    bytes: int
    text: str


class ImportedFormat(Shape):
    """A file that was read in an import, and the tool whose format it has."""

    path: str
    tool: str


class ImportedFile(Shape):
    """The result of an import, or with `dry_run` what it would do."""

    formats: Sequence[ImportedFormat]
    counts: Mapping[str, int] = Field(description="statements by `action`, all of them")
    lines: Sequence[ImportLine] = Field(description="one per statement, in order; at most 5,000")
    unconfirmed: int = Field(description="statements that wait in review")
    speaks_for_user: bool = Field(
        description="it holds statements in the user's name that this home did not sign; ask the user before you send `mine`"
    )
    change_ids: Sequence[str] = Field(description="the changes that it wrote, for `POST /v1/undo`")
    dry_run: bool


class Copies(Shape):
    """The backups and replaced databases that can be restored."""

    copies: Sequence[StoreCopy]


class StoreRestored(Shape):
    """The result of restoring the store from a backup: where the former store lies now, and how many memories a damaged backup still gave.

    With `dry_run` nothing was replaced.
    """

    source: str
    former: str | None = Field(
        description="where the former store is now; null = there was none, or `dry_run`"
    )
    recovered: int | None = Field(
        description="how many memories could be read of a damaged database; null = the backup is sound"
    )
    dry_run: bool


class OneJob(Shape):
    """The state of a background job."""

    job: Job


class JobList(Shape):
    """The background jobs with their state: the last one of each name."""

    jobs: Sequence[Job]


class Stats(Shape):
    """What is stored and used, numbers over time, and sessions with memory beside those without. What was not asked for is null."""

    use: StoreUse | None
    series: Series | None
    holdout: Holdout | None


class InjectionFailure(Shape):
    """The reason why an injection failed: `reason` is `embedding`, `store` or `timeout`."""

    reason: str
    message: str


class Injected(Shape):
    """The text to put before a prompt. After a failure `result` holds what can still be used."""

    result: InjectionResult
    failure: InjectionFailure | None


class ItemView(Shape):
    """An item of a program. `score` is null unless a query determined the order."""

    namespace: Sequence[str]
    key: str
    value: Annotated[
        Mapping[str, Any], WithJsonSchema({"type": "object", "additionalProperties": True, "title": "Value"})
    ]
    created_at_ms: int
    updated_at_ms: int
    memory_id: str
    score: float | None


class OneItem(Shape):
    """The item that was stored."""

    item: ItemView


class ItemList(Shape):
    """A page of items, best match first for a query, else newest first; or of the namespaces that hold items, sorted."""

    items: Sequence[ItemView]
    namespaces: Sequence[Sequence[str]]
    next_cursor: NextCursor


class SettingsAnswer(Shape):
    """The settings, with the layer of every value."""

    settings: SettingsView
    reverted: bool = Field(default=False, description="whether something was reset")

    @property
    def etag(self) -> str:
        """Return the etag of the user's settings file, for `If-Match`."""
        return self.settings.etag


class Agents(Shape):
    """A page of the known agents: those with settings, and those of sessions."""

    agents: Sequence[AgentSettings]
    next_cursor: NextCursor


class OneAgent(Shape):
    """One agent's settings."""

    agent: AgentSettings


class Check(Shape):
    """The result of one health check; `hint` says what to do if it is not `ok`."""

    name: str
    ok: bool
    detail: str
    hint: str


class AgentState(Shape):
    """A coding agent: whether it is connected, and when it was heard of last."""

    host: str = Field(description="its name; `plain` and others are programs of the user's own")
    state: Literal["installed", "outdated", "partial", "absent", "unknown"] = Field(
        description="whether its files name Tacit; `unknown` = it has none that Tacit knows"
    )
    heard_ms: int = Field(description="when an event of it came last; 0 = never")
    problems: Sequence[str] = Field(description="what is wrong, in sentences that say what to do")


_Status = _view(
    EngineStatus,
    "StatusFields",
    "The state of the engine.",
    agents=Annotated[
        Sequence[AgentState],
        Field(description="the agents of this machine that are connected, could be, or were heard of"),
    ],
    ok=Annotated[bool, Field(description="whether all checks passed")],
    checks=Sequence[Check],
    # Not `Mapping[str, float]`: that would write whole numbers as fractions.
    counters=Annotated[
        Mapping[str, Any],
        WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}, "title": "Counters"}),
        Field(description="numbers of the process"),
    ],
)


@dataclass(slots=True, kw_only=True)
class StatusView(_Status):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """The state of the engine, the results of its health checks, and numbers of the process."""


def status_view(
    status: EngineStatus,
    *,
    agents: Sequence[AgentState],
    checks: Sequence[Check],
    counters: Mapping[str, float],
) -> StatusView:
    """Return the state of the engine with its agents and the results of its checks."""
    ok = all(check.ok for check in checks)
    return _fill(StatusView, status, ok=ok, agents=agents, checks=checks, counters=counters)


class Document(Shape):
    """An answer that is a document of its own with any fields, such as the OpenAPI document."""

    model_config = ConfigDict(extra="allow")


class Problem(Shape):
    """An error (RFC 9457). `code` is stable; `hint` says what to do."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:tacit:error:not_found",
                    "title": "Not found",
                    "status": 404,
                    "detail": "No memory is called 'mem_0000'.",
                    "code": "not_found",
                    "hint": "GET /v1/memories lists them.",
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
