"""Every option as one typed tree. Pydantic at the edge: unknown keys and wrong values are refused, naming the place.

In: plain mappings from layers. Out: frozen settings. A function receives its own section, never the whole.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from tacit.config.plugins import EMBEDDERS, JUDGES, STORES, WRITERS
from tacit.config.section import Section, Shares
from tacit.model.kinds import BUILTIN, Kind, KindRegistry
from tacit.model.scope import Lent
from tacit.presets.ambient.settings import AmbientSettings
from tacit.presets.multispace.settings import MultispaceSettings
from tacit.presets.refresh.settings import RefreshSettings
from tacit.presets.scoped.settings import ScopedSettings
from tacit.presets.typed.settings import TypedSettings

SpaceName = Literal[
    "semantic", "lexical", "code", "entity", "character", "recent", "intent", "periodic", "sequence", "causal", "graph", "late", "expanded"
]  # fmt: skip
"""The names of the built-in spaces. A new space is added here, with its section in `recall/spaces.py`."""


class Budgets(Section):
    """The most tokens that each surface may inject (counted with the o200k vocabulary); 0 = the surface injects nothing."""

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
"""How readily `focused` injects before a prompt, from least to most; `config/levels.py` has the thresholds."""

AgentPolicy = Literal["full", "lean", "none"]
"""What a subagent gets when it starts; see `recall.subagents`."""


class Thresholds(Section):
    """The least calibrated relevance (0 to 1) of a memory that each surface injects."""

    start: float = Field(
        default=0.0, ge=0.0, le=1.0, description="when a session starts, and after a compaction"
    )
    prompt: float = Field(
        default=0.5,
        ge=0.0,
        le=1.0,
        description="before a prompt; with `focused`, `recall.level` sets it unless you do",
    )
    action: float = Field(default=0.5, ge=0.0, le=1.0, description="around a tool call")
    failure: float = Field(default=0.4, ge=0.0, le=1.0, description="after a tool failed")
    subagent: float = Field(default=0.45, ge=0.0, le=1.0, description="when a subagent starts")
    on_demand: float = Field(default=0.28, ge=0.0, le=1.0, description="on demand")

    def of(self, surface: str) -> float:
        """Return the threshold of the surface called `surface`; 1 = the surface has none, so nothing is injected."""
        return float(getattr(self, "start" if surface == "compaction" else surface, 1.0))


class RerankerSettings(Section):
    """A second-stage model of your own that reads the prompt and a memory together. It is optional."""

    model: str = Field(default="", description="folder of a cross-encoder exported to ONNX; empty = none")


class _LanguageModel(Section):
    """A language model of your own: the base of the sections that name one."""

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
    price: str = Field(
        default="",
        description="prices of a million tokens, INPUT/OUTPUT, such as 0.25/2; empty = not known",
    )

    @field_validator("endpoint")
    @classmethod
    def _is_address(cls, endpoint: str) -> str:
        if endpoint and not re.match(r"https?://[^/\s]", endpoint):
            raise ValueError("an address such as http://localhost:11434/v1")
        return endpoint

    @field_validator("price")
    @classmethod
    def _is_price(cls, price: str) -> str:
        prices_of(price)
        return price


class WriterSettings(_LanguageModel):
    """A language model of your own that writes up finished sessions. While it is off, nothing leaves the machine."""

    timeout_ms: int = Field(
        default=120_000, ge=10, le=600_000, description="milliseconds for one answer, including retries"
    )
    tokens_per_day: int = Field(default=200_000, ge=0, description="most input tokens on one day")
    tokens_per_session: int = Field(
        default=12_000, ge=3_000, le=200_000, description="most input tokens for one session on one day"
    )
    least_chars: int = Field(
        default=2000,
        ge=0,
        description="a session with fewer characters is written up only if it has three prompts or more",
    )


class AnticipateSettings(_LanguageModel):
    """A language model of your own that names what the next steps will need, after each message of the agent. Nothing waits for it."""

    def as_writer(self) -> WriterSettings:
        """Return these settings in the form of a writer's, by which the model is asked; it has 60 seconds to answer."""
        return _as_writer(self, timeout_ms=60_000)


