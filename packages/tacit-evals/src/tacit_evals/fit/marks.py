"""Derive the spaces' marks, `low` and `high`, from judged prompts. In: projects. Out: `fitted/space_thresholds.json`, the same bytes each time.

Every prompt is asked of its own project with all spaces on; the pairs of prompt and memory that no judge gave anything are
the null. A space's marks are taken over the pairs of the null of which it says something (a score above 0):

    low  = the score that seven such pairs in ten stay below: what says less speaks against
    high = the score that one such pair in twenty reaches: what says as much speaks for

`low` is held against the best of several pieces of work: a shift is told when all of them are below it. In 128 real sessions of
two projects one prompt in nine that went on lay below the mark of the semantic space, and every second one of another project. On a scale that ends at
1, `high` is 0.9 at most, so that something is left above it.

Marginal pairs are left out. A space that says something of fewer than 50 pairs keeps the marks that were set by hand (the
pools hold no relations and no places in a session), and so do the spaces of time, which are no topic: the dates of a pool are
those of its curation. Beside the marks stand the share of needed and of other
pairs at or above `high`, so that everybody sees what a mark is worth. Never looks at anything but the data given.

Run: `python -m tacit_evals.fit --data DIR --date 2026-11-21`, which fits them with everything else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit.config.settings import RecallSettings
from tacit.fitted import Artifact, FitOrigin
from tacit.ports.models import Embedder
from tacit.recall.score import PromptTransform
from tacit.recall.spaces import SPACES, SpaceThresholds, shipped_thresholds
from tacit_evals.data import Project
from tacit_evals.fit.fitted import judged_projects
from tacit_evals.fit.gate import ask_all
from tacit_evals.pool import FOCUSED, SHIPPED, Fitted, shipped_settings

WIDE = 100
LEAST_PAIRS = 50
LOW_SHARE, HIGH_SHARE = 0.70, 0.95
MOST_HIGH = 0.9
DIGITS = 3

Scores = dict[str, dict[bool, list[float]]]
"""By space and whether the pair is needed."""


WHOLE_PROMPTS = PromptTransform(embedder="", vector=np.zeros(0, np.float32), mean=0.0, deviation=1.0)
"""Speaks of no embedder: marks are those of cosines with whole prompts."""


def scores_of(
    projects: Sequence[Project], *, embedder: Embedder, settings: RecallSettings, fitted: Fitted = SHIPPED
) -> Scores:
    """Scores above 0 of every pair that was judged clearly, over all projects."""
    whole = replace(fitted, transform=WHOLE_PROMPTS)
    wide = settings.model_copy(
        update={
            "spaces": tuple(SPACES),
            "candidates_per_space": WIDE,
        }
    )
    preset = replace(FOCUSED, spaces_prompt=(), shortlist=WIDE)
    scores: Scores = defaultdict(lambda: {True: [], False: []})
    for project in projects:
        for prompt in ask_all([project], embedder=embedder, settings=wide, preset=preset, fitted=whole):
            for candidate in prompt.candidates:
                if candidate.memory.id in prompt.marginal:
                    continue
                for space, score in candidate.scores:
                    if score > 0 and space in SPACES:
                        scores[space][candidate.memory.id in prompt.needed].append(score)
    return scores


def marks_of(
    scores: Mapping[str, Mapping[bool, Sequence[float]]], shipped: Mapping[str, SpaceThresholds]
) -> dict[str, SpaceThresholds]:
    """Marks by space, with what they are worth; those of `shipped` where too few pairs speak."""
    marks: dict[str, SpaceThresholds] = {}
    for space in SPACES:
        null = np.array(scores.get(space, {}).get(False, ()), np.float64)
        needed = np.array(scores.get(space, {}).get(True, ()), np.float64)
        if len(null) < LEAST_PAIRS or not SPACES[space].topic_weight:
            marks[space] = SpaceThresholds(low=shipped[space].low, high=shipped[space].high, by="hand")
            continue
        low, high = (
            round(float(np.quantile(null, share, method="higher")), DIGITS)
            for share in (LOW_SHARE, HIGH_SHARE)
        )
        if null.max() <= 1.0:
            high = min(high, MOST_HIGH)
        if high <= low:  # much of what it says is one value
            low = round(float(np.quantile(null[null < high], LOW_SHARE, method="higher")), DIGITS)
        marks[space] = SpaceThresholds(
            low=low,
            high=high,
            by="data",
            pairs=len(null),
            others_at_high=round(float((null >= high).mean()), DIGITS),
            needed_at_high=round(float((needed >= high).mean()), DIGITS) if len(needed) else 0.0,
        )
    return marks


def fit_marks(
    dirs: Sequence[Path], *, embedder: Embedder, fitted: Fitted, date: str, command: str
) -> Artifact[dict[str, SpaceThresholds]]:
    """The content of the file, of all judged projects below `dirs`, read with the models of `fitted`."""
    projects = judged_projects(dirs, exclude_projects=())
    scores = scores_of(projects, embedder=embedder, settings=shipped_settings(), fitted=fitted)
    origin = FitOrigin(
        what="low and high marks of the spaces; quantiles 0.70 and 0.95 of the pairs nobody needed",
        made_by=command,
        projects=tuple(sorted(project.name for project in projects)),
        date=date,
        embedder=str(embedder.identity),
    )
    values = marks_of(scores, shipped_thresholds())
    return Artifact(name="space_thresholds", origin=origin, values=values)
