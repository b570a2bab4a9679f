"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.score.action import action_relevance, failure_relevance
from tacit.recall.score.ambient import ambient_relevance
from tacit.recall.score.multispace import multispace_relevance
from tacit.recall.score.scoped import scoped_relevance
from tacit.recall.score.similarity import similarity_relevance
from tacit.recall.score.situation import situation_relevance
from tacit.recall.score.typed import typed_relevance

ACTION_SPACES = ("lexical", "entity", "recent", "intent")
ACTION_CANDIDATES = 64
ACTION_ITEMS = 2
"""A tool call gets at most so many memories: what governs exactly this, no more."""

Score = Callable[[Query, Candidate, Kind], tuple[float, tuple[str, ...]]]


def by_situation(query: Query, candidate: Candidate, kind: Kind) -> tuple[float, tuple[str, ...]]:
    """Relevance by situation: around a tool call and after a failure by rules of exactness, elsewhere by the fitted model."""
    if query.surface is Surface.ACTION:
        return action_relevance(query, candidate, kind)
    if query.surface is Surface.FAILURE:
        return failure_relevance(query, candidate, kind)
    return situation_relevance(query, candidate, kind)


SCORES: dict[str, Score] = {
    "situation": by_situation,
    "similarity": similarity_relevance,
    "ambient": ambient_relevance,
    "multispace": multispace_relevance,
    "scoped": scoped_relevance,
}
"""Formulas that need nothing but the query, the candidate and its kind."""


def score_for(settings: RecallSettings) -> Score:
    """The formula that the settings name, with their weights."""
    if settings.score == "typed":
        return partial(typed_relevance, weights=settings.typed)
    return SCORES[settings.score]


def at_surface(settings: RecallSettings, surface: Surface) -> RecallSettings:
    """Settings as the score by situation wants them on `surface`; those of other scores are as they stand.

    At a tool call the trigger decides, so nothing is embedded, more is looked at and less handed over.
    """
    if settings.score != "situation" or surface is not Surface.ACTION:
        return settings
    return settings.model_copy(
        update={
            "spaces": tuple(name for name in settings.spaces if name in ACTION_SPACES),
            "candidates_per_space": max(settings.candidates_per_space, ACTION_CANDIDATES),
            "shortlist": max(settings.shortlist, ACTION_CANDIDATES),
            "max_items": min(settings.max_items, ACTION_ITEMS),
        }
    )
