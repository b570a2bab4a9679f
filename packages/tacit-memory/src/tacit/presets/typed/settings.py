"""Settings of `typed` alone: `recall.typed`. In: plain mappings. Out: frozen values. They do nothing in any other preset."""

from __future__ import annotations

from pydantic import Field

from tacit.config.section import Section, Shares


class TypedSettings(Section):
    """The `typed` preset: weights of the five parts of its score, and what a memory needs besides."""

    semantic: float = Field(default=0.40, ge=0.0, le=1.0, description="similarity of meaning")
    recency: float = Field(default=0.20, ge=0.0, le=1.0, description="age under the kind's half-life")
    importance: float = Field(default=0.15, ge=0.0, le=1.0, description="importance of the memory")
    access: float = Field(default=0.10, ge=0.0, le=1.0, description="how often it was used")
    kind: float = Field(default=0.15, ge=0.0, le=1.0, description="priority of its kind for the task")
    similarity: Shares = Field(
        default_factory=lambda: {
            "*": 0.35,
            "preference": 0.30,
            "decision": 0.40,
            "file_context": 0.45,
            "error_pattern": 0.50,
            "research": 0.45,
            "outcome": 0.55,
        },
        description="kind -> least cosine; `*` = kinds that are not named",
    )
    calibrated: bool = Field(
        default=False,
        description="with the shipped model, the cosines that few unrelated pairs reach, measured, in the place of the design's `similarity` and `certain`; with another measured model they always are",
    )
    certain: float = Field(
        default=0.70,
        ge=0.0,
        le=1.0,
        description="cosine from which a memory passes with any relevance; 0 = none",
    )
    least_importance: float = Field(default=0.15, ge=0.0, le=1.0, description="least importance of a memory")
    by_task: bool = Field(default=True, description="only the kinds that the design lists for the task")
    context_window: int = Field(
        default=200_000,
        ge=1000,
        description="size of the model's context window in tokens; a smaller one makes budgets smaller",
    )
    min_prompt_chars: int = Field(default=20, ge=0, description="shorter prompts get nothing; 0 = no limit")
    max_session_memories: int = Field(
        default=20,
        ge=0,
        description="most memories that prompts of one context are given; beyond it they get nothing; 0 = no limit",
    )
    start_shares: Shares = Field(
        default_factory=lambda: {
            "preference": 0.25,
            "decision": 0.30,
            "file_context": 0.20,
            "error_pattern": 0.15,
            "research": 0.10,
        },
        description="kind, scope or band of relevance -> its share of the start pack",
    )
    prompt_shares: Shares = Field(
        default_factory=lambda: {
            "preference": 0.20,
            "decision": 0.25,
            "file_context": 0.30,
            "error_pattern": 0.25,
            "high": 0.625,
            "medium": 0.375,
        },
        description="the same of the pack before a prompt",
    )
