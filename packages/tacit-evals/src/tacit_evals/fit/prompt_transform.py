"""Fit the transformation of a prompt's vector. In: prompts, judged prompts with their pools. Out: a `PromptTransform`.

The mean prompt looks at no label: it is the mean of the prompts' vectors. The matrix W of the bilinear match q W m is a ridge
regression in two steps of one closed form, on whether a memory of its pool was needed by a prompt:

    W = (A + RIDGE x I)^-1 (sum of Q' Y M) (B + RIDGE x I)^-1,   A ~ sum of Q' Q,   B ~ sum of M' M,

Q = centered vectors of prompts, M = vectors of the memories of their pool less the pool's mean, Y = 1 for needed, less the mean of its
row; A and B are scaled to a mean eigenvalue of 1. Source of the form: two-sided (Kronecker) kernel ridge regression (Pahikkala et al.,
2013). It is scaled so that c W has length 1 for the mean prompt c. Deterministic; no rows of an evaluated project (`leaks`).

Rows: the judged projects, and below `need` of the folders further prompts judged against the same pools (`judged`) and memories
that were written for real prompts (`written`), which count less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.fitted import FitOrigin
from tacit.fitted.matrices import from_int8
from tacit.ports.models import Embedder
from tacit.recall.retrieve import QUERY_CHARS
from tacit.recall.score import PromptTransform
from tacit_evals.data import Project, load_judgments, read_rows
from tacit_evals.fit.files import DECIMALS, to_int8
from tacit_evals.fit.labelled import LabelledPrompt, same_project

RIDGE = 5.0
"""Average precision on projects left out is the same from 2 to 20."""
WEIGHTS = {"judged": 0.7, "written": 0.5}
"""What a row counts beside one of a judged project (1)."""
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPool:
    """Prompts and the pool that they were judged against. `needed[i]` = places of the memories that prompt i needs."""

    project: str
    weight: float
    prompts: tuple[str, ...]
    memories: tuple[str, ...]
    needed: tuple[tuple[int, ...], ...]


def judged_pools(
    dirs: Sequence[Path], projects: Sequence[Project], *, exclude: Sequence[str]
) -> tuple[JudgedPool, ...]:
    """The pools of `projects` and those below `need`, without any of the projects of `exclude`."""
    pools = [_of_project(project) for project in projects]
    for folder in dirs:
        for subfolder, weight in WEIGHTS.items():
            paths = sorted((folder / "need" / subfolder).glob("*/qrels.tsv"))
            pools += [_of_folder(path.parent, folder, weight=weight) for path in paths]
    return tuple(pool for pool in pools if not any(same_project(pool.project, name) for name in exclude))


def _of_project(project: Project) -> JudgedPool:
    places = {memory.id: place for place, memory in enumerate(project.memories)}
    return JudgedPool(
        project=project.name,
        weight=1.0,
        prompts=tuple(prompt.text for prompt in project.prompts),
        memories=tuple(memory.content for memory in project.memories),
        needed=tuple(
            tuple(places[name] for name in prompt.judgment.needed if name in places)
            for prompt in project.prompts
        ),
    )


def _of_folder(folder: Path, data: Path, *, weight: float) -> JudgedPool:
    """A folder of `need`; one without memories of its own is judged against the pool of the project of that name."""
    own = folder / "memories.jsonl"
    rows = list(read_rows(own if own.exists() else data / "inject" / folder.name / "memories.jsonl"))
    superseded = {row.maybe("supersedes") for row in rows}
    live = [row for row in rows if row.text("id") not in superseded]
    places = {row.text("id"): place for place, row in enumerate(live)}
    prompts = list(read_rows(folder / "prompts.jsonl"))
    judged = load_judgments(
        folder / "qrels.tsv",
        items={row.text("id") for row in prompts},
        memories={row.text("id") for row in rows},
    )
    return JudgedPool(
        project=folder.name,
        weight=weight,
        prompts=tuple(row.text("text") for row in prompts),
        memories=tuple(row.text("content") for row in live),
        needed=tuple(
            tuple(places[name] for name in judged[row.text("id")].needed if name in places) for row in prompts
        ),
    )


def fit_prompt_transform(
    prompts: Sequence[LabelledPrompt],
    pools: Sequence[JudgedPool],
    *,
    embedder: Embedder,
    date: str = "",
    command: str = "",
) -> PromptTransform:
    """The transformation, from labelled prompts (the mean) and judged pools (the matrix, the usual cosine); without pools the mean alone."""
    mean = _vectors(embedder, [prompt.text for prompt in prompts]).mean(axis=0)
    vector = mean.round(DECIMALS).astype(np.float32)
    centered = PromptTransform(embedder=str(embedder.identity), vector=vector, mean=0.0, deviation=1.0)
    if not pools:
        return centered
    turn = from_int8(to_int8(_matrix(pools, centered, embedder).astype(np.float32)))
    turned = PromptTransform(embedder=centered.embedder, vector=vector, turn=turn, mean=0.0, deviation=1.0)
    means, deviations = zip(*(_usual_cosine(pool, turned, embedder) for pool in pools), strict=True)
    return PromptTransform(
        embedder=centered.embedder,
        vector=vector,
        turn=turn,
        mean=round(float(np.mean(means)), DECIMALS),
        deviation=round(float(np.mean(deviations)), DECIMALS),
        origin=FitOrigin(
            what="mean vector of prompts, matrix of the bilinear match, and the usual cosine with the result",
            made_by=command,
            projects=tuple(
                sorted(
                    {prompt.project for prompt in prompts}
                    | {pool.project for pool in pools if pool.weight == 1.0}
                )
            ),
            date=date,
            embedder=centered.embedder,
            details={"prompts": len(prompts), "pairs": sum(len(n) for p in pools for n in p.needed)},
        ),
    )


def _matrix(pools: Sequence[JudgedPool], centered: PromptTransform, embedder: Embedder) -> Array:
    """W of the module's docstring, shape (dimensions, dimensions)."""
    size = embedder.identity.dimensions
    of_prompts, of_memories, between = (np.zeros((size, size)) for _ in range(3))
    queries_of_all: list[Array] = []
    for pool in pools:
        queries = _transformed(pool, centered, embedder)
        memories = _vectors(embedder, pool.memories)
        memories = memories - memories.mean(axis=0)
        of_prompts += pool.weight * queries.T @ queries
        of_memories += pool.weight * memories.T @ memories
        between += pool.weight * queries.T @ _targets(pool) @ memories
        queries_of_all.append(queries)
    matrix = np.linalg.solve(_scaled(of_prompts) + RIDGE * np.eye(size), between)
    matrix = matrix @ np.linalg.inv(_scaled(of_memories) + RIDGE * np.eye(size))
    length = float(np.linalg.norm(np.concatenate(queries_of_all) @ matrix, axis=1).mean())
    return np.asarray(matrix / length if length else matrix)


