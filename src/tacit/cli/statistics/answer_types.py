"""The API's answers behind `tacit stats`, as far as they are shown. Types alone: a test holds them to what the API says.

What the numbers mean stands at the values they are made of: `tacit.app.admin.series`, `tacit.app.holdout.report`, `tacit.capture.usage`.
"""

from __future__ import annotations

from typing import TypedDict


class Bucket(TypedDict):
    """One stretch of time."""

    at_ms: int
    injections: int
    silences: int
    p50_ms: float
    p95_ms: float
    tokens: dict[str, int]
    precision: float | None


class Latency(TypedDict):
    """How long the recalls of one surface took."""

    surface: str
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


class Reason(TypedDict):
    """A reason for silence, and how often."""

    reason: str
    count: int


class Feedback(TypedDict):
    """What the owner said."""

    useful: int
    wrong: int
    missed: int
    precision: float | None


class CacheShare(TypedDict):
    """What prompt caches kept, by placement or host."""

    placement: str
    host: str
    requests: int
    share: float
    bare: float
    input_tokens: int
    cached_tokens: int


class Series(TypedDict):
    """Numbers over time."""

    since_ms: int
    until_ms: int
    bucket_ms: int
    complete: bool
    buckets: list[Bucket]
    latency: list[Latency]
    silences: list[Reason]
    kinds: dict[str, int]
    feedback: Feedback
    cache: list[CacheShare]


class Contrast(TypedDict):
    """One measure of sessions with memory and without."""

    measure: str
    with_memory: float
    without: float
    difference: float
    low: float
    high: float
    clear: bool


class Holdout(TypedDict):
    """Sessions with memory and without."""

    share: float
    sessions_with: int
    sessions_without: int
    enough: bool
    contrasts: list[Contrast]


class Stored(TypedDict):
    """What is stored."""

    by_kind: dict[str, int]
    by_status: dict[str, int]
    stated: int
    used: int
    restated: int


class Uses(TypedDict):
    """What became of what was handed over."""

    shown: int
    used: int
    before: int
    control_shown: int
    tokens: int
    tokens_used: int
    sessions: int
    by_cue: dict[str, int]
    by_surface: dict[str, int]


class Impact(TypedDict):
    """What injections were good for."""

    impact: Uses
    rate: float | None
    baseline: float | None


class OverTime(TypedDict):
    """The charts."""

    series: Series
    holdout: Holdout


class Stats(Impact, OverTime):
    """Everything."""

    store: Stored
