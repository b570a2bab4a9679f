"""The evidence of the gate: one row of numbers for every candidate, one column per name in `EVIDENCE`. Pure; knows no weights.

Each row is about one memory and the query alone: nothing is ranked, spread or counted over the short list, so that a number
means the same in a store of one memory and of a million.

    intent         ln((p + 0.01) / (1.01 - p)), p = the intent score (0-1)
    breadth        breadth of the trigger / 3
    character      3 x set cosine of character 3-grams
    cosine         deviations above the scope's usual cosine (`recall.spaces.semantic.apart`)
    cosine_far     cosine squared where it is above 0

What is said in a prompt that only accepts a proposal ("yup") tells nothing: its character and cosine are those of no evidence
either way, `QUIET`, and its situation alone decides.

Thirty-four more were tried and left out, because a project left out was not told better with them (ADR 0014).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Candidate
from tacit.model.query import Query

Row = NDArray[np.float64]

EVIDENCE: tuple[str, ...] = ("intent", "breadth", "character", "cosine", "cosine_far")
"""Names of the columns."""

SURE = 0.01
"""An intent score is never taken for surer than this."""
GREATEST_BREADTH = 3.0
CHARACTER_SCALE = 3.0


QUIET = (0.18, 1.3)
"""Character and cosine of the mean candidate of the judged short lists."""


def evidence_of(query: Query, candidates: Sequence[Candidate]) -> Row:
    """The evidence of all candidates, shape (candidates, columns of `EVIDENCE`)."""
    if not candidates:
        return np.zeros((0, len(EVIDENCE)))
    table = np.array([_numbers(candidate) for candidate in candidates])
    if query.situation.accepted:
        table[:, 2:] = QUIET
    intent, breadth, character, cosine = table.T
    return np.stack(
        [
            np.log((intent + SURE) / (1 + SURE - intent)),
            breadth / GREATEST_BREADTH,
            character * CHARACTER_SCALE,
            cosine,
            np.maximum(cosine, 0.0) ** 2,
        ],
        axis=1,
    )


def _numbers(candidate: Candidate) -> tuple[float, float, float, float]:
    scores = dict(candidate.scores)
    breadth = candidate.memory.trigger.breadth
    return scores.get("intent", 0.0), breadth, scores.get("character", 0.0), candidate.apart
