"""The `newest` preset: relevance is age alone."""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.query import Query
from tacit.recall.stage import Judgment, PresetParts, Score


def judge(query: Query, candidate: Candidate, kind: Kind, settings: RecallSettings) -> Judgment:
    """One over the age in days and one more."""
    del kind, settings
    age_days = max(0, query.at_ms - candidate.memory.updated_at_ms) / 86_400_000
    return 1 / (1 + age_days), (f"{age_days:.0f} days old",)


PARTS = PresetParts(scores={"newest": Score(judge=judge)})
