"""The formula of the `typed` seed: five parts with fixed weights. Sources: its sections 2.1, 2.2, 2.4, 2.5, 3.1.

    0.40 semantic + 0.20 recency + 0.15 importance + 0.10 access + 0.15 kind

semantic = cosine (below 0 counts 0; the same error signature counts 1); recency = 2 ** (-age in days / half-life), by the
seed's half-life of the type unless the settings define the kind anew;
importance 0-1; access = min(uses / 10, 1); kind = priority of the kind for the task. Weights come from the settings.
The tables are the seed's; kinds that it does not have stand under the one they are a case of.
What a prompt asks is read by the same tables: the types of its task (`typed_query`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import BUILTIN, BUILTIN_KINDS, DIGEST, Kind, KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.presets.typed.settings import TypedSettings
from tacit.reading.terms import find_paths
from tacit.recall.score import similarity_of
from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import LATIN_WORD

DAY_MS = 86_400_000
RULES = frozenset(kind.name for kind in BUILTIN if kind.standing and kind.name != "decision")
"""Kinds that the seed's one type for rules, `preference`, stands for."""
SUMMARIES = frozenset({DIGEST})
"""Kinds that the seed's `outcome`, the summary of what was done, stands for."""
HALF_LIFE_DAYS: Mapping[str, float | None] = {
    "preference": None,
    "decision": 180,
    "file_context": 90,
    "error_pattern": 30,
    "research": 45,
    "outcome": 14,
}
OTHER_HALF_LIFE_DAYS = 60
PRIORITY: Mapping[str, float] = {
    "preference": 1.0,
    "decision": 0.9,
    "error_pattern": 0.8,
    "file_context": 0.7,
    "research": 0.6,
    "outcome": 0.5,
}
PRIORITY_FIX: Mapping[str, float] = {
    "error_pattern": 1.0,
    "file_context": 0.9,
    "preference": 0.8,
    "decision": 0.7,
    "outcome": 0.6,
    "research": 0.5,
}
OTHER_PRIORITY = 0.5
SATURATING_USES = 10
TASK_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("fix", frozenset({"fix", "bug", "error", "broken"})),
    ("feature", frozenset({"add", "create", "new", "implement"})),
    ("refactor", frozenset({"refactor", "clean", "improve"})),
    ("test", frozenset({"test", "testing", "coverage"})),
)
"""The first row with a word of the prompt names the task; whole words and their endings, so that `address` is no `add`."""
_ENDINGS = ("", "s", "es", "d", "ed", "ing")
TASK_TYPES: Mapping[str, tuple[str, ...]] = {
    "fix": ("error_pattern", "file_context", "decision", "preference"),
    "feature": ("decision", "preference", "file_context", "research"),
    "refactor": ("preference", "decision", "file_context"),
    "test": ("preference", "file_context", "error_pattern"),
    "general": ("preference", "decision", "file_context", "error_pattern"),
}
DEFAULT_TYPES = ("preference", "decision", "file_context", "error_pattern")
"""The types that are on unless the settings say otherwise."""
_POINTS_AT_FILE = lazy_regex(
    r"\b(?:this|that|the same|the current|these|those)\s+(?:file|module|class|function|method|component|script|code|test|view|helper"
    r"|handler|page|one)s?\b|\bhere\b|\b(?:in|of|to|with|from|about)\s+(?:it|this|that)\b"
    r"|\b(?:explain|refactor|test|document|simplify|review|describe|clean|split|move|fix)\s+(?:it|this|that)\b",
    re.IGNORECASE,
)
_ASKED_FOR = (Surface.START, Surface.COMPACTION, Surface.ON_DEMAND, Surface.FAILURE)
"""Surfaces that no prompt or task asks."""


def typed_relevance(
    query: Query, candidate: Candidate, kind: Kind, *, weights: TypedSettings
) -> tuple[float, tuple[str, ...]]:
    """The five parts, weighted, 0 to 1; reasons name task and similarity."""
    task = task_of(query)
    memory = candidate.memory
    similar = similarity_of(query, candidate)
    value = weights.semantic * similar + _rest(memory, kind, task, query.at_ms, weights)
    return min(1.0, value), (f"task {task}", f"similarity {similar:.2f}")


