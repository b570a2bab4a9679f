"""Which of the ranked memories are an answer: a cut by the question, and one by the best answer. Part of stages 5 and 6. Pure.

In: candidates in the order of `on_demand`. Out: those worth reading, in that order. A memory answers if it matches the question
(`thresholds.on_demand`, by `on_demand.match_with`) and scores at least `answer_share` of what the best one does, or matches nearly
as well: where one memory answers, what merely shares a word with the question stays out; where many do, all of them come.

Both numbers were chosen on projects: for each of seven those of the six others are 0.15 to 0.30 and 0.26 to 0.30, the middle ships
(`tacit_evals.answers.precision`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.model.evidence import Candidate
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.stage import Outcome, RecallState

NEAR_MATCH = 0.7
"""Share of the best match from which one matches nearly as well. In a small store every score but the best is small."""
LEAST_TOLD = 0.1
"""A cosine below it explains nothing."""


def order_answer(state: RecallState) -> Outcome[RecallState]:
    """The judged candidates of an answer in its order; all others as they stand."""
    if state.source != "answer":
        return Outcome(kept=state)
    if state.score.by_match:
        return Outcome(kept=state.changed(scored=by_match(state.found or (), state.matches)))
    return Outcome(kept=state.changed(scored=in_order(state.scored or ())))


def by_match(candidates: Sequence[Candidate], matches: Mapping[str, float]) -> tuple[Candidate, ...]:
    """Candidates by their place in the answer, each as relevant as it matches the question."""
    judged = [c.judged(round(matches.get(c.memory.id, 0.0), 4), _reasons(c)) for c in candidates]
    return tuple(sorted(judged, key=lambda c: (-c.fused, -c.relevance, c.memory.newest_first)))


def _reasons(candidate: Candidate) -> tuple[str, ...]:
    cosine = candidate.score("semantic") or 0.0
    words = ("shared words",) if (candidate.score("lexical") or 0.0) > 0 else ()
    return (*((f"semantic +{cosine:.1f}",) if cosine >= LEAST_TOLD else ()), *words)


def in_order(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The candidates in the order of the answer, for presets whose own score judges relevance.

    Whether there is an answer depends on the relevance of the best candidate alone. Another candidate may come from the same
    conversation and share no word with the question. Its relevance is therefore raised in proportion to its score in the answer:
    max(own, best own * score / best score).
    """
    best_own = max((c.relevance for c in candidates), default=0.0)
    best_score = max((c.fused for c in candidates), default=0.0)
    raised = [
        replace(c, relevance=round(max(c.relevance, best_own * c.fused / best_score), 4))
        if best_score > 0
        else c
        for c in candidates
    ]
    return tuple(sorted(raised, key=lambda c: (-c.fused, -c.relevance, c.memory.newest_first)))


def cut_answer(state: RecallState) -> Outcome[RecallState]:
    """Of an answer, what stands beside the best that may be handed over; all else as it stands."""
    if state.source != "answer" or not state.score.by_match:
        return Outcome(kept=state)
    done = cut(state.passed or (), share=state.settings.answer_share)
    return Outcome(kept=state.changed(passed=done.kept), drops=done.drops)


def cut(candidates: Sequence[Candidate], *, share: float) -> Outcome[tuple[Candidate, ...]]:
    """Those that score at least `share` of the best or match nearly as well, in the order given."""
    least = share * max((c.fused for c in candidates), default=0.0)
    near = NEAR_MATCH * max((c.relevance for c in candidates), default=0.0)
    kept = tuple(c for c in candidates if c.fused >= least or c.relevance >= near)
    kept_ids = {c.memory.id for c in kept}
    drops = tuple(
        Drop(
            memory_id=c.memory.id,
            why=DropReason(cause=DropCause.FAR_BELOW_BEST, value=round(c.fused, 4), bound=round(least, 4)),
        )
        for c in candidates
        if c.memory.id not in kept_ids
    )
    return Outcome(kept=kept, drops=drops)
