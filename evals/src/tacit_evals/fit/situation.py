"""Fit the situation reader on labelled prompts. In: rows that may be used, an embedder. Out: a `SituationModel`.

Labels are the grades 1-3 of the data's protocol, taken as soft targets grade / 3. Scales of the groups of inputs, the penalty
and the share of the rules were chosen on projects left out (see docs/guide/benchmarks.md), once, for all classes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.fitted import Origin
from tacit.fitted.matrices import WeightMatrices
from tacit.model.situation import Situation
from tacit.model.trigger import ACTIONS
from tacit.ports.models import Embedder
from tacit.reading.classifier.features import (
    END_CHARS,
    VECTOR_CHARS,
    cues,
    end_words,
    prompt_words,
    shortness,
)
from tacit.reading.classifier.situation import NOTHING, RULES_SHARE, VECTORS, WORDS, SituationModel
from tacit.reading.situation import read_situation
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.fit.leaks import usable
from tacit_evals.fit.logistic import Array, fit_dual, logit

CLASSES = (*ACTIONS, NOTHING)
SCALES = {
    WORDS: {"cue": 0.1, "rule": 0.5, "word": 1.5, "end_word": 0.3, "end_word_accepted": 1.0},
    VECTORS: {
        "cue": 0.1, "rule": 0.5, "word": 1.5, "end_word": 0.3, "prompt": 1.0, "end": 0.5, "end_accepted": 1.0, "end_short": 0.5,
    },
}  # fmt: skip
PENALTY = 1.0
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
    rows: list[Row] = []
    for folder in sorted(path for path in (data / "inject").glob("*") if path.is_dir()):
        labels = {
            row.text("id"): row for row in read_rows(data / "situation" / folder.name / "situations.jsonl")
        }
        rows += [
            Row(path=row.path, line=row.line, values={**row.values, **labels[row.text("id")].values})
            for row in read_rows(folder / "prompts.jsonl")
            if row.text("id") in labels
        ]
    for name in LABELLED_FILES:
        rows += read_rows(data / "situation" / name)
    return [_prompt(row) for row in usable(rows, exclude_projects=exclude)]


def fit_situation(
    prompts: Sequence[LabelledPrompt], *, embedder: Embedder, date: str = "", command: str = ""
) -> SituationModel:
    """Fit on `prompts`, in their order.

    Args:
        prompts: labelled rows, those of the evaluated project left out.
        embedder: whose vectors the model will be given.
        date: stands in the file, nothing else.
        command: stands in the file, nothing else.
    """
    read = [
        read_situation(prompt.text, previous_end=prompt.previous_end, recent_files=prompt.files)
        for prompt in prompts
    ]
    inputs, words, ends = _inputs(prompts, read, embedder)
    targets = np.array([[prompt.grades.get(name, 0) / 3 for name in CLASSES] for prompt in prompts])
    offset = RULES_SHARE * logit(inputs["rule"])
    matrices: dict[str, Array] = {}
    for variant, scales in SCALES.items():
        gram = sum((scale * (inputs[key] @ inputs[key].T) for key, scale in scales.items()), np.zeros((1, 1)))
        dual, bias = fit_dual(np.asarray(gram), targets, penalty=PENALTY, offset=offset)
        matrices[f"{variant}.bias"] = bias[None, :]
        for key, scale in scales.items():
            matrices[f"{variant}.{key}"] = scale * (inputs[key].T @ dual)
    origin = Origin(
        what="situation reader",
        made_by=command,
        projects=tuple(sorted({prompt.project for prompt in prompts})),
        date=date,
        embedder=str(embedder.identity),
        details={"rows": len(prompts)},
    )
    weights = WeightMatrices(
        origin=origin,
        names={"classes": CLASSES, "words": tuple(words), "end_words": tuple(ends)},
        matrices={key: matrix.astype(np.float32) for key, matrix in matrices.items()},
    )
    return SituationModel(weights.rounded())


def _inputs(
    prompts: Sequence[LabelledPrompt], read: Sequence[Situation], embedder: Embedder
) -> tuple[dict[str, Array], list[str], list[str]]:
    projects = [prompt.project for prompt in prompts]
    word_sets = [prompt_words(prompt.text) for prompt in prompts]
    end_sets = [
        end_words(prompt.previous_end) if prompt.previous_end else frozenset[str]() for prompt in prompts
    ]
    words, ends = vocabulary(word_sets, projects), vocabulary(end_sets, projects)
    accepted = np.array([[float(situation.accepted)] for situation in read])
    short = np.array([[shortness(prompt.text)] for prompt in prompts])
    end = np.array([_end_vector(prompt.previous_end, embedder) for prompt in prompts])
    rule = np.array([_said(situation) for situation in read])
    end_word = presence(end_sets, ends)
    return (
        {
            "cue": np.array(
                [
                    cues(prompt.text, previous_end=prompt.previous_end, files=prompt.files)
                    for prompt in prompts
                ],
                np.float64,
            ),
            "rule": rule,
            "word": presence(word_sets, words),
            "end_word": end_word,
            "end_word_accepted": end_word * accepted,
            "prompt": np.array(
                [embedder.embed([prompt.text[:VECTOR_CHARS]])[0] for prompt in prompts], np.float64
            ),
            "end": end,
            "end_accepted": end * accepted,
            "end_short": end * short,
        },
        words,
        ends,
    )


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


def _said(situation: Situation) -> Array:
    chances = dict(situation.actions)
    if situation.nothing_coming:
        chances[NOTHING] = 1.0
    return np.array([chances.get(name, 0.0) for name in CLASSES])


def _end_vector(previous_end: str, embedder: Embedder) -> Array:
    end = previous_end[-END_CHARS:]
    if not end:
        return np.zeros(embedder.identity.dimensions)
    return embedder.embed([end])[0].astype(np.float64)


def _prompt(row: Row) -> LabelledPrompt:
    return LabelledPrompt(
        project=row.maybe("project") or row.path.parent.name,
        text=row.text("text"),
        previous_end=row.maybe("previous_assistant")[-END_CHARS:],
        files=row.texts("recent_files"),
        grades=row.grades("actions"),
    )
