"""What a prompt's vector is before it is compared with memories. In: a unit vector. Out: the transformed unit vector.

A memory that sounds like any prompt is close to every prompt, so a cosine with one of them says little of it (a hub; Radovanovic
et al., 2010). And what a prompt needs is often not what resembles it: "go ahead" needs the rule for what comes next. So the vector
is centered, then turned toward the memories that such prompts needed:

    c = (v - REMOVED_SHARE x u) / its length,   u = mean vector of prompts of other projects
    v' = (c + TURN_SHARE x c W) / its length,   W = a fitted matrix (`tacit_evals.fit.prompt_transform`)

v' . m is the bilinear match c (I + TURN_SHARE x W) m of prompt and memory, up to the length, so any vector search finds its best. u and
W are data (`fitted/prompt_transform.json`) and speak of one embedder alone: vectors of others stay as they are. `mean` and
`deviation` are those of v' . m over prompts and memories of one project: what is usual in a small scope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, Origin, load_fitted
from tacit.fitted.matrices import Int8Matrix, from_int8, to_int8
from tacit.ports.models import EmbedderIdentity, Vectors

REMOVED_SHARE = 2.0
"""Chosen on projects left out: average precision of the gate rises up to here and stays the same up to 4 (ADR 0018)."""
TURN_SHARE = 0.6
"""The same from 0.5 to 1.2 (ADR 0052)."""
DECIMALS = 5
_NAME = "prompt_transform"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTransform:
    """The transformation of a prompt's vector, and what a cosine with its result usually is.

    Attributes:
        embedder: identity of the embedder that it speaks of.
        vector: the mean prompt, float32, shape (dimensions,).
        turn: W, float32, shape (dimensions, dimensions); None = centering alone.
        mean, deviation: of v' . m.
        origin: data, command, date.
    """

    embedder: str
    vector: Vectors
    turn: Vectors | None = None
    mean: float
    deviation: float
    origin: Origin = field(default_factory=Origin)

    def speaks_of(self, identity: EmbedderIdentity) -> bool:
        """Whether vectors of this embedder are meant."""
        return str(identity) == self.embedder

    def transform(self, vector: Vectors) -> Vectors:
        """The vector to compare with memories, of unit length; `vector` itself where centering leaves nothing of it."""
        own = vector - REMOVED_SHARE * self.vector
        length = math.sqrt(float(own @ own))
        if length <= 1e-6:
            return vector
        own /= length
        if self.turn is not None:
            own += TURN_SHARE * (own @ self.turn)
            own /= max(math.sqrt(float(own @ own)), 1e-6)
        return np.asarray(own, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformValues:
    """A `PromptTransform` as the file holds it; 8 bits of each number of the matrix."""

    mean: float
    deviation: float
    vector: tuple[float, ...]
    turn: Int8Matrix | None = None


def transform_artifact(transform: PromptTransform) -> Artifact[TransformValues]:
    """The content of the file; `DECIMALS` places of each number of the mean prompt."""
    return Artifact(
        name=_NAME,
        origin=transform.origin,
        values=TransformValues(
            mean=round(transform.mean, DECIMALS),
            deviation=round(transform.deviation, DECIMALS),
            vector=tuple(round(float(value), DECIMALS) for value in transform.vector),
            turn=None if transform.turn is None else to_int8(transform.turn),
        ),
    )


def transform_from(artifact: Artifact[TransformValues]) -> PromptTransform:
    """The transformation of a file.

    Raises:
        InvalidInput: if its matrix has too many or too few numbers.
    """
    values = artifact.values
    try:
        turn = None if values.turn is None else from_int8(values.turn)
    except ValueError as error:
        raise InvalidInput(
            f"The matrix of {_NAME!r} is damaged: {error}.", hint="Fit it again, or reinstall Tacit."
        ) from error
    return PromptTransform(
        embedder=artifact.origin.embedder,
        vector=np.array(values.vector, np.float32),
        turn=turn,
        mean=values.mean,
        deviation=values.deviation,
        origin=artifact.origin,
    )


def load_prompt_transform() -> PromptTransform:
    """What ships."""
    return load_fitted(_NAME, TransformValues, transform_from)
