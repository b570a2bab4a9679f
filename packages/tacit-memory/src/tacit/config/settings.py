"""Every option as one typed tree. Pydantic at the edge: unknown keys and wrong values are refused, naming the place.

In: plain mappings from layers. Out: frozen settings. A function receives its own section, never the whole.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tacit.config.plugins import EMBEDDERS, JUDGES, RERANKERS, STORES, WRITERS

SpaceName = Literal[
    "semantic", "lexical", "code", "entity", "character", "recent", "intent", "periodic", "sequence", "causal", "graph", "late", "expanded"
]  # fmt: skip
"""The spaces that are built; a further one is added here together with its module in `recall/spaces/`."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Budgets(_Section):
    """Most tokens that a surface may inject (of the o200k vocabulary); 0 = the surface stays silent."""

    start: int = Field(default=2000, ge=0, le=20_000, description="when a session starts")
    index: int = Field(
        default=1500,
        ge=0,
        le=20_000,
        description="for the index of what a start block does not hold whole, beside `start`; 0 = no index",
    )
    prompt: int = Field(default=800, ge=0, le=20_000, description="before a prompt")
    action: int = Field(default=200, ge=0, le=20_000, description="around a tool call")
    failure: int = Field(default=300, ge=0, le=20_000, description="after a tool failed")
    compaction: int = Field(default=1500, ge=0, le=20_000, description="after a compaction")
    subagent: int = Field(default=600, ge=0, le=20_000, description="when a subagent starts")
    on_demand: int = Field(default=1000, ge=0, le=20_000, description="on demand")


LevelName = Literal["quiet", "balanced", "eager"]
"""How readily `focused` speaks before a prompt, from least to most; `config/levels.py` has the thresholds."""

AgentPolicy = Literal["full", "lean", "none"]
"""What a subagent gets when it starts."""


class Thresholds(_Section):
    """Least calibrated relevance (0-1) that a surface injects."""

    start: float = Field(default=0.0, ge=0.0, le=1.0, description="when a session starts")
    prompt: float = Field(
        default=0.5,
        ge=0.0,
        le=1.0,
        description="before a prompt; with `focused`, `recall.level` sets it unless you do",
    )
    action: float = Field(default=0.5, ge=0.0, le=1.0, description="around a tool call")
    failure: float = Field(default=0.4, ge=0.0, le=1.0, description="after a tool failed")
    compaction: float = Field(default=0.0, ge=0.0, le=1.0, description="after a compaction")
    subagent: float = Field(default=0.45, ge=0.0, le=1.0, description="when a subagent starts")
    on_demand: float = Field(default=0.28, ge=0.0, le=1.0, description="on demand")

    def of(self, surface: str) -> float:
        """Least relevance that the surface of this name injects; 1 where it has no threshold."""
        return float(getattr(self, surface, 1.0))


Shares = dict[str, float]
"""Name of a slot -> its share of the budget (0-1)."""


class Allotments(_Section):
    """Shares of a surface's budget; an empty mapping divides nothing.

    A slot is a kind (`decision`), a scope (`project`) or a band of relevance (`high` from 0.7, `medium` from 0.5).
    """

    start: Shares = Field(default_factory=dict, description="of the start pack")
    prompt: Shares = Field(default_factory=dict, description="of the prompt pack")
    failure: Shares = Field(default_factory=dict, description="of the pack after a failure")
    subagent: Shares = Field(default_factory=dict, description="of a subagent's pack")
    on_demand: Shares = Field(default_factory=dict, description="of an answer")
    hand_on: bool = Field(
        default=True,
        description="whether other slots may use what a slot leaves; otherwise they may use only the unallotted rest",
    )

    @field_validator("start", "prompt", "failure", "subagent", "on_demand")
    @classmethod
    def _are_shares(cls, shares: Shares) -> Shares:
        for name, share in shares.items():
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"shares between 0 and 1; {name} has {share}")
        return shares


