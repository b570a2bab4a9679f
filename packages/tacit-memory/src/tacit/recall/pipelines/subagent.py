"""When a subagent starts: rules and facts for its task, by situation first and likeness second.

A standing rule matters because its action is coming, not because its words resemble the prompt; a specific memory (a
fact, a file, an error) matters when both speak for it. Both are logistic models over evidence scaled to 0-1:

    relevance = 1 / (1 + exp(-(bias + sum of weight * evidence)))

Source of the form: Platt, 1999. The weights are data (`fitted/relevance.json`), which says where they come from. An exact error signature is evidence of its own and needs no model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.fitted import Artifact, load_fitted
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.pipelines import search
from tacit.recall.score import judge_each
from tacit.recall.stage import Judgment, Kit, Pipeline, RecallState

EVIDENCE: tuple[str, ...] = (
    "intent",
    "semantic",
    "lexical",
    "code",
    "entity",
    "character",
    "breadth",
    "importance",
    "given",
)
"""Names of the evidence in the order of the weights."""

EXACT_SIGNATURE = 0.95
MIN_EXPLAINED_RELEVANCE = 0.1
"""Relevance below which no reasons are given."""
MAKER_TRUST: dict[str, float] = {"user": 1.0, "agent": 0.7, "model": 0.5, "local": 0.0}
"""Evidence `given` by who made the trigger: how far its maker knew when the memory applies."""


def subagent(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a subagent: search for its task, judge each memory by `judge_task`, and list in an index what else suits the task."""
    return search(kit, state, judge=partial(judge_each, judge_task))


def judge_task(query: Query, candidate: Candidate, kind: Kind, settings: RecallSettings) -> Judgment:
    """Return the relevance (0-1) of `candidate` for a subagent's task and the reasons: by `situation_relevance`, but 1 for a pinned rule that always applies."""
    del settings
    if kind.standing and candidate.memory.trigger.always and candidate.memory.pinned:
        return 1.0, ("always, and pinned",)
    return situation_relevance(query, candidate, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One logistic model: a bias and one weight per evidence, in the order of `EVIDENCE`."""

    bias: float
    weights: tuple[float, ...]

    def relevance(self, evidence: tuple[float, ...]) -> float:
        """Return the probability for `evidence` (each 0-1, in the order of `EVIDENCE`)."""
        z = self.bias + sum(w * x for w, x in zip(self.weights, evidence, strict=True))
        return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWeights:
    """One logistic model of relevance as it stands in the fitted file: its bias, and a weight by name of evidence. `relevance_from` makes a `Weights` of it."""

    bias: float
    weights: Mapping[str, float]


def relevance_from(artifact: Artifact[dict[str, FittedWeights]]) -> Mapping[str, Weights]:
    """Return the models that a fitted file holds, by group. KeyError if one lacks a piece of evidence."""
    return {
        name: Weights(bias=model.bias, weights=tuple(model.weights[key] for key in EVIDENCE))
        for name, model in artifact.values.items()
    }


def shipped_weights() -> Mapping[str, Weights]:
    """Return the shipped models by group: `standing`, `specific`, `action`, `on_demand`."""
    return load_fitted("relevance", dict[str, FittedWeights], relevance_from)


def scaled(value: float | None, *, low: float, high: float) -> float:
    """Return a space's score mapped from `low`..`high` to 0-1, clamped; None (not measured) gives 0."""
    return 0.0 if value is None else min(1.0, max(0.0, (value - low) / (high - low)))


def evidence_of(candidate: Candidate) -> tuple[float, ...]:
    """Return the candidate's evidence, each scaled to 0-1, in the order of `EVIDENCE`."""
    memory = candidate.memory
    score = dict(candidate.scores).get
    return (
        score("intent", 0.0),
        scaled(score("semantic"), low=0.2, high=0.7),
        scaled(score("lexical"), low=0.0, high=20.0),
        scaled(score("code"), low=0.0, high=20.0),
        score("entity", 0.0),
        scaled(score("character"), low=0.05, high=0.45),
        memory.trigger.breadth / 3.0,
        memory.importance,
        MAKER_TRUST[memory.trigger.maker],
    )


def _group(surface: Surface, kind: Kind) -> str:
    if surface in (Surface.ON_DEMAND, Surface.ACTION):
        return surface.value
    return "standing" if kind.standing else "specific"


def situation_relevance(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Return the relevance (0-1) of `candidate` for `query`, and short reasons, strongest first."""
    if query.error_signature and candidate.memory.error_signature == query.error_signature:
        return EXACT_SIGNATURE, ("same error signature",)
    evidence = evidence_of(candidate)
    model = shipped_weights()[_group(query.surface, kind)]
    value = model.relevance(evidence)
    if kind.episodic:
        value *= candidate.score("recent") or 0.0
    if value < MIN_EXPLAINED_RELEVANCE:
        return value, ()
    gains = sorted(
        ((w * x, name) for name, w, x in zip(EVIDENCE, model.weights, evidence, strict=True) if w * x > 0.2),
        key=lambda entry: (-entry[0], entry[1]),
    )
    return value, tuple(f"{name} +{gain:.1f}" for gain, name in gains[:3])
