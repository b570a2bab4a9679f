"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps."""

from __future__ import annotations

from collections.abc import Callable

from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.score.similarity import similarity_relevance
from tacit.recall.score.situation import situation_relevance

Score = Callable[[Query, Candidate, Kind], tuple[float, tuple[str, ...]]]

SCORES: dict[str, Score] = {"situation": situation_relevance, "similarity": similarity_relevance}
