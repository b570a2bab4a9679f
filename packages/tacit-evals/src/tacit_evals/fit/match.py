"""Fit the trigger maker on labeled rules and memories, and how triggers and situations are matched. In: rows that may be used, an embedder. Out: a `TriggerModel`, a `MatchModel`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tacit.fitted import FitOrigin
from tacit.fitted.matrices import WeightMatrices
from tacit.model.trigger import ACTIONS, Situation, Trigger
from tacit.ports.models import Embedder
from tacit.reading.match import Matcher, MatchModel, Weights, match_from
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger
from tacit.reading.trigger_model import (
    RULES_SHARE,
    RULES_TRUST,
    STATEMENT_CHARS,
    VECTORS,
    WORDS,
    LocalTriggers,
    TriggerModel,
    said_by_rules,
    statement_cues,
    statement_words,
)
from tacit_evals.data import DataRow, read_rows, read_table
from tacit_evals.fit.files import match_artifact, rounded
from tacit_evals.fit.labelled import (
    Array,
    LabelledPrompt,
    fit_dual,
    logit,
    presence,
    rows_with_labels,
    sigmoid,
    usable,
    vocabulary,
)

CLASSES = ACTIONS
KINDS = (
    "preference", "correction", "decision", "error_pattern", "file_context", "fact", "todo", "research", "outcome",
    "anti_pattern", "guideline", "",
)  # fmt: skip
SCALES = {
    WORDS: {"word": 3.0, "kind": 0.2, "rule": 0.5},
    VECTORS: {"word": 3.0, "kind": 0.2, "rule": 0.5, "vector": 3.0},
}
BREADTH_SCALES = {
    WORDS: {"word": 1.0, "kind": 1.0},
    VECTORS: {"word": 1.0, "kind": 1.0, "vector": 0.5},
}
PENALTY = 1.0
BREADTH_PENALTY = 2.0
_RULES_FLOOR = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledMemory:
    """One statement with its grades per class and its breadth."""

    project: str
    id: str
    content: str
    kind: str
    files: tuple[str, ...]
    grades: dict[str, int]
    breadth: float


def labelled_memories(data: Path, *, exclude: Collection[str] = ()) -> list[LabelledMemory]:
    """All labelled statements below `data` but those of the projects `exclude`; what is not worth keeping is left out."""
    rows = rows_with_labels(data, rows="memories.jsonl", labels="triggers.jsonl")
    rows += [row for row in read_rows(data / "situation" / "rules.jsonl") if row.values.get("keep")]
    return [_memory(row) for row in usable(rows, exclude_projects=exclude)]


def fit_trigger(
    memories: Sequence[LabelledMemory], *, embedder: Embedder, date: str = "", command: str = ""
) -> TriggerModel:
    """Fit on `memories`, in their order.

    Args:
        memories: labelled rows, those of the evaluated project left out.
        embedder: whose vectors the model will be given.
        date: stands in the file, nothing else.
        command: stands in the file, nothing else.
    """
    inputs, words = _inputs(memories, embedder)
    targets = np.array([[memory.grades.get(name, 0) / 3 for name in CLASSES] for memory in memories])
    offset = RULES_SHARE * logit(RULES_TRUST * inputs["rule"], _RULES_FLOOR)
    breadth = np.array([memory.breadth for memory in memories])
    mean = float(breadth.mean())
    matrices: dict[str, Array] = {}
    for variant, scales in SCALES.items():
        dual, bias = fit_dual(_gram(inputs, scales), targets, penalty=PENALTY, offset=offset)
        matrices[f"{variant}.bias"] = bias[None, :]
        for key, scale in scales.items():
            matrices[f"{variant}.{key}"] = scale * (inputs[key].T @ dual)
        ridge = _gram(inputs, BREADTH_SCALES[variant]) + BREADTH_PENALTY * np.eye(len(memories))
        solved = np.linalg.solve(ridge, breadth - mean)[:, None]
        matrices[f"{variant}.breadth.bias"] = np.array([[mean]])
        for key, scale in BREADTH_SCALES[variant].items():
            matrices[f"{variant}.breadth.{key}"] = scale * (inputs[key].T @ solved)
    origin = FitOrigin(
        what="trigger maker",
        made_by=command,
        projects=tuple(sorted({memory.project for memory in memories})),
        date=date,
        embedder=str(embedder.identity),
        details={"rows": len(memories)},
    )
    weights = WeightMatrices(
        origin=origin,
        names={"classes": CLASSES, "kinds": KINDS, "words": tuple(words)},
        matrices={key: matrix.astype(np.float32) for key, matrix in matrices.items()},
    )
    return TriggerModel(rounded(weights))


def _gram(inputs: dict[str, Array], scales: dict[str, float]) -> Array:
    size = len(next(iter(inputs.values())))
    gram = np.zeros((size, size))
    for key, scale in scales.items():
        gram += scale * (inputs[key] @ inputs[key].T)
    return gram


def _inputs(memories: Sequence[LabelledMemory], embedder: Embedder) -> tuple[dict[str, Array], list[str]]:
    word_sets = [statement_words(memory.content) for memory in memories]
    words = vocabulary(word_sets, [memory.project for memory in memories])
    rules = [make_trigger(memory.content, kind=memory.kind, files=memory.files) for memory in memories]
    kinds = np.zeros((len(memories), len(KINDS)))
    for row, memory in zip(kinds, memories, strict=True):
        row[KINDS.index(memory.kind) if memory.kind in KINDS else KINDS.index("")] = 1.0
    cues = np.array([statement_cues(memory.content) for memory in memories], np.float64)
    return (
        {
            "word": presence(word_sets, words),
            "kind": np.hstack([kinds, cues]),
            "rule": np.array([said_by_rules(trigger, CLASSES) for trigger in rules], np.float64),
            "vector": np.array(
                [embedder.embed([memory.content[:STATEMENT_CHARS]])[0] for memory in memories], np.float64
            ),
        },
        words,
    )


def _memory(row: DataRow) -> LabelledMemory:
    return LabelledMemory(
        project=row.maybe("repo") or row.path.parent.name,
        id=row.text("id"),
        content=row.text("content"),
        kind=row.maybe("kind"),
        files=row.texts("files"),
        grades=row.grades("actions"),
        breadth=row.number("breadth"),
    )


RIDGE = 1e-4
STEPS = 20
NEUTRAL: Weights = (0.0, 1.0, 0.0, 0.0)
REACH = 3.0
"""So many times as many pairs reach 0.5 as are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPairs:
    """One project's pairs.

    `grades` has shape (prompts, memories): 0, 1, 2, or NaN for marginal. `situations` are the labels' own, `given` the triggers
    that an annotator wrote; `read` are by the rules, `made` by a model that saw no row of the project.
    """

    project: str
    grades: Array
    read: tuple[Situation, ...]
    situations: tuple[Situation, ...]
    given: tuple[Trigger, ...]
    made: tuple[Trigger, ...]


