"""When a subagent starts: rules and facts for its task, by situation first and likeness second.

A standing rule matters because its action is coming, not because its words resemble the prompt; a specific memory (a
fact, a file, an error) matters when both speak for it. Both are logistic models over evidence scaled to 0-1:

    relevance = 1 / (1 + exp(-(bias + sum of weight * evidence)))

Source of the form: Platt, 1999. The weights are data (`fitted/relevance.json`), which says where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tacit.fitted import load_fitted, values_of
from tacit.frozen import frozen
from tacit.model.evidence import Candidate, Parts
from tacit.model.kinds import Kind
from tacit.recall.pipelines import search
from tacit.recall.score import judged
from tacit.recall.stage import Judgment, Kit, Outcome, Pipeline, RecallState

REASONS: dict[str, str] = {
    "intent": "it is for what comes now",
    "semantic": "near in meaning",
    "lexical": "words of the task",
    "code": "names of code in the task",
    "entity": "a name in the task",
    "character": "near in spelling",
    "breadth": "it is for many tasks",
    "importance": "important",
    "given": "somebody said when it applies",
}
"""The reasons that are told, by name of evidence."""
MIN_EXPLAINED_RELEVANCE = 0.1
"""Relevance below which no reasons are given."""
MAKER_TRUST: dict[str, float] = {"user": 1.0, "agent": 0.7, "model": 0.5, "local": 0.0}
"""Evidence `given` by who made the trigger: how far its maker knew when the memory applies."""


def subagent(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline of a subagent: search for its task, judge each memory by `judge_task`, and list in an index what else suits the task."""
    return search(kit, state, judge=judge_tasks)


def judge_tasks(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: every candidate judged with `judge_task`, best first."""
    told = [
        judge_task(candidate, state.kinds.of_stored(candidate.memory.kind)) for candidate in state.found or ()
    ]
    return judged(state, [judgment for judgment, _ in told], [parts for _, parts in told])


def judge_task(candidate: Candidate, kind: Kind) -> tuple[Judgment, Parts]:
    """Return the relevance (0-1) of `candidate` for a subagent's task with short reasons, strongest first, and the log odds that it is made of.

    It is that of the model for standing or for other kinds, times the freshness of an episodic memory. A pinned rule that always applies has 1, and
    no parts.
    """
    memory = candidate.memory
    if kind.standing and memory.trigger.always and memory.pinned:
        return (1.0, ("always, and pinned",)), ()
    model = shipped_weights()["standing" if kind.standing else "specific"]
    gains = model.gains(evidence_of(candidate))
    value = probability_of(model.bias + sum(gains.values()))
    if kind.episodic:
        value *= candidate.score("recent") or 0.0
    reasons = _reasons(gains) if value >= MIN_EXPLAINED_RELEVANCE else ()
    return (value, reasons), (("usual", model.bias), *gains.items())


def _reasons(gains: Mapping[str, float]) -> tuple[str, ...]:
    best = sorted((-gain, name) for name, gain in gains.items() if gain > 0.2)
    return tuple(REASONS[name] for _, name in best[:3])


@frozen
class FittedWeights:
    """One logistic model of relevance: its bias, and a weight by name of evidence."""

    bias: float
    weights: Mapping[str, float]

    def gains(self, evidence: Mapping[str, float]) -> dict[str, float]:
        """Return what each of `evidence`, 0-1 by name, adds to the log odds. KeyError for evidence without a weight."""
        return {name: self.weights[name] * x for name, x in evidence.items()}


def probability_of(log_odds: float) -> float:
    """Return the probability of these log odds."""
    return (
        1.0 / (1.0 + math.exp(-log_odds))
        if log_odds >= 0
        else math.exp(log_odds) / (1.0 + math.exp(log_odds))
    )


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
