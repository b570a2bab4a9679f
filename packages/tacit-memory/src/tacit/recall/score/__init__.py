"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.model.evidence import Candidate
from tacit.model.pack import Surface
from tacit.recall.score.action import judge_action
from tacit.recall.score.armed import ArmedWeights, fuse, judge_threshold
from tacit.recall.score.failure import judge_failure
from tacit.recall.score.gate import Gate
from tacit.recall.score.usage import use_rates, with_usage
from tacit.recall.stage import LAST_SESSION, Judgment, Outcome, RecallState

ARMED = "armed"
"""Beginning of the reason of a memory that a model in the pause named."""
NAMED = "named by the model"
"""Reason of a memory that a model at the prompt named."""


def judge(gate: Gate, state: RecallState, *, weights: ArmedWeights | None = None) -> Outcome[RecallState]:
    """Every candidate with its relevance, best first; those of a ranked start pool, and of an answer that is judged by its match, as they stand.

    Args:
        gate: judges by local evidence.
        state: of the recall.
        weights: of what a model in the pause named; None = those that ship.
    """
    candidates = state.found or ()
    answers = state.source == "answer" and state.score.by_match
    if answers or (state.from_pool and state.start_pool.ranked):
        return Outcome(kept=state.changed(scored=candidates))
    scored = [
        candidate.judged(1.0, candidate.reasons)
        if LAST_SESSION in candidate.reasons
        else candidate.judged(round(relevance, 4), reasons)
        for candidate, (relevance, reasons) in zip(candidates, _judge(gate, state, weights), strict=True)
    ]
    scored.sort(key=lambda candidate: (-candidate.relevance, -candidate.fused, candidate.memory.newest_first))
    state = state.changed(scored=tuple(scored))
    if state.judged is not None:
        least = judge_threshold(state.judged, state.settings.judge)
        thresholds = state.settings.thresholds.model_copy(update={state.query.surface.value: least})
        state = state.changed(settings=state.settings.model_copy(update={"thresholds": thresholds}))
    return Outcome(kept=state)


def _judge(gate: Gate, state: RecallState, weights: ArmedWeights | None) -> Sequence[Judgment]:
    """Relevance of each candidate: by the model at the prompt, else by local evidence with what a model armed."""
    if state.judged is not None:
        chances = state.judged
        return [
            (chances.get(candidate.memory.id, 0.0), _named_reason(chances, candidate))
            for candidate in state.found or ()
        ]
    judged = _judge_locally(gate, state)
    if state.armed is None:
        return judged
    return [
        _with_armed(state, candidate, judgment, weights)
        for candidate, judgment in zip(state.found or (), judged, strict=True)
    ]


def _named_reason(chances: Mapping[str, float], candidate: Candidate) -> tuple[str, ...]:
    return (NAMED,) if candidate.memory.id in chances else ()


def _with_armed(
    state: RecallState, candidate: Candidate, judged: Judgment, weights: ArmedWeights | None
) -> Judgment:
    """Relevance with what a model in the pause said of a memory; what was not on its list stays as it is."""
    chance = (state.armed or {}).get(candidate.memory.id)
    if chance is None:
        return judged
    relevance, reasons = judged
    armed_reasons = (f"{ARMED} {chance:.2f}", *reasons) if chance else reasons
    return fuse(candidate, relevance, chance, surface=state.query.surface, weights=weights), armed_reasons


def _judge_locally(gate: Gate, state: RecallState) -> Sequence[Judgment]:
    """Relevance of each candidate: by the fitted gate where it covers the surface, else by the formula."""
    query, candidates, score = state.query, state.found or (), state.score
    if score.gated and query.surface is Surface.FAILURE:
        return judge_failure(query, candidates, among=state.memories_asked)
    if score.gated and query.surface is Surface.ACTION:
        return judge_action(query, candidates, kinds=state.kinds, among=state.memories_asked)
    if score.gated and candidates and gate.covers(query.surface):
        judged = gate.judge(
            query,
            candidates,
            kinds=state.kinds,
            among=state.memories_asked,
            domain_similarity=state.domain_similarity,
        )
        rates = use_rates(state.context.usage)
        return [
            with_usage(judgment, candidate.memory, rates)
            for candidate, judgment in zip(candidates, judged, strict=True)
        ]
    return [
        score.judge(query, candidate, state.kinds.of_stored(candidate.memory.kind), state.settings)
        for candidate in candidates
    ]
