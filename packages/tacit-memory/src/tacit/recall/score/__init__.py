"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.score.armed import ArmedWeights, fuse
from tacit.recall.stage import LAST_SESSION, Judgment, Outcome, RecallState

ARMED = "armed"
"""Beginning of the reason of a memory that a model in the pause named."""


def judge_each(
    judge: Callable[[Query, Candidate, Kind, RecallSettings], Judgment], state: RecallState
) -> Outcome[RecallState]:
    """Judge every candidate by itself: relevance and reasons by `judge`."""
    return judged(
        state,
        [
            judge(state.query, candidate, state.kinds.of_stored(candidate.memory.kind), state.settings)
            for candidate in state.found or ()
        ],
    )


def judged(state: RecallState, judgments: Sequence[Judgment]) -> Outcome[RecallState]:
    """The candidates found with their relevance and reasons, best first; the digest of the last session comes for what it is."""
    scored = [
        candidate.judged(1.0, candidate.reasons)
        if LAST_SESSION in candidate.reasons
        else candidate.judged(round(relevance, 4), reasons)
        for candidate, (relevance, reasons) in zip(state.found or (), judgments, strict=True)
    ]
    scored.sort(key=lambda candidate: (-candidate.relevance, -candidate.fused, candidate.memory.newest_first))
    return Outcome(kept=state.changed(scored=tuple(scored)))


def with_armed(
    state: RecallState, judgments: Sequence[Judgment], weights: ArmedWeights | None
) -> Sequence[Judgment]:
    """The judgments with what a model in the pause said of the memories; what was not on its list stays as it is.

    Args:
        state: of the recall.
        judgments: by local evidence, one for each candidate found.
        weights: of what a model in the pause named; None = those that ship.
    """
    armed: Mapping[str, float] | None = state.armed
    if armed is None:
        return judgments
    together: list[Judgment] = []
    for candidate, (relevance, reasons) in zip(state.found or (), judgments, strict=True):
        chance = armed.get(candidate.memory.id)
        if chance is None:
            together.append((relevance, reasons))
            continue
        armed_reasons = (f"{ARMED} {chance:.2f}", *reasons) if chance else reasons
        together.append(
            (fuse(candidate, relevance, chance, surface=state.query.surface, weights=weights), armed_reasons)
        )
    return together
