"""A question that one memory answers. Part of stage 5. Pure.

The gate was fitted on prompts of working sessions, where hardly anybody asks for what is on record, so it trusts words alone little.
A short question whose nearest memory lies far ahead of the next one is another matter (ADR 49 has the figures).

In: a query, its candidates, the least cosine. Out: the candidate that answers it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.reading.situation import asks_question

ANSWER_LEAD = 1.0
"""Deviations of the scope's cosines by which an answer lies ahead of every other candidate."""
ANSWER_RELEVANCE = 0.5
"""Of an answer, at least; between what was measured on written questions and on judged prompts."""
ANSWERS = "answers the question"
"""Reason of a candidate that answers the prompt's question."""


def find_answer(query: Query, candidates: Sequence[Candidate], *, least_cosine: float) -> int | None:
    """The place of the candidate that answers the prompt's question; None = the prompt asks nothing, or no candidate stands out."""
    if query.surface is not Surface.PROMPT or not candidates or not asks_question(query.raw_text):
        return None
    # A digest repeats the questions of its session.
    places = [at for at, candidate in enumerate(candidates) if candidate.memory.kind != DIGEST]
    if not places:
        return None
    order = sorted(places, key=lambda at: -(candidates[at].similarity_z or 0.0))
    best = candidates[order[0]]
    rival = candidates[order[1]].similarity_z or 0.0 if len(order) > 1 else 0.0
    near = (best.score("semantic") or 0.0) >= least_cosine
    return order[0] if near and (best.similarity_z or 0.0) - rival >= ANSWER_LEAD else None
