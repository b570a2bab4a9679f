"""Every option as one typed tree. Pydantic at the edge: unknown keys and wrong values are refused, naming the place.

In: plain mappings from layers. Out: frozen settings. A function receives its own section, never the whole.
"""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

SpaceName = Literal["semantic", "lexical", "code", "entity", "character", "recent", "intent"]
"""The spaces that are built; a further one is added here together with its module in `recall/spaces/`."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Budgets(_Section):
    """Most tokens a surface may hand over (o200k, or the estimate with its margin); 0 = the surface stays silent."""

    start: int = Field(default=2000, ge=0, le=20_000, description="when a session starts")
    prompt: int = Field(default=800, ge=0, le=20_000, description="before a prompt")
    action: int = Field(default=200, ge=0, le=20_000, description="around a tool call")
    failure: int = Field(default=300, ge=0, le=20_000, description="after a tool failed")
    compaction: int = Field(default=1500, ge=0, le=20_000, description="after a compaction")
    subagent: int = Field(default=600, ge=0, le=20_000, description="when a subagent starts")
    on_demand: int = Field(default=1000, ge=0, le=20_000, description="when somebody asks")


class Thresholds(_Section):
    """Least calibrated relevance (0-1) that a surface injects. Below it: silence."""

    start: float = Field(default=0.0, ge=0.0, le=1.0, description="when a session starts")
    prompt: float = Field(default=0.5, ge=0.0, le=1.0, description="before a prompt")
    action: float = Field(default=0.5, ge=0.0, le=1.0, description="around a tool call")
    failure: float = Field(default=0.4, ge=0.0, le=1.0, description="after a tool failed")
    compaction: float = Field(default=0.0, ge=0.0, le=1.0, description="after a compaction")
    subagent: float = Field(default=0.45, ge=0.0, le=1.0, description="when a subagent starts")
    on_demand: float = Field(default=0.05, ge=0.0, le=1.0, description="when somebody asks")


class RecallSettings(_Section):
    """The read path. `preset` names the complete configuration these values came from."""

    enabled: bool = Field(default=True, description="hand memories over at all")
    shadow: bool = Field(default=False, description="score and log without injecting")
    spaces: tuple[SpaceName, ...] = Field(
        default=("semantic", "lexical", "entity", "character", "recent", "intent"),
        description="what measures closeness",
    )
    candidates_per_space: int = Field(
        default=24, ge=1, le=1000, description="most candidates one space proposes"
    )
    shortlist: int = Field(default=20, ge=1, le=1000, description="most candidates that are scored")
    max_items: int = Field(default=8, ge=1, le=200, description="most memories in one prompt pack")
    fuse: Literal["rrf", "weighted", "convex"] = Field(
        default="rrf", description="how the rankings of the spaces become one order"
    )
    score: Literal["situation", "similarity"] = Field(
        default="situation", description="what relevance is judged from"
    )
    placement: Literal["default", "system_every_call"] = Field(
        default="default",
        description="system_every_call: sections in the system prompt, refreshed each turn, where the host has one",
    )
    refresh_similarity_first: float = Field(
        default=0.45,
        ge=0.0,
        le=1.0,
        description="least cosine of the section refreshed each turn, on the first turn",
    )
    refresh_similarity_later: float = Field(
        default=0.55, ge=0.0, le=1.0, description="the same on later turns"
    )
    refresh_top: int = Field(
        default=3, ge=0, le=50, description="most memories in that section; 0 turns the refresh off"
    )
    reinject_after: int = Field(
        default=0, ge=0, description="turns after which a memory may come again; 0 = never"
    )
    pinned_kinds: tuple[str, ...] = Field(default=(), description="kinds that are packed first")
    opt_out_token: str = Field(
        default="#notacit", min_length=2, description="in a prompt: no injection for it"
    )
    deadline_ms: int = Field(
        default=400,
        ge=10,
        le=60_000,
        description="milliseconds for one recall; what missed it is named in the trace",
    )
    budgets: Budgets = Budgets()
    thresholds: Thresholds = Thresholds()


class CaptureSettings(_Section):
    """The write path."""

    enabled: bool = Field(default=True, description="learn from sessions at all")
    explicit: bool = Field(
        default=True, description="capture 'remember that ...' and 'always ..., never ...' at once"
    )
    at_session_end: bool = Field(default=True, description="learn from the transcript when a session ends")
    subagents: bool = Field(default=False, description="also learn from subagent transcripts")
    rule_files: bool = Field(default=True, description="import and follow the project's rule files")
    near_duplicate_cosine: float = Field(
        default=0.93, ge=0.0, le=1.0, description="cosine from which two statements of one kind are the same"
    )


class EmbedderSettings(_Section):
    """Which model makes the vectors. `minilm` is shipped and works offline."""

    provider: Literal["minilm", "onnx", "openai", "ollama", "fastembed", "fake"] = Field(
        default="minilm", description="who makes the vectors"
    )
    model: str = Field(
        default="", description="model name, or the folder of a sentence-transformers ONNX model"
    )
    endpoint: str = Field(default="", description="base URL of an OpenAI-compatible or Ollama server")
    dimensions: int = Field(
        default=0, ge=0, le=65_536, description="vector length; 0 = known by the model's name"
    )
    api_key_env: str = Field(default="OPENAI_API_KEY", description="name of the variable that holds the key")
    cache_entries: int = Field(default=2048, ge=0, description="vectors kept in memory")
    cache_ttl_s: int = Field(default=3600, ge=0, description="seconds a vector is kept in memory")
    timeout_ms: int = Field(default=5000, ge=10, description="milliseconds for one request to a server")


class DaemonSettings(_Section):
    """The one process per user."""

    idle_minutes: float = Field(default=30.0, gt=0.0, description="exits after so long without a request")
    threads: int = Field(default=4, ge=1, le=64, description="requests worked on at once")
    queue: int = Field(
        default=64, ge=1, le=10_000, description="requests that may wait; more are turned away"
    )
    http_port: int = Field(
        default=0, ge=0, le=65_535, description="loopback HTTP port; 0 = off unless asked for"
    )
    log_bytes: int = Field(default=2_000_000, ge=10_000, description="size at which the log is rotated")
    log_files: int = Field(default=3, ge=1, le=100, description="rotated logs kept")


class PrivacySettings(_Section):
    """What never leaves or enters the store."""

    redact: bool = Field(default=True, description="take secrets out before storing and before handing over")
    allow: tuple[str, ...] = Field(default=(), description="texts that are never redacted")
    deny: tuple[str, ...] = Field(default=(), description="regular expressions that are always redacted")
    emails: Literal["redact", "keep"] = Field(default="redact", description="whether addresses are taken out")
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
    """How long records of what happened are kept. Memories are kept until someone forgets them."""

    traces: int = Field(default=2000, ge=0, description="most traces kept")
    trace_days: float = Field(default=30.0, gt=0.0, description="days a trace is kept")


class KindSettings(_Section):
    """A kind added or changed in configuration; see docs/reference/settings.md."""

    label: str = Field(min_length=1, max_length=40, description="the word shown to people")
    prefix: str = Field(pattern="^[A-Z][A-Z0-9]{1,7}$", description="the short code in rendered lines")
    importance: float = Field(default=0.5, ge=0.0, le=1.0, description="base importance")
    half_life_days: float | None = Field(default=None, gt=0.0, description="days; null = never ages")
    relevance_floor: float = Field(default=0.0, ge=0.0, le=1.0, description="below it never injected")
    standing: bool = Field(default=False, description="a rule that holds until it is superseded")
    episodic: bool = Field(default=False, description="tells what happened, and ages")

    @model_validator(mode="after")
    def _one_nature(self) -> Self:
        if self.standing and self.episodic:
            raise ValueError("either standing or episodic, not both")
        return self


class ProjectSettings(_Section):
    """How projects see one another."""

    share_preferences: bool = Field(default=True, description="universal and language scope are visible here")
    link: tuple[str, ...] = Field(default=(), description="ids of projects whose memories may be read")


class Settings(_Section):
    """The whole configuration."""

    preset: str = Field(default="focused", description="the complete configuration under your own values")
    recall: RecallSettings = RecallSettings()
    capture: CaptureSettings = CaptureSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    daemon: DaemonSettings = DaemonSettings()
    privacy: PrivacySettings = PrivacySettings()
    retention: RetentionSettings = RetentionSettings()
    project: ProjectSettings = ProjectSettings()
    kinds: dict[str, KindSettings] = Field(default_factory=dict[str, KindSettings])
    statusline: bool = Field(default=False, description="one line for the person at every session start")
