"""Fit the order of the start pack. In: projects with judged prompts. Out: the need model that ships.

A logistic regression on whether any judged prompt needed a memory, with a normal prior on its weights. The prior is
strong on purpose: with two or three projects to learn from, weights that were free to move covered less on the
project left out than the prior alone (docs/adr/0011-order-of-the-start-pack.md). What is needed often counts no more than what is needed once; counts
are dominated by one or two memories of each project. Run: `python -m tacit_evals.fit --data DIR --date DATE`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.fitted import FitOrigin
from tacit.model.memory import Memory
from tacit.recall.score import NEED_EVIDENCE, Linear, NeedModel, need_evidence_of
from tacit_evals.data import PoolRow, Project, folders_of, load_inject, triggers_for
from tacit_evals.fit.labelled import same_project

PRIOR: Mapping[str, Mapping[str, float]] = {
    "given": {"breadth": 0.8, "known": 0.25, "recent": 0.15, "short": 0.15, "learned": 0.35},
    "local": {
        "breadth": 0.7, "known": 0.05, "recent": 0.15, "short": 0.25, "learned": 0.4, "few_objects": 0.2, "no_places": 0.15,
    },
}  # fmt: skip
"""Mean of the prior, per standard deviation of the evidence; set by hand."""
STRENGTH = 400.0
"""Precision of the prior: 1 / variance of each weight."""
LEAST_SCALE = 0.05
"""Evidence may be constant in each project and differ between them: its spread is 0, and its values must stay small."""
STEPS = 50
LEAST_STEP = 1e-9
DECIMALS = 4
Floats = NDArray[np.float64]


class MemoryMaker(Protocol):
    """Makes a memory of a row as the write path would; with the annotator's trigger where `given`."""

    def __call__(self, row: PoolRow, *, project: str, given: bool) -> Memory: ...


def judged_projects(data: Path, *, exclude_projects: Collection[str] = ()) -> tuple[Project, ...]:
    """Projects of the `inject` format in `data`, with their labelled triggers, without those of `exclude_projects`."""
    return tuple(
        load_inject(folder, triggers=triggers_for(folder.name, data))
        for folder in folders_of("inject", data)
        if not any(same_project(folder.name, name) for name in exclude_projects)
    )


def fit_need(
    projects: Sequence[Project], *, stored: MemoryMaker, date: str = "", command: str = ""
) -> NeedModel:
    """The model for start packs.

    Args:
        projects: with judged prompts; the one that is evaluated must not be among them.
        stored: how a row becomes a memory.
        date: stands in the file, nothing else.
        command: stands in the file, nothing else.
    """
    groups = {
        name: _fit_group(
            projects,
            PRIOR[name],
            lambda row, project, given=(name == "given"): stored(row, project=project, given=given),
        )
        for name in PRIOR
    }
    rows = sum(len(project.memories) for project in projects)
    origin = FitOrigin(
        what="expected need of a memory over a session",
        made_by=command,
        projects=tuple(sorted(project.name for project in projects)),
        date=date,
        details={"rows": rows},
    )
    return NeedModel(given=groups["given"], local=groups["local"], origin=origin)


def _fit_group(
    projects: Sequence[Project], prior: Mapping[str, float], stored: Callable[[PoolRow, str], Memory]
) -> Linear:
    rows: list[Floats] = []
    targets: list[Floats] = []
    for project in projects:
        needed = {memory for prompt in project.prompts for memory in prompt.judgment.needed}
        rows.append(need_evidence_of([stored(row, project.name) for row in project.memories]))
        targets.append(np.array([float(row.id in needed) for row in project.memories]))
    if not rows:
        raise ValueError("Need cannot be fitted without a judged project.")
    means = np.mean([own.mean(axis=0) for own in rows], axis=0)
    scales = np.maximum(np.mean([own.std(axis=0) for own in rows], axis=0), LEAST_SCALE)
    centre = np.array([0.0, *(prior.get(name, 0.0) for name in NEED_EVIDENCE)])
    evidence = (np.concatenate(rows) - means) / scales
    weights = maximum_a_posteriori(evidence, np.concatenate(targets), centre=centre, strength=STRENGTH)
    bias, *rest = weights.tolist()
    return Linear(
        bias=round(bias, DECIMALS), weights=_by_name(rest), means=_by_name(means), scales=_by_name(scales)
    )


def _by_name(row: Iterable[float]) -> dict[str, float]:
    return {name: round(float(value), DECIMALS) for name, value in zip(NEED_EVIDENCE, row, strict=True)}


def maximum_a_posteriori(evidence: Floats, targets: Floats, *, centre: Floats, strength: float) -> Floats:
    """Weights of a logistic regression with a normal prior, bias first and free of it, by Newton's method.

    A step that would go too far is halved.

    Args:
        evidence: shape (n, k).
        targets: 0 or 1, shape (n,).
        centre: mean of the prior, bias first, shape (k + 1,).
        strength: 1 / variance of the prior.
    """
    rows = np.hstack([np.ones((len(evidence), 1)), evidence])
    penalty = strength * np.eye(rows.shape[1])
    penalty[0, 0] = 1e-6
    weights = centre.copy()

    def loss(at: Floats) -> float:
        logits, away = rows @ at, at - centre
        return float((np.logaddexp(0.0, logits) - targets * logits).sum() + away @ penalty @ away / 2)

    for _ in range(STEPS):
        chance = (1.0 + np.tanh(rows @ weights / 2)) / 2  # the logistic function, which never overflows
        slope = rows.T @ (targets - chance) - penalty @ (weights - centre)
        curve = (rows * (chance * (1.0 - chance))[:, None]).T @ rows + penalty
        step, before = np.linalg.solve(curve, slope), loss(weights)
        while loss(weights + step) > before and np.abs(step).max() > LEAST_STEP:
            step = step / 2
        weights = weights + step
    return weights
