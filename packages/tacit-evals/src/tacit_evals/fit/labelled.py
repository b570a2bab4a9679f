"""Labelled prompts, and features of words that every fit shares. In: the folder of the data, sets of words. Out: rows, numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.model.trigger import ACTIONS
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.fit.leaks import usable
from tacit_evals.fit.logistic import Array

NOTHING = "none"
CLASSES = (*ACTIONS, NOTHING)
LEAST_ROWS = 4
LEAST_PROJECTS = 2
LABELLED_FILES = ("prompts.jsonl", "more.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPrompt:
    """One prompt with its grades per class."""

    project: str
    text: str
    previous_end: str
    files: tuple[str, ...]
    grades: dict[str, int]


def labelled_prompts(data: Path, *, exclude: Collection[str] = ()) -> list[LabelledPrompt]:
    """All labelled prompts below `data` (folders `situation` and `inject`) but those of the projects `exclude`."""
    rows = rows_with_labels(data, rows="prompts.jsonl", labels="situations.jsonl")
    for name in LABELLED_FILES:
        rows += read_rows(data / "situation" / name)
    return [_prompt(row) for row in usable(rows, exclude_projects=exclude)]


def rows_with_labels(data: Path, *, rows: str, labels: str) -> list[Row]:
    """The rows of the file `rows` of each project of `inject` that have a label in the file `labels` of `situation`, with the label's values."""
    found: list[Row] = []
    for folder in sorted(path for path in (data / "inject").glob("*") if path.is_dir()):
        by_id = {row.text("id"): row for row in read_rows(data / "situation" / folder.name / labels)}
        found += [
            Row(path=row.path, line=row.line, values={**row.values, **by_id[row.text("id")].values})
            for row in read_rows(folder / rows)
            if row.text("id") in by_id
        ]
    return found


def vocabulary(word_sets: Sequence[Collection[str]], projects: Sequence[str]) -> list[str]:
    """Features of at least `LEAST_ROWS` rows and `LEAST_PROJECTS` projects, in order."""
    rows: Counter[str] = Counter()
    places: defaultdict[str, set[str]] = defaultdict(set)
    for words, project in zip(word_sets, projects, strict=True):
        rows.update(words)
        for word in words:
            places[word].add(project)
    return sorted(word for word, n in rows.items() if n >= LEAST_ROWS and len(places[word]) >= LEAST_PROJECTS)


def presence(word_sets: Iterable[Collection[str]], words: Sequence[str]) -> Array:
    """Rows of 0 and 1 / root of the number of known words."""
    index = {word: number for number, word in enumerate(words)}
    rows: list[Array] = []
    for features in word_sets:
        row = np.zeros(len(words))
        row[[index[word] for word in features if word in index]] = 1.0
        rows.append(row / np.sqrt(max(row.sum(), 1.0)))
    return np.array(rows)


def _prompt(row: Row) -> LabelledPrompt:
    return LabelledPrompt(
        project=row.maybe("project") or row.path.parent.name,
        text=row.text("text"),
        previous_end=row.maybe("previous_assistant"),
        files=row.texts("recent_files"),
        grades=row.grades("actions"),
    )
