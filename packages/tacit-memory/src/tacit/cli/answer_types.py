"""The API's answers that several commands show. Types alone.

Made from the OpenAPI document by `python -m tacit.api.answer_types`; do not edit by hand.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Decider = Literal["local", "armed", "judge"]


DropCause = Literal[
    "nothing_coming",
    "not_valid",
    "ended",
    "quarantined",
    "untrusted",
    "sensitive",
    "other_branch",
    "replaced_on_branch",
    "own_digest",
    "too_old",
    "code_gone",
    "below_threshold",
    "below_importance",
    "below_similarity",
    "far_below_best",
    "no_hit",
    "out_of_scope",
    "not_found",
    "short_list",
    "not_in_pool",
    "older_digest",
    "kind_off",
    "kind_not_for_task",
    "kind_not_asked",
    "second_stage",
    "repeated",
    "in_context",
    "copy",
    "unchanged",
    "too_many",
    "indexed",
    "no_room",
    "host_cap",
]


NotAsked = Literal[
    "before_compaction",
    "message_end",
    "session_end",
    "machine_prompt",
    "empty_prompt",
    "short_prompt",
    "no_target",
    "searching",
]


NoteCause = Literal[
    "surface",
    "proposal_read",
    "short_prompt_enriched",
    "nothing_asked",
    "space_asked",
    "kinds_asked",
    "listed",
    "ordered_by_need",
    "whole_store",
    "indexed",
    "shortened",
    "no_person",
    "refused",
    "nothing_proposed",
    "small_talk",
    "no_action",
    "no_clear_words",
    "accepts_proposal",
    "error_pasted",
    "says",
    "denies",
    "call",
    "command",
    "armed",
    "judged",
    "judge_late",
    "judge_failed",
    "judge_paused",
    "judge_over_budget",
    "judge_no_list",
    "judge_busy",
    "judge_no_time",
    "not_read",
    "memories_not_read",
]


SilenceCause = Literal[
    "off",
    "off_in_preset",
    "shadow",
    "muted",
    "opted_out",
    "comparison",
    "not_asked",
    "context_full",
    "nothing_coming",
    "nothing_found",
    "not_relevant",
    "in_context",
    "no_room",
    "late",
    "failed",
]


Surface = Literal["start", "prompt", "action", "failure", "compaction", "subagent", "on_demand", "host"]


class AskedWith(TypedDict):
    """The input of a recall besides its surface: enough to ask the same again."""

    text: str
    previous: str
    prompts: list[str]
    tools: list[str]
    files: list[str]
    tool: str
    command: str
    paths: list[str]
    written: str
    finished: bool
    error: str
    turn: int


class Bucket(TypedDict):
    """One time interval that begins at `at_ms`. Recall latencies are in milliseconds, 0 without recalls."""

    at_ms: int
    injections: int
    silences: int
    memories: int
    p50_ms: float
    p95_ms: float
    tokens: dict[str, int]
    useful: int
    wrong: int
    precision: float | None


class CacheShare(TypedDict):
    """Share (0-1) of the request before that stood unchanged at the beginning of the next, by placement."""

    placement: str
    host: str
    requests: int
    share: float
    bare: float
    input_tokens: int
    cached_tokens: int


class Contrast(TypedDict):
    """One measure. `difference` = mean with memory less mean without; `low`, `high` = its 95 % interval."""

    measure: str
    with_memory: float
    without: float
    difference: float
    low: float
    high: float
    clear: bool


class DropReason(TypedDict):
    """Why a memory was dropped, as a value. `tacit.app.reasons` puts it into words."""

    cause: DropCause
    value: float | None
    bound: float | None
    detail: str


class EngineStatus(TypedDict):
    """What `status` shows."""

    version: str
    home: str
    preset: str
    store: StoreStats
    embedder: str
    warnings: list[str]
    silences: list[SilenceCount]
    injections: int
    recent: int
    sessions_cached: int
    recall_enabled: bool
    shadow: bool
    extractor: ExtractorStatus | None
    anticipation: NamingStatus | None
    judge: NamingStatus | None
    sync: SyncStatus | None


class ExtractorStatus(TypedDict):
    """Cost and results of the model that writes up sessions."""

    name: str
    tokens: int
    tokens_per_day: int
    asked: int
    kept: int
    dropped: int
    failed: int
    over_budget: int
    error: str
    tokens_out: int
    waiting: int
    paused_until_ms: int


class FeedbackCounts(TypedDict):
    """Counts of the owner's verdicts: `precision` = useful / (useful + wrong) of the injected memories, null without a verdict."""

    useful: int
    wrong: int
    missed: int
    precision: float | None


class Holdout(TypedDict):
    """A trial: `share` = the share of sessions that go without now; sessions of each group; a contrast per measure."""

    share: float
    sessions_with: int
    sessions_without: int
    enough: bool
    contrasts: list[Contrast]


class InjectionStats(TypedDict):
    """Counts of one recall."""

    memories_considered: int
    memories_injected: int
    tokens_used: int
    tokens_budget: int
    by_type: list[tuple[str, int]]
    avg_relevance: float


