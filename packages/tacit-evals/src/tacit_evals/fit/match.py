"""Fit how triggers and situations are matched. In: judged pairs of the `inject` folders. Out: a `MatchModel`.

Situations are read by the rules. The local triggers of a project are made by a model that saw no row of it, so that the weights are
those for triggers as they will be, not for triggers of known texts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tacit.fitted import Origin
from tacit.model.situation import Situation
from tacit.model.trigger import ACTIONS, Trigger
from tacit.reading.match import Matcher, MatchModel, Weights, match_artifact, match_from
from tacit.reading.situation import read_situation
from tacit.reading.trigger_model import LocalTriggers
from tacit_evals.data.rows import Row, read_rows, read_table
from tacit_evals.fit.labelled import LabelledPrompt
from tacit_evals.fit.leaks import usable
from tacit_evals.fit.logistic import Array, sigmoid
from tacit_evals.fit.trigger import LabelledMemory

RIDGE = 1e-4
STEPS = 20
NEUTRAL: Weights = (0.0, 1.0, 0.0, 0.0)
REACH = 3.0
"""So many times as many pairs reach 0.5 as are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
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


def judged(data: Path, project: str, *, maker: LocalTriggers) -> Judged:
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
    return Judged(
        project=project,
        grades=grades,
        read=tuple(map(_read, prompts)),
        situations=tuple(situation_of(situations[row.text("id")]) for row in prompts),
        given=tuple(trigger_of(triggers[row.text("id")]) for row in memories),
        made=tuple(
            maker(row.text("content"), kind=row.text("kind"), files=row.texts("files")) for row in memories
        ),
    )


def _read(row: Row) -> Situation:
    return read_situation(
        row.text("text"),
        previous_end=row.maybe("previous_assistant"),
        recent_files=row.texts("recent_files"),
    )


def situation_of(row: Row) -> Situation:
    """The situation that a labelled row describes."""
    actions = sorted(
        ((n, round(g / 3, 2)) for n, g in row.grades("actions").items() if n != "none"),
        key=lambda p: (-p[1], p[0]),
    )
    return Situation(actions=tuple(actions), objects=row.texts("objects"), nothing_coming=not actions)


def trigger_of(row: Row) -> Trigger:
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
    rows = [Row(path=folder / "prompts.jsonl", line=0, values={}) for folder in folders]
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
    model: MatchModel, pairs: Sequence[Judged], *, date: str = "", command: str = ""
) -> MatchModel:
    """`model` with the weights that tell needed pairs from the others; each project counts alike."""
    fitted = replace(
        model,
        given=_weights([rows_of(judged, judged.given, model) for judged in pairs]),
        local=_weights([rows_of(judged, judged.made, model) for judged in pairs]),
        origin=Origin(
            what="match of trigger and situation",
            made_by=command,
            projects=tuple(sorted(judged.project for judged in pairs)),
            date=date,
            details={"pairs": sum(int(np.isfinite(judged.grades).sum()) for judged in pairs)},
        ),
    )
    return match_from(match_artifact(fitted))


def rows_of(judged: Judged, triggers: Sequence[Trigger], model: MatchModel) -> tuple[Array, Array]:
    """Inputs (pairs, 3) and whether each was needed, of the pairs whose score the weights decide."""
    inputs: list[tuple[float, ...]] = []
    needed: list[float] = []
    for i, situation in enumerate(judged.read):
        matcher = Matcher(situation, model=model)
        for j, trigger in enumerate(triggers):
            grade = judged.grades[i, j]
            if situation.nothing_coming or trigger.always or not np.isfinite(grade):
                continue
            inputs.append(matcher.parts(trigger).row)
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
