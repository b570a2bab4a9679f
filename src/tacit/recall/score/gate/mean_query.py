"""What all prompts have in common, taken off a prompt's vector. In: a unit vector. Out: a unit vector of what is its own.

A memory that sounds like any prompt is close to every prompt, so a cosine with one of them says little of it (a hub; Radovanovic
et al., 2010). With u = mean vector of prompts of other projects:

    v' = (v - REMOVED_SHARE x u) / its length;  v' . m = a x (v . m - REMOVED_SHARE x (u . m)), so what a memory has with any prompt goes off

u is data (`usual.json`; made by `tacit_evals.fit.usual`), and speaks of one embedder alone: vectors of others stay as they
are. `mean` and `deviation` are those of v' . m over prompts and memories of one project: what is usual in a small scope.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
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
        manifest: data, command, date.
    """

    embedder: str
    vector: Vectors
    mean: float
    deviation: float
    manifest: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def speaks_of(self, identity: EmbedderIdentity) -> bool:
        """Whether vectors of this embedder are meant."""
        return str(identity) == self.embedder

    def without(self, vector: Vectors) -> Vectors:
        """`vector` less what is usual, of unit length; as it is where nothing is left of it."""
        own = vector - REMOVED_SHARE * self.vector
        length = math.sqrt(float(own @ own))
        return np.asarray(own / length, np.float32) if length > 1e-6 else vector


def write_mean_query(usual: MeanQueryVector) -> str:
    """The file's text; equal values give equal bytes."""
    content = {
        "manifest": dict(usual.manifest),
        "embedder": usual.embedder,
        "mean": round(usual.mean, DECIMALS),
        "deviation": round(usual.deviation, DECIMALS),
        "vector": [round(float(value), DECIMALS) for value in usual.vector],
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def read_mean_query(text: str) -> MeanQueryVector:
    """Read a file's text.

    Raises:
        InvalidInput: if it is no such file.
    """
    try:
        content = json.loads(text)
        return MeanQueryVector(
            embedder=str(content["embedder"]),
            vector=np.array(content["vector"], np.float32),
            mean=float(content["mean"]),
            deviation=float(content["deviation"]),
            manifest=content["manifest"],
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"This is no usual prompt: {error}.", hint="Fit it anew, or install Tacit anew."
        ) from error


@lru_cache(maxsize=1)
def load_mean_query() -> MeanQueryVector:
    """What ships."""
    return read_mean_query(files("tacit.recall.score.gate").joinpath("usual.json").read_text("utf-8"))
