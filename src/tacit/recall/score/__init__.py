"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.recall.score.gate import Gate
from tacit.recall.score.moment import judge_moment
from tacit.recall.score.question import ANSWER_RELEVANCE, ANSWERS, find_answer
from tacit.recall.stage import LAST_SESSION, Judgment, Outcome, RecallState


def judge(gate: Gate, state: RecallState) -> Outcome[RecallState]:
    """Every candidate with its relevance, best first; those of a ranked start pool as they stand."""
    found = state.found or ()
    if state.from_pool and state.start_pool.ranked:
        return Outcome(kept=state.changed(scored=found))
    scored = [
        candidate.judged(1.0, candidate.reasons)
        if LAST_SESSION in candidate.reasons
        else candidate.judged(round(relevance, 4), reasons)
        for candidate, (relevance, reasons) in zip(
            found, _with_answer(state, _with_moments(state, _judge(gate, state))), strict=True
        )
    ]
    scored.sort(key=lambda candidate: (-candidate.relevance, -candidate.fused, candidate.memory.id))
    return Outcome(kept=state.changed(scored=tuple(scored)))


def _with_moments(state: RecallState, judged: Sequence[Judgment]) -> Sequence[Judgment]:
    """The same, but what names its moment as its words say."""
    if not state.score.moments:
        return judged
    return [
        judge_moment(state.query, candidate, state.kinds.of_stored(candidate.memory.kind)) or one
        for candidate, one in zip(state.found or (), judged, strict=True)
    ]


def _with_answer(state: RecallState, judged: Sequence[Judgment]) -> Sequence[Judgment]:
    """The same, but the memory that answers the prompt's question is worth saying."""
    if not state.score.gated:
        return judged
    at = find_answer(state.query, state.found or (), least_cosine=state.settings.question_cosine)
    if at is None or judged[at][0] >= ANSWER_RELEVANCE:
        return judged
    return [*judged[:at], (ANSWER_RELEVANCE, (ANSWERS,)), *judged[at + 1 :]]


def _judge(gate: Gate, state: RecallState) -> Sequence[Judgment]:
    """Relevance of each candidate: by the fitted gate where it covers the surface, else by the formula."""
    query, found, score = state.query, state.found or (), state.score
    if score.gated and found and gate.covers(query.surface):
        return gate.judge(
            query,
            found,
            kinds=state.kinds,
            among=state.memories_asked,
            domain_similarity=state.domain_similarity,
        )
    return [
        score.judge(query, candidate, state.kinds.of_stored(candidate.memory.kind), state.settings)
        for candidate in found
    ]