class TypedScore(_Section):
    """Weights of the `typed` score; each part is 0 to 1."""

    semantic: float = Field(default=0.40, ge=0.0, le=1.0, description="similarity of meaning")
    recency: float = Field(default=0.20, ge=0.0, le=1.0, description="age under the kind's half-life")
    importance: float = Field(default=0.15, ge=0.0, le=1.0, description="importance of the memory")
    access: float = Field(default=0.10, ge=0.0, le=1.0, description="how often it was used")
    kind: float = Field(default=0.15, ge=0.0, le=1.0, description="priority of its kind for the task")


class Floors(_Section):
    """Minimum values that a candidate must reach before its relevance is scored. 0 = none."""

    similarity: Shares = Field(
        default_factory=dict, description="kind -> least cosine; `*` = kinds that are not named"
    )
    certain: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="cosine from which a memory passes with any relevance; 0 = none",
    )
    ratio: float = Field(
        default=0.0, ge=0.0, le=1.0, description="least share of the best candidate's cosine"
    )
    cosine: float = Field(default=0.0, ge=0.0, le=1.0, description="least cosine, in addition to that share")
    importance: float = Field(default=0.0, ge=0.0, le=1.0, description="least importance of a memory")
    by_task: bool = Field(
        default=False, description="only the kinds that the `typed` preset lists for the task"
    )

    @field_validator("similarity")
    @classmethod
    def _are_cosines(cls, floors: Shares) -> Shares:
        for name, floor in floors.items():
            if not 0.0 <= floor <= 1.0:
                raise ValueError(f"cosines between 0 and 1; {name} has {floor}")
        return floors


class Categories(_Section):
    """Tokens per section of a `multispace` pack, in this order; the next section gets what one leaves."""

    divergence: int = Field(default=200, ge=0, le=20_000, description="alerts that the work has shifted")
    cluster: int = Field(default=400, ge=0, le=20_000, description="memories that many spaces agree on")
    single: int = Field(default=300, ge=0, le=20_000, description="memories that few spaces find")
    session: int = Field(default=200, ge=0, le=20_000, description="the topic of the last session")
    badges: int = Field(default=50, ge=0, le=20_000, description="time hints")


class RecencyWeights(_Section):
    """Factors on a memory's priority by its age, in `multispace`."""

    hour: float = Field(default=1.3, ge=0.0, le=10.0, description="younger than an hour")
    day: float = Field(default=1.2, ge=0.0, le=10.0, description="younger than a day")
    week: float = Field(default=1.1, ge=0.0, le=10.0, description="younger than 7 days")
    month: float = Field(default=1.0, ge=0.0, le=10.0, description="younger than 30 days")
    quarter: float = Field(default=0.9, ge=0.0, le=10.0, description="younger than 90 days")
    older: float = Field(default=0.8, ge=0.0, le=10.0, description="older")


class ScopeBudgets(_Section):
    """Tokens per part of a `scoped` pack."""

    universal: int = Field(default=300, ge=0, le=20_000, description="at start: universal memories")
    language: int = Field(default=300, ge=0, le=20_000, description="at start: rules of a language")
    project: int = Field(default=400, ge=0, le=20_000, description="at start: memories of the project")
    reserve: int = Field(
        default=200, ge=0, le=20_000, description="at start: the best memories that did not fit"
    )
    done: int = Field(default=300, ge=0, le=20_000, description="at start: `impl` lines of digests")
    decided: int = Field(default=200, ge=0, le=20_000, description="at start: `dec` lines of digests")
    open: int = Field(
        default=300, ge=0, le=20_000, description="at start: `block` and `next` lines of digests"
    )
    asked_universal: int = Field(default=150, ge=0, le=20_000, description="of an answer: universal memories")
    asked_language: int = Field(
        default=150, ge=0, le=20_000, description="of an answer: memories of a language"
    )
    asked_project: int = Field(
        default=200, ge=0, le=20_000, description="of an answer: memories of the project"
    )

    def of_an_answer(self) -> ScopeBudgets:
        """The parts of an answer in the place of those of a start pack."""
        return self.model_copy(
            update={
                "universal": self.asked_universal,
                "language": self.asked_language,
                "project": self.asked_project,
                "reserve": 0,
            }
        )