def judged(data: Path, project: str, *, maker: LocalTriggers) -> ProjectPairs:
    """The pairs of `project`, read by the rules, with triggers of `maker`."""
    folder = data / "inject" / project
    situations = {row.text("id"): row for row in read_rows(data / "situation" / project / "situations.jsonl")}
    triggers = {row.text("id"): row for row in read_rows(data / "situation" / project / "triggers.jsonl")}
    prompts = list(read_rows(folder / "prompts.jsonl"))
    memories = list(read_rows(folder / "memories.jsonl"))
    gone = {row.maybe("supersedes") for row in memories}
    memories = [row for row in memories if row.text("id") not in gone]
    numbers = {row.text("id"): number for number, row in enumerate(memories)}
    places = {row.text("id"): number for number, row in enumerate(prompts)}
    grades = np.zeros((len(prompts), len(memories)))
    for _, (prompt, memory, grade) in read_table(folder / "qrels.tsv", columns=3):
        if memory in numbers:
            grades[places[prompt], numbers[memory]] = math.nan if grade == "m" else int(grade)
    return ProjectPairs(
        project=project,
        grades=grades,
        read=tuple(map(_read, prompts)),
        situations=tuple(situation_of(situations[row.text("id")]) for row in prompts),
        given=tuple(trigger_of(triggers[row.text("id")]) for row in memories),
        made=tuple(
            maker(row.text("content"), kind=row.text("kind"), files=row.texts("files")) for row in memories
        ),
    )


def _read(row: DataRow) -> Situation:
    return read_situation(
        row.text("text"),
        previous_end=row.maybe("previous_assistant"),
        recent_files=row.texts("recent_files"),
    )


def situation_of(row: DataRow) -> Situation:
    """The situation that a labelled row describes."""
    actions = sorted(
        ((n, round(g / 3, 2)) for n, g in row.grades("actions").items() if n != "none"),
        key=lambda p: (-p[1], p[0]),
    )
    return Situation(actions=tuple(actions), objects=row.texts("objects"), nothing_coming=not actions)


