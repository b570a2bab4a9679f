"""The `newest` preset: relevance before a prompt is age alone; all else is as in `focused`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.presets import preset_of
from tacit.recall.pipelines import search
from tacit.recall.score import judge_each
from tacit.recall.stage import Judgment, Kit, Pipeline, RecallState


def judge(query: Query, candidate: Candidate, kind: Kind, settings: RecallSettings) -> Judgment:
    """One over the age in days and one more."""
    del kind, settings
    age_days = max(0, query.at_ms - candidate.memory.updated_at_ms) / 86_400_000
    return 1 / (1 + age_days), (f"{age_days:.0f} days old",)


def prompt(kit: Kit, state: RecallState) -> Pipeline:
    """A search, judged by age."""
    return search(kit, state, judge=partial(judge_each, judge))


FOCUSED = preset_of("focused")
PRESET = replace(
    FOCUSED, name="newest", pipelines={**FOCUSED.pipelines, Surface.PROMPT: prompt}, spaces_prompt=()
)