def weights_of(settings: TypedSettings) -> tuple[float, ...]:
    """The weights of the five parts."""
    return (settings.semantic, settings.recency, settings.importance, settings.access, settings.kind)


def start_relevance(memory: Memory, kind: Kind, *, at_ms: int, weights: TypedSettings) -> float:
    """The same without a query: the four other parts over the sum of their weights. Rules score 1.

    The seed gives rules the highest score at session start and leaves the formula of the others open.
    """
    if memory.kind in RULES:
        return 1.0
    whole = weights.recency + weights.importance + weights.access + weights.kind
    return _rest(memory, kind, "general", at_ms, weights) / whole if whole > 0 else 0.0


def type_of(kind: str) -> str:
    """The seed's type that `kind` is a case of."""
    return "preference" if kind in RULES else "outcome" if kind in SUMMARIES else kind


def is_enabled(kind: str, enabled: Collection[str]) -> bool:
    """Whether `kind`, or the seed's type that it is a case of, is among those that are on; none = all are."""
    return not enabled or kind in enabled or type_of(kind) in enabled


def serves_task(kind: str, task: str, enabled: Collection[str]) -> bool:
    """Whether a prompt with this task looks at `kind`.

    The seed lists the types of each task, of the four that are on by default and of research. What a user turned on besides
    is looked at for every task, or it would never be.
    """
    if not is_enabled(kind, enabled):
        return False
    return type_of(kind) in TASK_TYPES[task] or (bool(enabled) and type_of(kind) not in DEFAULT_TYPES)


def recency(memory: Memory, kind: Kind, *, at_ms: int) -> float:
    """2 ** (-age / half-life of its type), 0 to 1. The age is counted from when it was said; the future counts as new."""
    half_life = HALF_LIFE_DAYS.get(type_of(memory.kind), OTHER_HALF_LIFE_DAYS)
    if kind.half_life_days != BUILTIN_KINDS.of_stored(kind.name).half_life_days:
        half_life = kind.half_life_days
    if half_life is None:
        return 1.0
    return 2.0 ** (-max(0, at_ms - memory.validity.valid_from_ms) / DAY_MS / half_life)


def priority(kind: str, task: str) -> float:
    """How much a memory of `kind` matters for `task`, 0 to 1."""
    table = PRIORITY_FIX if task == "fix" else PRIORITY
    return table.get(type_of(kind), OTHER_PRIORITY)


def task_of(query: Query) -> str:
    """`fix`, `feature`, `refactor`, `test` or `general`: by the seed's words; of an accepted proposal as it was read."""
    task = task_in(query.raw_text)
    accepted = query.situation.accepted and query.task in TASK_TYPES
    return query.task if task == "general" and accepted else task


def task_in(text: str) -> str:
    """The task that the words of `text` name; `general` where none does."""
    words = set(LATIN_WORD.findall(text.lower()))
    return next(
        (
            task
            for task, task_words in TASK_WORDS
            if any(f"{word}{ending}" in words for word in task_words for ending in _ENDINGS)
        ),
        "general",
    )


def _rest(memory: Memory, kind: Kind, task: str, at_ms: int, weights: TypedSettings) -> float:
    return (
        weights.recency * recency(memory, kind, at_ms=at_ms)
        + weights.importance * memory.importance
        + weights.access * min(memory.use_count / SATURATING_USES, 1.0)
        + weights.kind * priority(kind.name, task)
    )


def kinds_for_task(task: str, enabled: Sequence[str], kinds: KindRegistry) -> tuple[str, ...]:
    """Names of the kinds that a task looks at, of those that are on."""
    return tuple(kind.name for kind in kinds if serves_task(kind.name, task, enabled))


def typed_query(query: Query, settings: RecallSettings, kinds: KindRegistry) -> Query:
    """The query for the types of its task alone, with the newest file at hand where the words point at one.

    Source: the typed seed, section 2.2. Its query names recent files beside the words of every prompt. Where the words do not
    point at a file, one more name only draws the vector away from what they ask, so it is added where they do.
    """
    if query.surface in _ASKED_FOR:
        return query
    if settings.typed.by_task:
        query = replace(query, kinds=kinds_for_task(task_of(query), settings.kinds, kinds))
    words = query.raw_text
    if query.files and _POINTS_AT_FILE.search(words) and not find_paths(words):
        query = replace(query, text=f"{query.text} ({query.files[-1]})")
    return query
