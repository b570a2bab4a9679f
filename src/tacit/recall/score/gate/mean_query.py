"""Subtraction of the mean query vector from a prompt's vector. In: a unit vector. Out: the centered unit vector.

A memory that sounds like any prompt is close to every prompt, so a cosine with one of them says little of it (a hub; Radovanovic
et al., 2010). With u = mean vector of prompts of other projects:

    v' = (v - REMOVED_SHARE x u) / its length;  v' . m = a x (v . m - REMOVED_SHARE x (u . m)), so what a memory has with any prompt goes off

u is data (`fitted/mean_query.json`; made by `tacit_evals.fit.fitted`), and speaks of one embedder alone: vectors of others stay as they
are. `mean` and `deviation` are those of v' . m over prompts and memories of one project: what is usual in a small scope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tacit.fitted import Artifact, Origin, load_fitted
from tacit.ports.models import EmbedderIdentity, Vectors

REMOVED_SHARE = 2.0
"""Chosen on projects left out: average precision of the gate rises up to here and stays the same up to 4 (ADR 0018)."""
DECIMALS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanQueryVector:
    """The mean vector of prompts, and what a cosine with the rest of a prompt usually is.

    Attributes:
        embedder: identity of the embedder that it speaks of.
        vector: float32, shape (dimensions,).
        mean, deviation: of v' . m.
        origin: data, command, date.
    """

    embedder: str
    vector: Vectors
    mean: float
    deviation: float
    origin: Origin = field(default_factory=Origin)

    def speaks_of(self, identity: EmbedderIdentity) -> bool:
        """Whether vectors of this embedder are meant."""
        return str(identity) == self.embedder

    def without(self, vector: Vectors) -> Vectors:
        """`vector` less what is usual, of unit length; as it is where nothing is left of it."""
        own = vector - REMOVED_SHARE * self.vector
        length = math.sqrt(float(own @ own))
        return np.asarray(own / length, np.float32) if length > 1e-6 else vector


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanQueryValues:
    """A `MeanQueryVector` as the file holds it."""

    mean: float
    deviation: float
    vector: tuple[float, ...]


def mean_query_artifact(mean_query: MeanQueryVector) -> Artifact[MeanQueryValues]:
    """The content of the file; `DECIMALS` places of each number."""
    return Artifact(
        name="mean_query",
        origin=mean_query.origin,
        values=MeanQueryValues(
            mean=round(mean_query.mean, DECIMALS),
            deviation=round(mean_query.deviation, DECIMALS),
            vector=tuple(round(float(value), DECIMALS) for value in mean_query.vector),
        ),
    )


def mean_query_from(artifact: Artifact[MeanQueryValues]) -> MeanQueryVector:
    """The vector of a file."""
    return MeanQueryVector(
        embedder=artifact.origin.embedder,
        vector=np.array(artifact.values.vector, np.float32),
        mean=artifact.values.mean,
        deviation=artifact.values.deviation,
        origin=artifact.origin,
    )


def load_mean_query() -> MeanQueryVector:
    """What ships."""
    return load_fitted("mean_query", MeanQueryValues, mean_query_from)