def trigger_of(row: DataRow) -> Trigger:
    """The trigger that a labelled row describes, as a storing agent would have given it."""
    actions = sorted(
        ((n, round(g / 3, 2)) for n, g in row.grades("actions").items() if n != "none"),
        key=lambda p: (-p[1], p[0]),
    )
    return Trigger(
        actions=tuple(actions), objects=row.texts("objects"), breadth=row.number("breadth"), maker="agent"
    )


def projects_of(data: Path, *, exclude: Collection[str] = ()) -> list[str]:
    """Names of the judged projects that may be used."""
    folders = sorted(path for path in (data / "inject").glob("*") if path.is_dir())
    rows = [DataRow(path=folder / "prompts.jsonl", line=0, values={}) for folder in folders]
    return [row.path.parent.name for row in usable(rows, exclude_projects=exclude)]


def base_rates(prompts: Sequence[LabelledPrompt], memories: Sequence[LabelledMemory]) -> MatchModel:
    """How common every class is among situations and triggers; the weights of the score are still neutral."""
    return MatchModel(
        situations={
            name: sum(prompt.grades.get(name, 0) for prompt in prompts) / 3 / len(prompts) for name in ACTIONS
        },
        triggers={
            name: sum(memory.grades.get(name, 0) for memory in memories) / 3 / len(memories)
            for name in ACTIONS
        },
        given=NEUTRAL,
        local=NEUTRAL,
    )


def fit_weights(
    model: MatchModel, pairs: Sequence[ProjectPairs], *, date: str = "", command: str = ""
) -> MatchModel:
    """`model` with the weights that tell needed pairs from the others; each project counts alike."""
    fitted = replace(
        model,
        given=_weights([rows_of(judged, judged.given, model) for judged in pairs]),
        local=_weights([rows_of(judged, judged.made, model) for judged in pairs]),
        origin=FitOrigin(
            what="match of trigger and situation",
            made_by=command,
            projects=tuple(sorted(judged.project for judged in pairs)),
            date=date,
            details={"pairs": sum(int(np.isfinite(judged.grades).sum()) for judged in pairs)},
        ),
    )
    return match_from(match_artifact(fitted))


def rows_of(judged: ProjectPairs, triggers: Sequence[Trigger], model: MatchModel) -> tuple[Array, Array]:
    """Inputs (pairs, 3) and whether each was needed, of the pairs whose score the weights decide."""
    inputs: list[tuple[float, ...]] = []
    needed: list[float] = []
    for i, situation in enumerate(judged.read):
        matcher = Matcher(situation, model=model)
        for j, trigger in enumerate(triggers):
            grade = judged.grades[i, j]
            if situation.nothing_coming or trigger.always or not np.isfinite(grade):
                continue
            inputs.append(matcher.terms(trigger).row)
            needed.append(float(grade > 0))
    return np.array(inputs), np.array(needed)


def _weights(sets: Sequence[tuple[Array, Array]]) -> Weights:
    x = np.vstack([inputs for inputs, _ in sets])
    y = np.hstack([needed for _, needed in sets])
    share = np.hstack([np.full(len(needed), 1.0 / len(needed) / len(sets)) for _, needed in sets])
    mean, spread = share @ x, np.sqrt(np.maximum(share @ (x - share @ x) ** 2, 1e-9))
    inputs = np.hstack([(x - mean) / spread, np.ones((len(x), 1))])
    theta = np.zeros(inputs.shape[1])
    theta[-1] = math.log(float(share @ y) + 1e-6)
    penalty = np.diag([RIDGE] * (len(theta) - 1) + [0.0])
    for _ in range(STEPS):
        p = sigmoid(inputs @ theta)
        hessian = (inputs * (share * p * (1 - p))[:, None]).T @ inputs + penalty
        theta = theta - np.linalg.solve(hessian, inputs.T @ (share * (p - y)) + penalty @ theta)
    slopes = theta[:-1] / spread
    z = x @ slopes
    # So many pairs reach 0.5, every project counting alike.
    order = np.argsort(-z, kind="stable")
    reached = np.searchsorted(np.cumsum(share[order]), REACH * float(share @ y))
    return (-float(z[order[min(reached, len(z) - 1)]]), *(float(slope) for slope in slopes))  # type: ignore[return-value]