def _targets(pool: JudgedPool) -> Array:
    targets = np.zeros((len(pool.prompts), len(pool.memories)))
    for row, places in enumerate(pool.needed):
        targets[row, list(places)] = 1.0
    return np.asarray(targets - targets.mean(axis=1, keepdims=True))


def _scaled(matrix: Array) -> Array:
    trace = float(np.trace(matrix))
    return np.asarray(matrix * len(matrix) / trace if trace else matrix)


def _transformed(pool: JudgedPool, transform: PromptTransform, embedder: Embedder) -> Array:
    vectors = _vectors(embedder, pool.prompts)
    return np.array([transform.transform(vector) for vector in vectors.astype(np.float32)], np.float64)


def _usual_cosine(pool: JudgedPool, transform: PromptTransform, embedder: Embedder) -> tuple[float, float]:
    cosines = _transformed(pool, transform, embedder) @ _vectors(embedder, pool.memories).T
    return float(cosines.mean()), float(cosines.std(axis=1).mean())


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Array:
    return np.concatenate(list(_batches(embedder, texts))).astype(np.float64)


def _batches(embedder: Embedder, texts: Sequence[str]) -> Iterator[NDArray[np.float32]]:
    for at in range(0, len(texts), 256):
        yield embedder.embed([text[:QUERY_CHARS] for text in texts[at : at + 256]])