class RerankerSettings(_Section):
    """A second-stage model of your own that reads the prompt and a memory together. It is optional."""

    provider: Annotated[str, RERANKERS] = Field(default="off", description="the provider of the model")
    model: str = Field(default="", description="folder of a cross-encoder exported to ONNX")
    least: float = Field(default=0.1, ge=0.0, le=1.0, description="least probability of an injected memory")
    candidates: int = Field(
        default=8, ge=1, le=100, description="most memories that the model reads, the most relevant first"
    )


class WriterSettings(_Section):
    """A language model of your own that writes up finished sessions. While it is off, nothing leaves the machine."""

    provider: Annotated[str, WRITERS] = Field(
        default="off",
        description="the command line of a coding agent with your own login, or a server; openai = any "
        "server that implements its chat completions API",
    )
    model: str = Field(
        default="",
        description="model name; empty = a small one of the provider; opencode needs PROVIDER/MODEL",
    )
    endpoint: str = Field(
        default="", description="base URL of the server; empty = the provider's own; unused by command lines"
    )
    api_key_env: str = Field(
        default="",
        description="name of the variable that holds the key; empty = the provider's usual one; unused by command lines",
    )
    timeout_ms: int = Field(
        default=120_000, ge=10, le=600_000, description="milliseconds for one answer, including retries"
    )
    tokens_per_day: int = Field(default=200_000, ge=0, description="most input tokens on one day")
    tokens_per_session: int = Field(
        default=12_000, ge=3_000, le=200_000, description="most input tokens for one session on one day"
    )
    most_output_tokens: int = Field(default=4000, ge=100, le=32_000, description="most tokens of one answer")
    quiet_minutes: float = Field(
        default=30.0,
        ge=0.0,
        description="minutes of silence after which an open session is written up",
    )
    least_chars: int = Field(
        default=2000,
        ge=0,
        description="a session with fewer characters is written up only if it has three prompts or more",
    )

    @field_validator("endpoint")
    @classmethod
    def _is_address(cls, endpoint: str) -> str:
        return checked_address(endpoint)


class _NamingModel(_Section):
    """A language model of your own that names the memories that are needed next."""

    provider: Annotated[str, WRITERS] = Field(
        default="off",
        description="the command line of a coding agent with your own login, or a server; openai = any "
        "server that implements its chat completions API",
    )
    model: str = Field(
        default="",
        description="model name; empty = a small one of the provider; opencode needs PROVIDER/MODEL",
    )
    endpoint: str = Field(
        default="", description="base URL of the server; empty = the provider's own; unused by command lines"
    )
    api_key_env: str = Field(
        default="",
        description="name of the variable that holds the key; empty = the provider's usual one; unused by command lines",
    )
    tokens_per_day: int = Field(default=300_000, ge=0, description="most input tokens on one day")
    most_output_tokens: int = Field(default=600, ge=100, le=32_000, description="most tokens of one answer")

    @field_validator("endpoint")
    @classmethod
    def _is_address(cls, endpoint: str) -> str:
        return checked_address(endpoint)


class AnticipateSettings(_NamingModel):
    """A language model of your own that names what the next steps will need, after each message of the agent. Nothing waits for it."""

    timeout_ms: int = Field(
        default=60_000, ge=10, le=600_000, description="milliseconds for one answer, including retries"
    )

    def as_writer(self) -> WriterSettings:
        """What it takes to ask this model."""
        return _as_writer(self.provider, self, timeout_ms=self.timeout_ms)


class JudgeSettings(_NamingModel):
    """A language model of your own that names what a prompt needs, while the prompt waits. If it is late, the gate decides."""

    provider: Annotated[str, JUDGES] = Field(
        default="off",
        description="a server that answers fast; openai = any server that implements its chat completions API; no command line",
    )
    deadline_ms: int = Field(
        default=1500,
        ge=100,
        le=3000,
        description="milliseconds that a prompt waits for the answer, besides `recall.deadline_ms`",
    )

    sure: float = Field(
        default=0.42,
        ge=0.0,
        le=1.0,
        description="a prompt gets nothing unless the model names one memory with at least this probability",
    )
    least: float = Field(
        default=0.3, ge=0.0, le=1.0, description="least probability of the memories that come with it"
    )

    def as_writer(self) -> WriterSettings:
        """What it takes to ask this model. A late answer is still read for a while: it tells what it cost."""
        return _as_writer(self.provider, self, timeout_ms=2 * self.deadline_ms)