class Latency(TypedDict):
    """Latency of the recalls of one surface, in milliseconds."""

    surface: str
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class Loss(TypedDict):
    """Something that a stage had to do without."""

    source: str
    cause: Literal["late", "failed"]
    detail: str


class Mark(TypedDict):
    """Something that charts are annotated with."""

    at_ms: int
    what: Literal["settings", "import"]
    about: list[str]
    count: int


class NamingStatus(TypedDict):
    """Cost and results of a model that names memories, in the pause or at the prompt."""

    name: str
    tokens: int
    tokens_per_day: int
    asked: int
    named: int
    ignored: int
    failed: int
    over_budget: int
    error: str
    tokens_out: int
    paused_until_ms: int


class Note(TypedDict):
    """One fact about a recall."""

    cause: NoteCause
    detail: str
    count: int
    of: int | None
    took_ms: float


class Reason(TypedDict):
    """A reason for silence, in words, and how often; `cause` = null where it was stored without one."""

    reason: str
    cause: SilenceCause | None
    count: int


class Replayed(TypedDict):
    """One recall decided again."""

    trace_id: str
    surface: str
    at_ms: int
    text: str
    threshold: float
    was: float
    before: list[str]
    after: list[str]
    added: list[str]
    gone: list[str]
    unsure: list[str]
    shadow: bool


class Series(TypedDict):
    """Numbers from `since_ms` to `until_ms` in buckets of `bucket_ms`, oldest first, none left out."""

    since_ms: int
    until_ms: int
    bucket_ms: int
    recalls: int
    complete: bool
    buckets: list[Bucket]
    latency: list[Latency]
    silences: list[Reason]
    kinds: dict[str, int]
    feedback: FeedbackCounts
    used: Use
    cache: list[CacheShare]
    marks: list[Mark]


class ShownDrop(TypedDict):
    """Why a stage let a memory go, as it is shown: `reason` = `why` in words."""

    memory_id: str
    why: DropReason
    reason: str


class ShownSituation(TypedDict):
    """What the agent is about to do, as it is shown: `why` = the reasons of the reading in words."""

    actions: list[tuple[str, float]]
    objects: list[str]
    paths: list[str]
    languages: list[str]
    commands: list[str]
    accepted: bool
    nothing_coming: bool
    notes: list[Note]
    why: list[str]


class ShownStage(TypedDict):
    """The record of a stage, as it is shown: `notes` = its facts and losses in words."""

    stage: str
    took_ms: float
    kept: list[str]
    drops: list[ShownDrop]
    losses: list[Loss]
    facts: list[Note]
    notes: list[str]


class SilenceCount(TypedDict):
    """How often a surface got nothing for one cause."""

    surface: Surface
    cause: SilenceCause
    count: int


class SilenceReason(TypedDict):
    """Why a recall handed nothing over, as a value. `tacit.app.reasons` puts it into words."""

    cause: SilenceCause
    not_asked: NotAsked | None
    bound: float | None
    detail: str


class Statistics(TypedDict):
    """What the store holds."""

    by_kind: dict[str, int]
    by_status: dict[str, int]
    by_scope: dict[str, int]
    stated: int
    used: int
    restated: int


class StoreStats(TypedDict):
    """Counts for `status` and `doctor`."""

    memories_active: int
    memories_total: int
    projects: int
    sessions: int
    exposures: int
    traces: int
    handovers_pending: int
    vectors: int
    vectors_missing: int
    size_bytes: int
    schema_version: int


class StoreUse(TypedDict):
    """What is stored, and how much of it was used."""

    store: Statistics
    impact: Totals
    rate: float | None
    baseline: float | None


class SyncStatus(TypedDict):
    """What is known of the sync of this home."""

    logged_in: bool
    url: str
    account: str
    name: str
    device: str
    entries: int
    waiting: int
    changed: bool
    synced_at_ms: int
    sign_in_by_ms: int
    error: str


class Totals(TypedDict):
    """Counts over all sessions. A memory counts once a session."""

    shown: int
    used: int
    before: int
    control_shown: int
    control_used: int
    tokens: int
    tokens_used: int
    sessions: int
    by_cue: dict[str, int]
    by_surface: dict[str, int]


class TraceView(TypedDict):
    """One recall from signal to delivery, with its counts."""

    id: str
    session: str
    turn: int
    epoch: int
    surface: Surface
    at_ms: int
    preset: str
    text: str
    situation: ShownSituation
    stages: list[ShownStage]
    candidates: list[TracedCandidate]
    injected: list[str]
    threshold: float
    block: str
    tokens: int
    budget_tokens: int
    took_ms: float
    project_id: str
    asked: AskedWith | None
    why: SilenceReason | None
    decider: Decider | None
    silence: str
    cause: SilenceCause | None
    stats: InjectionStats
    summary: str


class TracedCandidate(TypedDict):
    """A candidate as the trace keeps it, with a redacted, shortened `content`."""

    memory_id: str
    kind: str
    content: str
    scores: list[tuple[str, float]]
    fused: float
    relevance: float
    reasons: list[str]


class Use(TypedDict):
    """Use of injected memories over all sessions: `used` of `shown`, and the same share of memories that were not injected."""

    shown: int
    used: int
    rate: float | None
    baseline: float | None
