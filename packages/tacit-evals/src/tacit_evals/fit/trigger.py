"""Fit the trigger maker on labelled rules and memories. In: rows that may be used, an embedder. Out: a `TriggerModel`.

Labels are the grades 1-3 of the data's protocol, taken as soft targets grade / 3, and breadth 1-3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.fitted import Origin
from tacit.fitted.matrices import WeightMatrices
from tacit.model.trigger import ACTIONS
from tacit.ports.models import Embedder
from tacit.reading.trigger import make_trigger
from tacit.reading.trigger_model import (
    RULES_SHARE,
    RULES_TRUST,
    STATEMENT_CHARS,
    VECTORS,
    WORDS,
    TriggerModel,
    said_by_rules,
    statement_cues,
    statement_words,
)
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.fit.labelled import presence, rows_with_labels, vocabulary
from tacit_evals.fit.leaks import usable
from tacit_evals.fit.logistic import Array, fit_dual, logit

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
    origin = Origin(
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
    return TriggerModel(weights.rounded())


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


def _memory(row: Row) -> LabelledMemory:
    return LabelledMemory(
        project=row.maybe("repo") or row.path.parent.name,
        id=row.text("id"),
        content=row.text("content"),
        kind=row.maybe("kind"),
        files=row.texts("files"),
        grades=row.grades("actions"),
        breadth=row.number("breadth"),
    )