def _as_writer(provider: str, model: _NamingModel, *, timeout_ms: int) -> WriterSettings:
    return WriterSettings(
        provider=provider,
        model=model.model,
        endpoint=model.endpoint,
        api_key_env=model.api_key_env,
        timeout_ms=timeout_ms,
        tokens_per_day=model.tokens_per_day,
        most_output_tokens=model.most_output_tokens,
    )


def checked_address(endpoint: str) -> str:
    """`endpoint`, if it is empty or an address.

    Raises:
        ValueError: if it is not.
    """
    if endpoint and not re.match(r"https?://[^/\s]", endpoint):
        raise ValueError("an address such as http://localhost:11434/v1")
    return endpoint


Offer = Literal["auto", "on", "off"]


class RecallSettings(_Section):
    """The read path. `preset` names the complete configuration these values came from."""

    enabled: bool = Field(default=True, description="inject memories at all")
    level: LevelName = Field(
        default="balanced",
        description="for `focused`: how readily memories come before a prompt; quiet = fewer and more often right, eager = more and more often wrong; sets `recall.thresholds.prompt`",
    )
    shadow: bool = Field(default=False, description="score and log without injecting")
    holdout: float = Field(
        default=0.0,
        ge=0.0,
        le=0.9,
        description="share of sessions without memory, chosen by their id, so `tacit stats` can measure the effect of memory",
    )
    spaces: tuple[SpaceName, ...] = Field(
        default=("semantic", "lexical", "entity", "character", "recent", "intent"),
        description="the measures of similarity",
    )
    spaces_prompt: tuple[SpaceName, ...] = Field(
        default=("semantic", "character", "recent"),
        description="which of them search before a prompt, where every millisecond counts; empty = all",
    )
    spaces_on_demand: tuple[SpaceName, ...] = Field(
        default=("semantic", "lexical", "late", "sequence"),
        description="the measures of similarity for answers on demand, over a wide ranking; empty = as for a prompt",
    )
    candidates_per_space: int = Field(
        default=32, ge=1, le=100, description="most candidates one space proposes"
    )
    shortlist: int = Field(default=12, ge=1, le=1000, description="most candidates that are scored")
    max_items: int = Field(
        default=8,
        ge=1,
        le=100,
        description="most memories before a prompt, around a tool call or for a subagent; an answer on demand is bounded by its budget",
    )
    whole_start: float = Field(
        default=2.0,
        ge=1.0,
        le=10.0,
        description="all memories of the place are given at the start of a session if they fit into so many times its budget; 1 = never more than the budget; for the start pool `need`",
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="kinds that are injected unasked; empty = all of them"
    )
    failure_kinds: tuple[str, ...] = Field(
        default=(), description="kinds that are injected after a failure; empty = all of them"
    )
    fuse: Literal["rrf", "rrf_equal", "weighted", "convex", "fitted"] = Field(
        default="fitted", description="how the rankings of the spaces are combined into one"
    )
    score: Literal["situation", "similarity", "typed", "ambient", "multispace", "scoped"] = Field(
        default="situation", description="how relevance is scored"
    )
    start_pool: Literal["need", "typed", "score", "sections"] = Field(
        default="need", description="the pool of the start pack and its order"
    )
    order: Literal["diverse", "one_of_each", "value"] = Field(
        default="diverse",
        description="packing order: diverse = further memories of a kind count less; one_of_each = one of each kind first; value = by value alone",
    )
    render: Literal["lines", "typed", "ambient", "multispace", "scoped", "memory"] = Field(
        default="lines", description="the format of a block"
    )
    placement: Literal["default", "system_every_call"] = Field(
        default="default",
        description="system_every_call: sections in the system prompt, refreshed each turn, if the host has one",
    )
    refresh_similarity_first: float = Field(
        default=0.45,
        ge=0.0,
        le=1.0,
        description="least cosine of memories in the section that is refreshed each turn, on the first turn",
    )
    refresh_similarity_later: float = Field(
        default=0.55, ge=0.0, le=1.0, description="the same on later turns"
    )
    refresh_top: int = Field(
        default=3, ge=0, le=50, description="most memories in that section; 0 turns the refresh off"
    )
    answer_share: float = Field(
        default=0.25,
        ge=0.0,
        le=1.0,
        description="for `focused`: least share of the best answer's score that a further memory of an answer on demand needs, unless it matches the question nearly as well; 0 = none",
    )
    follow_ups: bool = Field(
        default=True, description="read a prompt of few words together with the one before it"
    )
    reinject_after: int = Field(
        default=0, ge=0, le=200, description="turns after which a memory may come again; 0 = never"
    )
    history_blocks: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="newest blocks that stay in the history, in hosts that let Tacit remove blocks (OpenCode, the library); 0 = only the current one; null = all",
    )
    tell_memory_add: Offer = Field(
        default="auto",
        description="whether a line in the start block says that the agent may store things with memory_add; auto = if its host listed Tacit's tools",
    )
    nudge: Offer = Field(
        default="auto",
        description="whether a block after five messages without a note reminds the agent of memory_add; auto = as above",
    )
    subagents: dict[str, AgentPolicy] = Field(
        default_factory=dict,
        description="what a subagent of a type gets when it starts: `full` = rules and facts for its task, `lean` = two rules, `none`; `*` = every other type; empty = full",
    )
    blocking: bool = Field(
        default=False,
        description="refuse a tool call once if a rule of yours forbids it in its own words (`never push to main`) or is marked `blocking`, with the rule as the reason",
    )
    pinned_kinds: tuple[str, ...] = Field(default=(), description="kinds that are packed first")
    ambient_enabled: bool = Field(default=False, description="inject the pinned kinds before every prompt")
    pinned_limit: int = Field(default=3, ge=1, le=20, description="most memories of one pinned kind")
    pinned_sort: Literal["recent", "importance"] = Field(
        default="recent", description="which memories of a pinned kind come first"
    )
    min_prompt_chars: int = Field(default=0, ge=0, description="shorter prompts get nothing; 0 = no limit")
    max_session_memories: int = Field(
        default=0,
        ge=0,
        description="most memories that prompts of one context are given; beyond it they get nothing; 0 = no limit",
    )
    adjust_budget: tuple[Literal["prompt", "window", "usage"], ...] = Field(
        default=("prompt", "window"),
        description="what makes a budget smaller: a long prompt, a small context window, many recent injections",
    )
    min_budget: int = Field(default=200, ge=0, description="least tokens of a budget made smaller")
    context_window: int = Field(
        default=200_000, ge=1000, description="size of the model's context window in tokens"
    )
    sections: tuple[Literal["divergence", "session", "badges"], ...] = Field(
        default=(),
        description="what a prompt pack holds besides memories: a shift of the work, the last session, time hints",
    )
    categories: Categories = Categories()
    recency: RecencyWeights = RecencyWeights()
    scopes: ScopeBudgets = ScopeBudgets()
    shorten_above: int = Field(
        default=0,
        ge=0,
        le=20_000,
        description="a memory with more tokens is shortened; 0 = only if it does not fit",
    )
    shorten_to: int = Field(default=80, ge=10, le=20_000, description="tokens of a shortened memory")
    announce_empty: bool = Field(
        default=False, description="say once per session that nothing is on record, instead of silence"
    )
    embedding_required: bool = Field(
        default=False, description="inject nothing if the prompt cannot be embedded"
    )
    answers_per_session: int = Field(
        default=0, ge=0, description="most answers on demand in one session; 0 = no limit"
    )
    session_tokens: int = Field(
        default=0,
        ge=0,
        description="most tokens in one session, start pack and answers together; 0 = no limit",
    )
    opt_out_token: str = Field(
        default="#notacit",
        min_length=2,
        description="token that turns injection off for the prompt that contains it",
    )
    deadline_ms: int = Field(
        default=400,
        ge=10,
        le=60_000,
        description="milliseconds for one recall; the trace names what missed it",
    )
    budgets: Budgets = Budgets()
    allot: Allotments = Allotments()
    typed: TypedScore = TypedScore()
    floors: Floors = Floors()
    thresholds: Thresholds = Thresholds()
    reranker: RerankerSettings = RerankerSettings()
    anticipate: AnticipateSettings = AnticipateSettings()
    judge: JudgeSettings = JudgeSettings()