class JudgeSettings(_LanguageModel):
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

    def as_writer(self) -> WriterSettings:
        """Return the settings of the writer that asks this model. Its timeout is twice the deadline, so that a late answer's cost is still counted."""
        return _as_writer(self, timeout_ms=2 * self.deadline_ms)


def _as_writer(model: _LanguageModel, *, timeout_ms: int) -> WriterSettings:
    shared = {name: getattr(model, name) for name in _LanguageModel.model_fields}
    return WriterSettings(timeout_ms=timeout_ms, **shared)


def prices_of(text: str) -> tuple[float, float] | None:
    """Return the prices of a million input and a million output tokens that `text` names as INPUT/OUTPUT; None = it is empty.

    Raises:
        ValueError: if `text` is neither.
    """
    if not text:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*", text)
    if found is None:
        raise ValueError(
            "two prices such as 0.25/2: of a million input tokens and of a million output tokens"
        )
    return float(found[1]), float(found[2])


Offer = Literal["auto", "on", "off"]


class RecallSettings(Section):
    """What memories are injected, when, and how many: the read path."""

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
        description="share of sessions without memory, chosen by their id, so `tacit status --stats` can measure the effect of memory",
    )
    spaces: tuple[SpaceName, ...] = Field(
        default=("semantic", "lexical", "entity", "character", "recent", "intent"),
        description="the measures of similarity",
    )
    candidates_per_space: int = Field(
        default=32, ge=1, le=100, description="most candidates one space proposes"
    )
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
        description="for `focused`: all memories of the place are given at the start of a session if they fit into so many times its budget; 1 = never more than the budget",
    )
    kinds: tuple[str, ...] = Field(
        default=(), description="kinds that are injected unasked; empty = all of them"
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
        description="whether a line in the start block says that the agent may store things with memory_add, and a block after five messages without a note reminds it; auto = if its host listed Tacit's tools",
    )
    subagents: dict[str, AgentPolicy] = Field(
        default_factory=dict,
        description="what a subagent of a type gets when it starts: `full` = rules and facts for its task, `lean` = two rules, `none`; `*` = every other type; empty = full",
    )
    blocking: bool = Field(
        default=False,
        description="refuse a tool call once if a rule of yours forbids it in its own words (`never push to main`) or is marked `blocking`, with the rule as the reason",
    )
    deadline_ms: int = Field(
        default=400,
        ge=10,
        le=60_000,
        description="milliseconds for one recall; the trace names what missed it",
    )
    budgets: Budgets = Budgets()
    thresholds: Thresholds = Thresholds()
    typed: TypedSettings = TypedSettings()
    ambient: AmbientSettings = AmbientSettings()
    scoped: ScopedSettings = ScopedSettings()
    refresh: RefreshSettings = RefreshSettings()
    multispace: MultispaceSettings = MultispaceSettings()
    reranker: RerankerSettings = RerankerSettings()
    anticipate: AnticipateSettings = AnticipateSettings()
    judge: JudgeSettings = JudgeSettings()


Notes = Literal["on", "review", "off"]


