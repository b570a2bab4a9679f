"""When a subagent starts: rules and facts for its task, by situation first and likeness second.

A standing rule matters because its action is coming, not because its words resemble the prompt; a specific memory (a
fact, a file, an error) matters when both speak for it. Both are logistic models over evidence scaled to 0-1:

    relevance = 1 / (1 + exp(-(bias + sum of weight * evidence)))

Source of the form: Platt, 1999. The weights are data (`fitted/relevance.json`), which says where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.fitted import load_fitted, values_of
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.pipelines import search
from tacit.recall.score import judge_each
from tacit.recall.stage import Judgment, Kit, Pipeline, RecallState

MIN_EXPLAINED_RELEVANCE = 0.1
"""Relevance below which no reasons are given."""
MAKER_TRUST: dict[str, float] = {"user": 1.0, "agent": 0.7, "model": 0.5, "local": 0.0}
"""Evidence `given` by who made the trigger: how far its maker knew when the memory applies."""


def subagent(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a subagent: search for its task, judge each memory by `judge_task`, and list in an index what else suits the task."""
    return search(kit, state, judge=partial(judge_each, judge_task))


def judge_task(query: Query, candidate: Candidate, kind: Kind, settings: RecallSettings) -> Judgment:
    """Return the relevance (0-1) of `candidate` for a subagent's task, and short reasons, strongest first.

    It is that of the model for standing or for other kinds, times the freshness of an episodic memory, but 1 for a pinned rule that always applies.
    """
    del query, settings
    memory = candidate.memory
    if kind.standing and memory.trigger.always and memory.pinned:
        return 1.0, ("always, and pinned",)
    model, evidence = shipped_weights()["standing" if kind.standing else "specific"], evidence_of(candidate)
    value = model.relevance(evidence)
    if kind.episodic:
        value *= candidate.score("recent") or 0.0
    if value < MIN_EXPLAINED_RELEVANCE:
        return value, ()
    gains = sorted(
        ((model.weights[name] * x, name) for name, x in evidence.items() if model.weights[name] * x > 0.2),
        key=lambda entry: (-entry[0], entry[1]),
    )
    return value, tuple(f"{name} +{gain:.1f}" for gain, name in gains[:3])


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWeights:
    """One logistic model of relevance: its bias, and a weight by name of evidence."""

    bias: float
    weights: Mapping[str, float]

    def relevance(self, evidence: Mapping[str, float]) -> float:
        """Return the probability for `evidence`, 0-1 by name. KeyError for evidence without a weight."""
        z = self.bias + sum(self.weights[name] * x for name, x in evidence.items())
        return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def shipped_weights() -> Mapping[str, FittedWeights]:
    """Return the shipped models: `standing` for standing kinds, `specific` for all others."""
    return load_fitted("relevance", dict[str, FittedWeights], values_of)


def scaled(value: float | None, *, low: float, high: float) -> float:
    """Return a space's score mapped from `low`..`high` to 0-1, clamped; None (not measured) gives 0."""
    return 0.0 if value is None else min(1.0, max(0.0, (value - low) / (high - low)))


def evidence_of(candidate: Candidate) -> dict[str, float]:
    """Return the candidate's evidence by name, each scaled to 0-1."""
    memory = candidate.memory
    score = dict(candidate.scores).get
    return {
        "intent": score("intent", 0.0),
        "semantic": scaled(score("semantic"), low=0.2, high=0.7),
        "lexical": scaled(score("lexical"), low=0.0, high=20.0),
        "code": scaled(score("code"), low=0.0, high=20.0),
        "entity": score("entity", 0.0),
        "character": scaled(score("character"), low=0.05, high=0.45),
        "breadth": memory.trigger.breadth / 3.0,
        "importance": memory.importance,
        "given": MAKER_TRUST[memory.trigger.maker],
    }
