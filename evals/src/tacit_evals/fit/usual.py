"""Fit what all prompts have in common. In: labelled prompts, judged projects, an embedder. Out: a `MeanQueryVector`.

No label is looked at: the mean of the prompts' vectors, and the mean and the deviation of the cosines that prompts of a judged
project have with its memories once that mean is taken off. Each project counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.fitted import Origin
from tacit.ports.models import Embedder
from tacit.reading.classifier.features import VECTOR_CHARS
from tacit.recall.score.gate.mean_query import DECIMALS, MeanQueryVector
from tacit_evals.data.judged import Project
from tacit_evals.fit.situation import LabelledPrompt


def fit_usual(
    prompts: Sequence[LabelledPrompt],
    projects: Sequence[Project],
    *,
    embedder: Embedder,
    date: str = "",
    command: str = "",
) -> MeanQueryVector:
    """The usual prompt of `prompts`; `projects` tell the usual cosine with what is left."""
    texts = [one.text[:VECTOR_CHARS] for one in prompts]
    mean = embedder.embed(texts).astype(np.float64).mean(axis=0)
    usual = MeanQueryVector(
        embedder=str(embedder.identity),
        vector=np.round(mean, DECIMALS).astype(np.float32),
        mean=0.0,
        deviation=1.0,
    )
    means: list[float] = []
    deviations: list[float] = []
    for project in projects:
        memories = embedder.embed([memory.content for memory in project.memories])
        own = [
            usual.without(vector)
            for vector in embedder.embed([prompt.text[:VECTOR_CHARS] for prompt in project.prompts])
        ]
        cosines = np.array(own) @ memories.T
        means.append(float(cosines.mean()))
        deviations.append(float(cosines.std(axis=1).mean()))
    return MeanQueryVector(
        embedder=usual.embedder,
        vector=usual.vector,
        mean=round(float(np.mean(means)), DECIMALS),
        deviation=round(float(np.mean(deviations)), DECIMALS),
        origin=Origin(
            what="mean vector of prompts, and the usual cosine with what is left of one",
            made_by=command,
            projects=tuple(sorted({one.project for one in prompts})),
            date=date,
            embedder=usual.embedder,
            details={"rows": len(texts)},
        ),
    )