Notes = Literal["on", "review", "off"]


class CaptureSettings(_Section):
    """The write path."""

    enabled: bool = Field(default=True, description="learn from sessions")
    explicit: bool = Field(
        default=True, description="capture 'remember that ...' and 'always ..., never ...' at once"
    )
    notes: Notes = Field(
        default="on",
        description="what an agent notes with memory_add, memory_update, memory_forget and memory_feedback: on = it holds as far as SECURITY.md's table of trust says; review = it waits for `tacit review`; off = nothing is stored",
    )
    at_session_end: bool = Field(default=True, description="learn from the transcript when a session ends")
    subagents: bool = Field(default=False, description="also learn from subagent transcripts")
    rule_files: bool = Field(default=True, description="import and follow the project's rule files")
    project_files: bool = Field(
        default=True, description="also import and follow its README, decision records, manifests and commits"
    )
    branches: bool = Field(
        default=True,
        description="what names the unmerged branch that is checked out holds only on that branch until it is merged; see docs/guide/branches.md",
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="kinds that are learned without a request; empty = all of them"
    )
    importance: Literal["kind", "typed", "ambient"] = Field(
        default="kind", description="how a statement's importance is set; see docs/reference/presets.md"
    )
    auto_accept: float = Field(
        default=0.42,
        ge=0.0,
        le=1.0,
        description="least confidence of a statement learned without a request; below it the statement waits for `tacit review`",
    )
    near_cosine: float = Field(
        default=0.85,
        ge=0.0,
        le=1.0,
        description="cosine from which two statements are linked as near; both are kept unless their text is equal",
    )
    extractor: WriterSettings = WriterSettings()


