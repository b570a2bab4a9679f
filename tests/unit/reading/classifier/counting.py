"""What the tests of both classifiers need: an embedder that counts, and the logistic function."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacit.errors import ProviderError
from tacit.ports.models import EmbedderIdentity, Vectors


class Counting:
    """Gives the same vector for every text and counts."""

    def __init__(self, name: str = "two", *, fails: bool = False) -> None:
        self.identity = EmbedderIdentity(name=name, dimensions=2)
        self.asked: list[str] = []
        self._fails = fails

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._fails:
            raise ProviderError("gone")
        self.asked.extend(texts)
        return np.tile(np.array([[1.0, 0.0]], np.float32), (len(texts), 1))


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def chance(x: float) -> float:
    return 1 / (1 + math.exp(-x))