class CaptureSettings(Section):
    """What is learned from sessions: the write path."""

    enabled: bool = Field(default=True, description="learn from sessions")
    notes: Notes = Field(
        default="on",
        description="what an agent notes with memory_add, memory_update, memory_forget and memory_feedback: on = it holds as far as SECURITY.md's table of trust says; review = it waits for `tacit review`; off = nothing is stored",
    )
    rule_files: bool = Field(default=True, description="import and follow the project's rule files")
    project_files: bool = Field(
        default=True, description="also import and follow its README, decision records, manifests and commits"
    )
    branches: bool = Field(
        default=True,
        description="what names the unmerged branch that is checked out holds only on that branch until it is merged; see docs/guide/branches.md",
    )
    kinds: tuple[str, ...] = Field(
        default=(),
        description="kinds that are learned without a request, `digest` for what was done in a session; empty = all of them",
    )
    importance: Shares = Field(
        default_factory=dict,
        description="kind -> importance of its statements; a kind that is not named has its own",
    )
    patterns: Literal["none", "typed"] = Field(
        default="none",
        description="the preset whose patterns also find sentences of agent and user that no mark makes a statement; they become an agent's own notes; with `typed` a statement also counts for more if it was stated outright, names several files, or stresses itself (`always`, `must`)",
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


class StoreSettings(Section):
    """The kind of store that keeps the memories."""

    provider: Annotated[str, STORES] = Field(default="sqlite", description="the kind of store")


class EmbedderSettings(Section):
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


class DaemonSettings(Section):
    """The background process; each home has one."""

    http_port: int = Field(
        default=0, ge=0, le=65_535, description="loopback HTTP port; 0 = off unless requested"
    )


ToolSet = Literal["lean", "typed", "refresh", "full"]


class McpSettings(Section):
    """The MCP server."""

    tools: ToolSet = Field(
        default="lean",
        description="the tools that clients are shown: lean = search, get, add, update, forget and the context of the project; typed = these, inject_context and get_context_for_task; refresh = these, the user's profile, the list and help; full = all",
    )


class PrivacySettings(Section):
    """What is kept out of the store and out of injected text."""

    redact: bool = Field(default=True, description="remove secrets before storing and before injecting")
    allow: tuple[str, ...] = Field(default=(), description="texts that are never redacted")
    deny: tuple[str, ...] = Field(default=(), description="regular expressions that are always redacted")
    emails: Literal["redact", "keep"] = Field(
        default="redact", description="whether e-mail addresses are removed"
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


MOST_TRACES = 2000
"""The most traces that a store keeps; older ones go."""


class RetentionSettings(Section):
    """How long session records are kept. Your statements are kept until you forget them."""

    trace_days: float = Field(
        default=30.0,
        gt=0.0,
        description=f"days a trace is kept; of more than {MOST_TRACES:,} traces the oldest go earlier",
    )


class BackupSettings(Section):
    """Automatic backups of the store, in `backups/` of the home: once a day, and before a new version changes its tables."""

    keep: int = Field(default=2, ge=0, le=100, description="number of backups kept; 0 = none is made")


class KindSettings(Section):
    """A kind that the settings add, or a built-in one that they replace; see docs/reference/settings.md."""

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


class ProjectSettings(Section):
    """Which memories from outside a project are visible in it."""

    share_preferences: bool = Field(
        default=True, description="memories of universal and language scope are visible here"
    )
    link: tuple[str, ...] = Field(
        default=(), description="ids of projects whose memories may be read; `*` = all"
    )
    others: Literal["nothing", "public", "preferences"] = Field(
        default="nothing",
        description="what you said in other projects that is seen here: nothing; what is marked public; preferences and other rules, too",
    )

    @property
    def lent(self) -> tuple[Lent, ...]:
        """What is seen of other projects, for a scope filter."""
        if self.others == "preferences":
            return ("public", "preferences")
        return ("public",) if self.others == "public" else ()


class Settings(Section):
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


def kind_registry(settings: Settings) -> KindRegistry:
    """Return the built-in kinds with those of `settings.kinds` added; a kind there replaces the built-in one of the same name."""
    return KindRegistry().extended(
        _kind(name, kind_settings) for name, kind_settings in settings.kinds.items()
    )


def _kind(name: str, settings: KindSettings) -> Kind:
    built_in = next((kind for kind in BUILTIN if kind.name == name), None)
    if built_in is not None:
        # What the user leaves out stays as it is; of the two natures the one that is stated ends the other.
        changed = settings.model_dump(exclude_unset=True)
        if settings.standing:
            changed["episodic"] = False
        elif settings.episodic:
            changed["standing"] = False
        return replace(built_in, **changed)
    return Kind(name=name, **settings.model_dump())
