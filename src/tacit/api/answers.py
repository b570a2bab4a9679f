"""What the API answers: one small model per shape, for the OpenAPI document and the tests that hold answers to it.

In: nothing. Out: classes that are never filled: handlers answer plain values. Loaded by nobody who only asks.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from tacit.app.admin.digests import Digests
from tacit.app.admin.graph import Graph
from tacit.app.admin.learned import DroppedCount, Evidence, StillWaiting
from tacit.app.admin.purging import Purged
from tacit.app.admin.recalls import Handed, RecallRow, SessionRow, SessionView
from tacit.app.admin.series import Series
from tacit.app.admin.settings import AgentSettings, SettingRow, SettingsView
from tacit.app.holdout.report import Holdout
from tacit.app.maintenance.jobs import Job
from tacit.app.maintenance.maintenance import StoreUse
from tacit.app.maintenance.review_queue import ReviewCause
from tacit.app.projects import Related
from tacit.app.queries.injection import InjectionResult
from tacit.app.tuning import TuneReport
from tacit.app.values import EngineStatus
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.capture.discover import TranscriptInfo
from tacit.capture.report import CaptureReport
from tacit.model.memory import Memory, Provenance, Relation
from tacit.model.pack import Block
from tacit.model.session import Nudge
from tacit.model.trace import Trace
from tacit.ports.store import ProjectRecord, StoreStats
from tacit.recall.replay import Replayed
from tacit.state.captured import Fate
from tacit.state.counted import RequestRecord, Verdict
from tacit.upkeep.rescan import Rescan

Tier = Literal["import", "tool", "assistant", "user"]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


def _view(of: type[Any], name: str, about: str, **other: Any) -> type[BaseModel]:
    """The fields of a value of the program, with `other` types for some, and those that it has not."""
    hints = get_type_hints(of)
    held: dict[str, Any] = {one.name: (hints[one.name], ...) for one in fields(of)}
    held |= {field: (kind, ...) for field, kind in other.items()}
    return create_model(name, __base__=_Answer, __doc__=about, __module__=__name__, **held)


Origin = _view(
    Provenance,
    "Origin",
    "Who said it and where.",
    tier=Tier,
    speaker=Annotated[str, Field(description="the tier, or `agent` for what an agent stated through a tool")],
)
_MemoryFields = _view(
    Memory,
    "MemoryFields",
    "One memory. Times are milliseconds since the epoch.",
    scope=Annotated[str, Field(description="such as `universal` or `project:...`")],
    provenance=Origin,
    sensitivity=Literal["public", "project", "session", "restricted"],
    content_hash=str,
    etag=Annotated[str, Field(description="for `If-Match`; changes with everything but `use_count`")],
)


class MemoryView(_MemoryFields):  # pyright: ignore[reportGeneralTypeIssues, reportUntypedBaseClass]
    """One memory. Times are milliseconds since the epoch."""


class FoundMemory(MemoryView):
    """A memory as an answer hands it over."""

    text: str
    text_tokens: int
    shortened: bool
    relevance: float
    scores: dict[str, float]
    reasons: list[str]


class Written(_Answer):
    """A memory was stored or changed."""

    change: Literal["add", "merge", "edit"]
    reason: str
    memory: MemoryView


class Superseded(_Answer):
    """A memory was stored in place of others."""

    change: Literal["supersede"]
    reason: str
    memory: MemoryView
    old_id: str
    at_ms: int
    further: list[str]
    contested: list[str]


class Contradicted(_Answer):
    """A memory was stored that contradicts others."""

    change: Literal["contradict"]
    reason: str
    memory: MemoryView
    other_id: str
    further: list[str]


class Retired(_Answer):
    """A memory is recalled no more."""

    change: Literal["retire"]
    reason: str
    memory_id: str
    at_ms: int


class Skipped(_Answer):
    """Nothing was stored, and why; `memory_id` names the memory that says it already, "" where none does."""

    change: Literal["skip"]
    reason: str
    content: str
    memory_id: str


ChangeView = Written | Superseded | Contradicted | Retired | Skipped


ChangeId = Annotated[
    str | None,
    Field(description="for `POST /v1/undo`; null where nothing was written, or nothing was asked to be"),
]


class Changed(_Answer):
    """What was changed."""

    changes: list[ChangeView]
    change_id: ChangeId


class RecalledView(_Answer):
    """The block as a host would get it, its memories best first, the trace with all ten stages."""

    block: Block
    memories: list[FoundMemory]
    budget_tokens: int
    trace: Trace
    replayed: list[Replayed] = Field(description="the same decided at the thresholds asked for")


class BlockView(_Answer):
    """A block."""

    block: Block


class MemoryPage(_Answer):
    """One page; `next_cursor` is null at the end. `total` where it was asked for."""

    memories: list[MemoryView]
    limit: int
    offset: int
    next_offset: int | None
    next_cursor: str | None
    total: int | None


class Hit(_Answer):
    """A memory found, with its place in the two rankings (1 = first; null = not in it)."""

    memory: MemoryView
    score: float
    by_words: int | None
    by_meaning: int | None


class Hits(_Answer):
    """Memories found, best first."""

    hits: list[Hit]


class OneMemory(_Answer):
    """One memory."""

    memory: MemoryView
    change_id: ChangeId


class Versions(_Answer):
    """All versions, oldest first."""

    versions: list[MemoryView]


class Relations(_Answer):
    """Relations of a memory, and the memories at their other ends."""

    relations: list[Relation]
    memories: list[MemoryView]


class ReviewEntry(_Answer):
    """One question to the user."""

    memory: MemoryView
    other: MemoryView | None
    cause: ReviewCause
    reason: str
    alike: bool = Field(description="whether a comparison of a pair word by word makes sense")


class GroupCount(_Answer):
    """How many entries are of one group."""

    value: str
    count: int


class ReviewGroups(_Answer):
    """How many of the entries asked for, by group, most first."""

    kind: list[GroupCount]
    source: list[GroupCount]
    tier: list[GroupCount]
    cause: list[GroupCount]
    scope: list[GroupCount]


class ReviewQueue(_Answer):
    """What waits: a part of what fits, how many fit and how many wait in all; `next_cursor` is null at the end."""

    review: list[ReviewEntry]
    total: int
    waiting: int
    groups: ReviewGroups
    next_cursor: str | None


class Decided(_Answer):
    """How many statements were decided on."""

    decided: int
    change_id: ChangeId


class ChangeEntry(_Answer):
    """One version as it was written, and what stood before it; versions of one change share its id."""

    change_id: str
    at_ms: int
    reason: str
    memory: MemoryView
    before: MemoryView | None


class ChangeLog(_Answer):
    """What was written last."""

    changes: list[ChangeEntry]


class Traces(_Answer):
    """Recalls, newest first; `replayed` where a threshold was given."""

    traces: list[Trace]
    replayed: list[Replayed]


class TimelinePage(_Answer):
    """Recalls in one line each, newest first; `next_cursor` is null at the end."""

    recalls: list[RecallRow]
    next_cursor: str | None


class OneTrace(_Answer):
    """One recall, with what was said of it."""

    trace: Trace
    verdicts: list[Verdict]


class ReplayedView(_Answer):
    """One recall decided again."""

    replayed: Replayed


class Verdicts(_Answer):
    """What was said of injections, newest first."""

    verdicts: list[Verdict]


class SessionPage(_Answer):
    """Sessions, newest signal first; `next_cursor` is null at the end."""

    sessions: list[SessionRow]
    next_cursor: str | None


class ExposurePage(_Answer):
    """What was handed over, newest first; `next_cursor` is null at the end."""

    exposures: list[Handed]
    next_cursor: str | None


class Muted(_Answer):
    """Whether a session is muted."""

    session: str
    muted: bool


class OneSession(_Answer):
    """One session turn by turn."""

    session: SessionView


class LearnedStatement(_Answer):
    """One statement of a session and what became of it. `believed` says whose word it is, `waits` whether the user has to decide."""

    memory: MemoryView
    fate: Fate
    believed: str
    waits: bool
    evidence: list[Evidence]
    replaced: list[MemoryView]
    questions: list[MemoryView]


class LearnedView(_Answer):
    """What one session taught."""

    session: str
    at_ms: int
    running: bool
    statements: list[LearnedStatement]
    dropped: list[DroppedCount]
    nudges: list[Nudge]
    requests: list[RequestRecord]
    waiting: StillWaiting


class SessionLearned(_Answer):
    """What a session taught; null where there was no session yet."""

    learned: LearnedView | None


class GraphView(_Answer):
    """Memories and relations."""

    graph: Graph


class ProjectRow(_Answer):
    """A project and how many active memories it holds."""

    project: ProjectRecord
    scope: str
    active: int


class Projects(_Answer):
    """Projects by name."""

    projects: list[ProjectRow]


class FolderProject(_Answer):
    """The project of a folder, and what else may belong to it. `notice` is what the user has not answered yet, or empty."""

    project: ProjectRecord
    related: list[Related]
    notice: str


class KindRow(_Answer):
    """A kind of memory."""

    name: str
    label: str
    prefix: str
    importance: float
    half_life_days: float | None
    standing: bool
    episodic: bool


class Kinds(_Answer):
    """The kinds that hold."""

    kinds: list[KindRow]


class Imported(_Answer):
    """What an import of rule files did."""

    files: list[RuleFile]
    changes: list[ChangeView]


class Transcripts(_Answer):
    """Past transcripts."""

    transcripts: list[TranscriptInfo]


class WriteUpRequest(_Answer):
    """One request to the language model, word by word. `tokens` is estimated."""

    session: str
    root: str
    tokens: int
    system: str
    user: str


class WrittenUp(_Answer):
    """What was sent to the language model, or what would be: `session`, or what else was sent; "" = nothing was sent now.

    `waiting` counts the requests that can be sent after it, `tokens` what they would cost, estimated.
    """

    provider: str
    session: str
    error: str
    changes: list[ChangeView]
    waiting: int
    tokens: int
    requests: list[WriteUpRequest]


class Target(_Answer):
    """Where a copy was written."""

    target: str


class Problems(_Answer):
    """Problems of the store, as sentences."""

    problems: list[str]


class OneJob(_Answer):
    """How long work stands."""

    job: Job


class Jobs(_Answer):
    """Long work, by name."""

    jobs: list[Job]


class SeriesView(_Answer):
    """Numbers over time, for charts."""

    series: Series


class HoldoutView(_Answer):
    """Sessions with memory and without."""

    holdout: Holdout


class Failed(_Answer):
    """What broke: `reason` is embedding, store or timeout."""

    reason: str
    message: str


class Injected(_Answer):
    """What to put before a prompt; with a failure, what may be used all the same."""

    result: InjectionResult
    failure: Failed | None


class OneSetting(_Answer):
    """Every layer's value of one setting."""

    setting: SettingRow


