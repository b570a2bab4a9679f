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

    start: int = Field(default=2000, ge=0, le=20_000)
    prompt: int = Field(default=800, ge=0, le=20_000)
    action: int = Field(default=200, ge=0, le=20_000)
    failure: int = Field(default=300, ge=0, le=20_000)
    compaction: int = Field(default=1500, ge=0, le=20_000)
    subagent: int = Field(default=600, ge=0, le=20_000)
    on_demand: int = Field(default=1000, ge=0, le=20_000)


class Thresholds(_Section):
    """Least calibrated relevance (0-1) that a surface injects. Below it: silence."""

    start: float = Field(default=0.0, ge=0.0, le=1.0)
    prompt: float = Field(default=0.5, ge=0.0, le=1.0)
    action: float = Field(default=0.5, ge=0.0, le=1.0)
    failure: float = Field(default=0.4, ge=0.0, le=1.0)
    compaction: float = Field(default=0.0, ge=0.0, le=1.0)
    subagent: float = Field(default=0.45, ge=0.0, le=1.0)
    on_demand: float = Field(default=0.05, ge=0.0, le=1.0)


class RecallSettings(_Section):
    """The read path. `preset` names the complete configuration these values came from."""

    enabled: bool = True
    shadow: bool = Field(default=False, description="score and log without injecting")
    spaces: tuple[SpaceName, ...] = ("semantic", "lexical", "code", "entity", "character", "recent", "intent")
    candidates_per_space: int = Field(default=48, ge=1, le=1000)
    shortlist: int = Field(default=40, ge=1, le=1000)
    max_items: int = Field(default=8, ge=1, le=200, description="most memories in one prompt pack")
    fuse: Literal["rrf", "weighted", "convex"] = "rrf"
    score: Literal["situation", "similarity"] = "situation"
    renderer: Literal["block", "memory_sections"] = "block"
    placement: Literal["default", "system_every_call"] = "default"
    refresh_similarity_first: float = Field(default=0.45, ge=0.0, le=1.0)
    refresh_similarity_later: float = Field(default=0.55, ge=0.0, le=1.0)
    refresh_top: int = Field(default=3, ge=0, le=50)
    recency_weight: float = Field(default=0.0, ge=0.0, le=1.0)
    reinject_after: int = Field(
        default=0, ge=0, description="turns after which a memory may come again; 0 = never"
    )
    pinned_kinds: tuple[str, ...] = ()
    opt_out_token: str = Field(
        default="#notacit", min_length=2, description="in a prompt: no injection for it"
    )
    deadline_ms: int = Field(default=400, ge=10, le=60_000)
    budgets: Budgets = Budgets()
    thresholds: Thresholds = Thresholds()


class CaptureSettings(_Section):
    """The write path."""

    enabled: bool = True
    explicit: bool = Field(
        default=True, description="capture 'remember that ...' and 'always ..., never ...' at once"
    )
    at_session_end: bool = True
    subagents: bool = Field(default=False, description="also learn from subagent transcripts")
    rule_files: bool = Field(default=True, description="import and follow the project's rule files")
    near_duplicate_cosine: float = Field(default=0.93, ge=0.0, le=1.0)


class EmbedderSettings(_Section):
    """Which model makes the vectors. `minilm` is shipped and works offline."""

    provider: Literal["minilm", "onnx", "openai", "ollama", "fastembed", "fake"] = "minilm"
    model: str = Field(
        default="", description="model name, or the folder of a sentence-transformers ONNX model"
    )
    endpoint: str = Field(default="", description="base URL of an OpenAI-compatible or Ollama server")
    api_key_env: str = Field(default="OPENAI_API_KEY", description="name of the variable that holds the key")
    cache_entries: int = Field(default=2048, ge=0)
    cache_ttl_s: int = Field(default=3600, ge=0)
    timeout_ms: int = Field(default=5000, ge=10)


class DaemonSettings(_Section):
    """The one process per user."""

    idle_minutes: float = Field(default=30.0, gt=0.0, description="exits after so long without a request")
    threads: int = Field(default=4, ge=1, le=64)
    queue: int = Field(default=64, ge=1, le=10_000)
    http_port: int = Field(
        default=0, ge=0, le=65_535, description="loopback HTTP port; 0 = off unless asked for"
    )
    log_bytes: int = Field(default=2_000_000, ge=10_000)
    log_files: int = Field(default=3, ge=1, le=100)


class PrivacySettings(_Section):
    """What never leaves or enters the store."""

    redact: bool = True
    allow: tuple[str, ...] = Field(default=(), description="texts that are never redacted")
    deny: tuple[str, ...] = Field(default=(), description="regular expressions that are always redacted")
    emails: Literal["redact", "keep"] = "redact"
    home_paths: Literal["shorten", "keep"] = "shorten"
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

    traces: int = Field(default=2000, ge=0)
    trace_days: float = Field(default=30.0, gt=0.0)


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

    preset: str = "focused"
    recall: RecallSettings = RecallSettings()
    capture: CaptureSettings = CaptureSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    daemon: DaemonSettings = DaemonSettings()
    privacy: PrivacySettings = PrivacySettings()
    retention: RetentionSettings = RetentionSettings()
    project: ProjectSettings = ProjectSettings()
    kinds: dict[str, KindSettings] = Field(default_factory=dict[str, KindSettings])
    statusline: bool = Field(default=False, description="one line for the person at every session start")
