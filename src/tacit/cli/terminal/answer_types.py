"""The API's answers that several commands show, as far as they show them. Types alone: a test holds them to what the API says.

What the fields mean stands at the values they are made of: `tacit.model.trace`, `tacit.recall.replay`, `tacit.app.values`.
"""

from __future__ import annotations

from typing import TypedDict


class Drop(TypedDict):
    """Why a stage let a memory go."""

    memory_id: str
    reason: str


class Stage(TypedDict):
    """What one stage did."""

    stage: str
    took_ms: float
    kept: list[str]
    drops: list[Drop]
    notes: list[str]


class ScoredCandidate(TypedDict):
    """A candidate."""

    memory_id: str
    content: str
    relevance: float
    reasons: list[str]


class ExpectedActions(TypedDict):
    """What was about to happen."""

    actions: list[tuple[str, float]]


class Trace(TypedDict):
    """One recall."""

    id: str
    session: str
    surface: str
    at_ms: int
    text: str
    situation: ExpectedActions
    stages: list[Stage]
    candidates: list[ScoredCandidate]
    injected: list[str]
    silence: str
    cause: str | None
    tokens: int
    took_ms: float


class Replayed(TypedDict):
    """One recall decided again."""

    trace_id: str
    threshold: float
    was: float
    after: list[str]
    added: list[str]
    gone: list[str]
    unsure: list[str]


class Counts(TypedDict):
    """What is stored."""

    memories_active: int
    projects: int
    handovers_pending: int
    size_bytes: int


class Extractor(TypedDict):
    """What the model that reads finished sessions has cost and brought."""

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


class SilenceCount(TypedDict):
    """How often a surface got nothing for one cause; None = recorded before causes were kept."""

    surface: str
    cause: str | None
    count: int


class EngineFacts(TypedDict):
    """What the engine says of itself."""

    preset: str
    store: Counts
    embedder: str
    tokens_exact: bool
    warnings: list[str]
    silences: list[SilenceCount]
    injections: int
    recent: int
    recall_enabled: bool
    shadow: bool
    extractor: Extractor | None