class StoreSettings(_Section):
    """Where memories are kept."""

    provider: Annotated[str, STORES] = Field(default="sqlite", description="the kind of store")


class EmbedderSettings(_Section):
    """The model that makes the vectors. `minilm` is shipped and works offline."""

    provider: Annotated[str, EMBEDDERS] = Field(default="minilm", description="the provider of the vectors")
    model: str = Field(
        default="", description="model name, or the folder of a sentence-transformers ONNX model"
    )
    endpoint: str = Field(default="", description="base URL of an OpenAI-compatible or Ollama server")
    dimensions: int = Field(
        default=0, ge=0, le=65_536, description="vector length; 0 = known by the model's name"
    )
    api_key_env: str = Field(default="OPENAI_API_KEY", description="name of the variable that holds the key")
    cache_entries: int = Field(default=1024, ge=0, description="vectors kept in memory")
    cache_ttl_s: int = Field(default=3600, ge=0, description="seconds a vector is kept in memory")
    timeout_ms: int = Field(default=5000, ge=10, description="milliseconds for one request to a server")


class DaemonSettings(_Section):
    """The background process, one per home."""

    idle_minutes: float = Field(
        default=30.0, gt=0.0, description="minutes without a request after which it exits"
    )
    threads: int = Field(default=4, ge=1, le=64, description="requests processed at once")
    queue: int = Field(default=64, ge=1, le=10_000, description="requests that may wait; more are refused")
    http_port: int = Field(
        default=0, ge=0, le=65_535, description="loopback HTTP port; 0 = off unless requested"
    )
    log_bytes: int = Field(default=2_000_000, ge=10_000, description="size at which the log is rotated")
    log_files: int = Field(default=3, ge=1, le=100, description="rotated logs kept")


