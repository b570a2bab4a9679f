"""Relevance by scope, frequency, recency and task: the formula of the `scoped` seed (context_injector.py).

    score     = 0.4 * scope + 0.3 * frequency + 0.2 * recency + 0.1 * task
    relevance = score / best score reachable for that scope

Scope: universal 0.4, language 0.7, project 1.0 (0.1 and 0.05 where language or project is another one); frequency:
times stated / 10, at most 1; recency: 1.0, 0.8, 0.6, 0.4, 0.2 for less than 7, 30, 90, 180 days and more; task: share of
the task's words that the memory holds, 0.5 where no task is known. The best score reachable has the scope at hand and age
zero. What a threshold may not ask for counts in it as it is, so that it orders and does not gate: how often a statement was
made (a rule said once would never pass 0.7), the words of the task, and the age of standing kinds ("always relevant"). Codes
of a digest are chosen by code, not by score.
"""

from __future__ import annotations

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST, Kind
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import Scope, ScopeKind
from tacit.model.trigger import ACTION_PARENTS
from tacit.recall.spaces import SPACES

DAY_MS = 86_400_000
WEIGHT_SCOPE, WEIGHT_FREQUENCY, WEIGHT_RECENCY, WEIGHT_TASK = 0.4, 0.3, 0.2, 0.1
UNIVERSAL, LANGUAGE, PROJECT = 0.4, 0.7, 1.0
OTHER_LANGUAGE, OTHER_PROJECT = 0.1, 0.05
UNKNOWN_TASK = 0.5
TASK_WORDS: dict[str, tuple[str, ...]] = {
    "coding": ("implement", "write", "create", "function", "class"),
    "debugging": ("error", "bug", "fix", "debug", "test"),
    "documentation": ("doc", "comment", "readme", "explain"),
    "architecture": ("design", "pattern", "structure", "module"),
}
_TASK_OF_PARENT: dict[str, str] = {
    "feature": "coding", "refactor": "coding", "test": "coding", "fix": "debugging", "docs": "documentation",
}  # fmt: skip
_ARCHITECTURE = frozenset({"plan_or_spec"})


def task_of(query: Query) -> str:
    """The design's task: the one that the scope names, else that of what is about to happen, else empty.

    Every task edits code or answers something: what else is at least half as likely says which one it is.
    """
    scope_task = next((scope.task for scope in query.scope.scopes if scope.task), "")
    actions = query.situation.actions
    if scope_task or not actions:
        return scope_task
    likely = [action for action, chance in actions if chance >= actions[0][1] / 2]
    tasks = [(action, _task_of_action(action)) for action in likely]
    return next((task for action, task in tasks if task and action != "edit_code"), "") or next(
        (task for _, task in tasks if task), ""
    )


def _task_of_action(action: str) -> str:
    if action in _ARCHITECTURE:
        return "architecture"
    return _TASK_OF_PARENT.get(ACTION_PARENTS.get(action, ""), "")


def scope_match(scope: Scope, allowed: tuple[Scope, ...]) -> float:
    """How near a scope is: universal < language < project; what is not at hand hardly counts."""
    if scope.kind is ScopeKind.UNIVERSAL:
        return UNIVERSAL
    at_hand = scope in allowed
    if scope.kind is ScopeKind.LANGUAGE:
        return LANGUAGE if at_hand else OTHER_LANGUAGE
    return PROJECT if at_hand else OTHER_PROJECT


def highest_scope_match(scope: Scope) -> float:
    """What a memory of that scope has at best."""
    if scope.kind is ScopeKind.UNIVERSAL:
        return UNIVERSAL
    return LANGUAGE if scope.kind is ScopeKind.LANGUAGE else PROJECT


def recency(age_ms: int) -> float:
    """The seed's decay in steps."""
    days = age_ms // DAY_MS
    return next((value for limit, value in ((7, 1.0), (30, 0.8), (90, 0.6), (180, 0.4)) if days < limit), 0.2)


def task_match(content: str, task: str) -> float:
    """Share of the task's words that `content` holds; 0.5 where the task is unknown."""
    words = TASK_WORDS.get(task, ())
    text = content.lower()
    return sum(word in text for word in words) / len(words) if words else UNKNOWN_TASK


def recency_of(memory: Memory, *, at_ms: int) -> float:
    """The recency of a memory at a time."""
    return recency(max(0, at_ms - memory.updated_at_ms))


def scope_score(memory: Memory, *, allowed: tuple[Scope, ...], at_ms: int, task: str) -> float:
    """The seed's score, 0 to 1: what orders."""
    return min(
        1.0,
        WEIGHT_SCOPE * scope_match(memory.scope, allowed)
        + WEIGHT_FREQUENCY * min(memory.frequency / 10, 1.0)
        + WEIGHT_RECENCY * recency_of(memory, at_ms=at_ms)
        + WEIGHT_TASK * task_match(memory.content, task),
    )


def best_score(memory: Memory, kind: Kind, *, at_ms: int, task: str) -> float:
    """The best score that this memory can reach by scope and age: what the thresholds are parts of."""
    return (
        WEIGHT_SCOPE * highest_scope_match(memory.scope)
        + WEIGHT_FREQUENCY * min(memory.frequency / 10, 1.0)
        + WEIGHT_RECENCY * (recency_of(memory, at_ms=at_ms) if kind.standing else 1.0)
        + WEIGHT_TASK * task_match(memory.content, task)
    )


def matches(candidate: Candidate) -> bool:
    """Whether a memory fits the words asked for: it shares one of them, or means something like them."""
    return bool(candidate.score("lexical")) or (candidate.score("semantic") or 0.0) >= SPACES["semantic"].low


def scoped_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """The score as a part of the best reachable one, 0 to 1."""
    if query.surface is Surface.ON_DEMAND and not matches(candidate):
        return 0.0, ("does not match the words",)
    if kind.name == DIGEST:
        return 1.0, ("session codes",)
    memory = candidate.memory
    task = task_of(query)
    score = scope_score(memory, allowed=query.scope.scopes, at_ms=query.at_ms, task=task)
    best = best_score(memory, kind, at_ms=query.at_ms, task=task)
    return min(1.0, score / best), (f"score {score:.2f} of {best:.2f}",)
