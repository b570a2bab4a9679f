"""Labeled prompts, features of words that every fit shares, and which rows may be used. In: the folder of the data, sets of words. Out: rows, numbers.

`usable` is the one function that keeps the evaluated project out of what is fitted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.model.trigger import ACTIONS
from tacit_evals.data import DataRow, read_rows

SPELLINGS: dict[str, str] = {
    "polychrome.p5": "polychrome",
    "polychrome-p5": "polychrome",
    "houdoku-2": "houdoku",
}
"""Names of a project besides its folder's own, in lower case, without the owner."""
PROJECT_FIELDS = ("project", "repo")


def same_project(name: str, other: str) -> bool:
    """Whether two names mean one project.

    Case, `_` for `-`, an owner before `+` or `/`, and the number that a folder of `need` begins with (`b07-`) do not matter; what
    else a project is called stands in `SPELLINGS`.
    """
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    plain = re.split(r"[+/]", name.strip().lower().replace("_", "-"))[-1]
    plain = re.sub(r"^b\d\d-", "", plain)
    return SPELLINGS.get(plain, plain)


def excluded(row: DataRow, *, projects: Collection[str]) -> bool:
    """Whether `row` belongs to one of `projects`."""
    for field in PROJECT_FIELDS:
        name = row.values.get(field)
        if isinstance(name, str) and any(same_project(name, project) for project in projects):
            return True
    # A file of one project (`inject/<project>/...`, `situation/<project>/...`) names it by its folder.
    return any(same_project(row.path.parent.name, project) for project in projects)


def usable(rows: Iterable[DataRow], *, exclude_projects: Collection[str]) -> list[DataRow]:
    """Rows that may be fitted on when `exclude_projects` are evaluated."""
    return [row for row in rows if not excluded(row, projects=exclude_projects)]


Array = NDArray[np.float64]

STEPS = 30
_FLOOR = 1e-3


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def logit(p: Array, floor: float = 0.003) -> Array:
    clipped = np.clip(p, floor, 1.0 - floor)
    return np.log(clipped / (1.0 - clipped))


def fit_dual(
    gram: Array, targets: Array, *, penalty: float, offset: Array | None = None, steps: int = STEPS
) -> tuple[Array, Array]:
    """Dual weights (rows, classes) and biases (classes,) of `sigmoid(gram @ weights + bias + offset)`.

    Minimises the cross-entropy plus penalty / 2 times the squared norm of each class's weights.
    """
    fixed = np.zeros_like(targets) if offset is None else offset
    move = np.linalg.inv(gram / 4 + penalty * np.eye(len(gram)))
    weights, bias = np.zeros_like(targets), np.zeros(targets.shape[1])
    for _ in range(steps):
        p = sigmoid(gram @ weights + bias + fixed)
        bias = bias + (targets - p).mean(0) / np.maximum((p * (1 - p)).mean(0), _FLOOR)
        p = sigmoid(gram @ weights + bias + fixed)
        weights = weights + move @ (targets - p - penalty * weights)
    return weights, bias


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


def rows_with_labels(data: Path, *, rows: str, labels: str) -> list[DataRow]:
    """The rows of the file `rows` of each project of `inject` that have a label in the file `labels` of `situation`, with the label's values."""
    found: list[DataRow] = []
    for folder in sorted(path for path in (data / "inject").glob("*") if path.is_dir()):
        by_id = {row.text("id"): row for row in read_rows(data / "situation" / folder.name / labels)}
        found += [
            DataRow(path=row.path, line=row.line, values={**row.values, **by_id[row.text("id")].values})
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


def _prompt(row: DataRow) -> LabelledPrompt:
    return LabelledPrompt(
        project=row.maybe("project") or row.path.parent.name,
        text=row.text("text"),
        previous_end=row.maybe("previous_assistant"),
        files=row.texts("recent_files"),
        grades=row.grades("actions"),
    )