ToolSet = Literal["lean", "full"]


class McpSettings(_Section):
    """The MCP server."""

    tools: ToolSet = Field(
        default="lean",
        description="the tools that clients are shown: lean = search, add, update, forget and the context of the project; full = all",
    )


class PrivacySettings(_Section):
    """What is kept out of the store and out of injected text."""

    redact: bool = Field(default=True, description="remove secrets before storing and before injecting")
    allow: tuple[str, ...] = Field(default=(), description="texts that are never redacted")
    deny: tuple[str, ...] = Field(default=(), description="regular expressions that are always redacted")
    emails: Literal["redact", "keep"] = Field(
        default="redact", description="whether e-mail addresses are removed"
    )
    home_paths: Literal["shorten", "keep"] = Field(
        default="shorten", description="whether the home folder is written as ~"
    )
    incognito: bool = Field(default=False, description="inject as usual, store nothing")

    @field_validator("deny")
    @classmethod
    def _deny_compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"a list of regular expressions; {pattern!r} is none ({error})") from error
        return patterns


class RetentionSettings(_Section):
    """How long session records, and memories that nobody stated, are kept. Your statements are kept until you forget them."""

    traces: int = Field(default=2000, ge=0, description="most traces kept")
    trace_days: float = Field(default=30.0, gt=0.0, description="days a trace is kept")
    memories: int = Field(
        default=20_000, ge=0, description="most memories in one scope that nobody stated; 0 = no limit"
    )
    fade_half_lives: float = Field(
        default=6.0,
        ge=0.0,
        description="half-lives of its kind after which a memory that nobody stated or used is deleted; 0 = never",
    )
    pending_fix_days: float = Field(
        default=45.0, gt=0.0, description="days that an unresolved failure waits for its fix"
    )


class BackupSettings(_Section):
    """Automatic backups of the store, in `backups/` of the home: once a day, and before a new version changes its tables."""

    keep: int = Field(default=2, ge=0, le=100, description="number of backups kept; 0 = none is made")


class KindSettings(_Section):
    """A kind added or changed in configuration; see docs/reference/settings.md."""

    label: str = Field(min_length=1, max_length=40, description="the word shown to people")
    prefix: str = Field(pattern="^[A-Z][A-Z0-9]{1,7}$", description="the short code in rendered lines")
    importance: float = Field(default=0.5, ge=0.0, le=1.0, description="base importance")
    half_life_days: float | None = Field(default=None, gt=0.0, description="days; null = never ages")
    relevance_floor: float = Field(
        default=0.0, ge=0.0, le=1.0, description="least relevance of an injected memory of this kind"
    )
    standing: bool = Field(default=False, description="a rule that holds until it is superseded")
    episodic: bool = Field(default=False, description="describes an event, and ages")

    @model_validator(mode="after")
    def _one_nature(self) -> Self:
        if self.standing and self.episodic:
            raise ValueError("either standing or episodic, not both")
        return self


class ProjectSettings(_Section):
    """What one project may see of another."""

    share_preferences: bool = Field(
        default=True, description="memories of universal and language scope are visible here"
    )
    link: tuple[str, ...] = Field(default=(), description="ids of projects whose memories may be read")


class Settings(_Section):
    """The whole configuration."""

    preset: str = Field(default="focused", description="the complete configuration below your own values")
    recall: RecallSettings = RecallSettings()
    capture: CaptureSettings = CaptureSettings()
    store: StoreSettings = StoreSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    daemon: DaemonSettings = DaemonSettings()
    mcp: McpSettings = McpSettings()
    privacy: PrivacySettings = PrivacySettings()
    retention: RetentionSettings = RetentionSettings()
    backup: BackupSettings = BackupSettings()
    project: ProjectSettings = ProjectSettings()
    kinds: dict[str, KindSettings] = Field(default_factory=dict[str, KindSettings])
    statusline: bool = Field(default=False, description="one line for the person at every session start")
