"""Derive the spaces' marks, `low` and `high`, from judged prompts. In: projects. Out: `marks.json`, the same bytes each time.

Every prompt is asked of its own project with all spaces on; the pairs of prompt and memory that no judge gave anything are
the null. A space's marks are taken over the pairs of the null of which it says something (a score above 0):

    low  = the score that four such pairs in five stay below: what says less speaks against
    high = the score that one such pair in twenty reaches: what says as much speaks for

`low` is no median, because it is held against the best of several memories (a shift of the work is told when the best of at
least five is below it): the best of five pairs of the null is above their median in 31 cases of 32. On a scale that ends at
1, `high` is 0.9 at most, so that something is left above it.

Marginal pairs are left out. A space that says something of fewer than 50 pairs keeps the marks that were set by hand (the
pools hold no relations and no places in a session), and so do the spaces of time, which are no topic: the dates of a pool are
those of its curation. Beside the marks stand the share of needed and of other
pairs at or above `high`, so that everybody sees what a mark is worth. Never looks at anything but the data given.

Run: `python -m tacit_evals.fit.marks --data DIR --date 2026-11-21`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.recall.spaces import SPACES
from tacit_evals.data.judged import Project
from tacit_evals.fit.fitted import judged_projects
from tacit_evals.fit.gate import ask_all
from tacit_evals.suites.running import shipped_settings

COMMAND = "python -m tacit_evals.fit.marks --data DATA --date DATE"
FILE = "recall/spaces/marks.json"
WIDE = 100
LEAST_PAIRS = 50
LOW_SHARE, HIGH_SHARE = 0.80, 0.95
MOST_HIGH = 0.9
DIGITS = 3

Scores = dict[str, dict[bool, list[float]]]
"""By space and whether the pair is needed."""


def scores_of(projects: Sequence[Project], *, embedder: Embedder, settings: RecallSettings) -> Scores:
    """Scores above 0 of every pair that was judged clearly, over all projects."""
    wide = settings.model_copy(
        update={
            "spaces": tuple(SPACES),
            "spaces_prompt": (),
            "candidates_per_space": WIDE,
            "shortlist": WIDE,
            "score": "situation",
        }
    )
    found: Scores = defaultdict(lambda: {True: [], False: []})
    for project in projects:
        for one in ask_all([project], embedder=embedder, settings=wide, given=False):
            for candidate in one.candidates:
                if candidate.memory.id in one.marginal:
                    continue
                for space, score in candidate.scores:
                    if score > 0:
                        found[space][candidate.memory.id in one.needed].append(score)
    return found


def marks_of(scores: Mapping[str, Mapping[bool, Sequence[float]]], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Marks by space, with what they are worth; those of `kept` where too few pairs speak."""
    marks: dict[str, Any] = {}
    for space in SPACES:
        null = np.array(scores.get(space, {}).get(False, ()), np.float64)
        needed = np.array(scores.get(space, {}).get(True, ()), np.float64)
        if len(null) < LEAST_PAIRS or not SPACES[space].topic_weight:
            marks[space] = {"low": kept[space]["low"], "high": kept[space]["high"], "by": "hand"}
            continue
        low, high = (
            round(float(np.quantile(null, share, method="higher")), DIGITS)
            for share in (LOW_SHARE, HIGH_SHARE)
        )
        if null.max() <= 1.0:
            high = min(high, MOST_HIGH)
        if high <= low:  # much of what it says is one value
            low = round(float(np.quantile(null[null < high], LOW_SHARE, method="higher")), DIGITS)
        marks[space] = {
            "low": low,
            "high": high,
            "by": "data",
            "pairs": len(null),
            "others_at_high": round(float((null >= high).mean()), DIGITS),
            "needed_at_high": round(float((needed >= high).mean()), DIGITS) if len(needed) else 0.0,
        }
    return marks


def written(marks: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """The file."""
    return json.dumps({"manifest": dict(manifest), "marks": dict(marks)}, indent=1) + "\n"


def main() -> None:
    """Derive and write."""
    parser = argparse.ArgumentParser(description="Derive the marks of the spaces and write what ships.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--date", required=True, help="date for the manifest, such as 2026-11-21")
    parser.add_argument("--out", type=Path, default=Path(tacit.__file__).parent / FILE, help="file to write")
    arguments = parser.parse_args()
    projects = judged_projects([arguments.data], exclude_projects=())
    embedder = make_embedder(EmbedderSettings(cache_entries=100_000))
    shipped = json.loads((Path(tacit.__file__).parent / FILE).read_text("utf-8"))["marks"]
    marks = marks_of(scores_of(projects, embedder=embedder, settings=shipped_settings()), shipped)
    manifest = {
        "what": "low and high marks of the spaces; quantiles 0.80 and 0.95 of the pairs nobody needed",
        "embedder": str(embedder.identity),
        "projects": sorted(one.name for one in projects),
        "date": arguments.date,
        "command": COMMAND,
    }
    text = written(marks, manifest)
    changed = not arguments.out.exists() or arguments.out.read_text("utf-8") != text
    arguments.out.write_text(text, "utf-8")
    print(f"{arguments.out}: {'changed' if changed else 'as before'}")


if __name__ == "__main__":
    main()