class Differences(_Answer):
    """Settings whose value is not the shipped one."""

    settings: list[SettingRow]


class Reverted(_Answer):
    """Whether there was anything to take back, and what holds now."""

    reverted: bool
    settings: SettingsView


class SettingsAnswer(_Answer):
    """Settings with the layer of every value."""

    settings: SettingsView


class Agents(_Answer):
    """Agents that are known: from settings and from sessions."""

    agents: list[AgentSettings]


class OneAgent(_Answer):
    """One agent's settings."""

    agent: AgentSettings


class Check(_Answer):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    hint: str


class Health(_Answer):
    """Whether all is well, and numbers of the process."""

    ok: bool
    version: str
    checks: list[Check]
    store: StoreStats
    counters: dict[str, float]


class Document(_Answer):
    """A document of its own, such as a JSON schema."""

    model_config = ConfigDict(extra="allow")


class Problem(_Answer):
    """An error (RFC 9457). `code` is stable; `hint` says what to do."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str


SHARED_SHAPES: dict[str, type[Any]] = {
    "EngineStatus": EngineStatus,
    "StoreUse": StoreUse,
    "TuneReport": TuneReport,
    "Rescan": Rescan,
    "CaptureReport": CaptureReport,
    "Digests": Digests,
    "Purged": Purged,
}
"""Answers that are values of the program as they are."""


def shape(name: str) -> Any:
    """The class called `name`, of this module or a value of the program."""
    return SHARED_SHAPES.get(name) or globals()[name]
