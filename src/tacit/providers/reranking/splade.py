"""A sparse encoder in a folder: every text becomes weights of words, also of words it does not hold. In: texts. Out: cosines.

    w(j) = max over tokens i of ln(1 + max(0, logit(i, j)));  score = cosine of both texts' weights, 0 to 1

Source: Formal, Lassance, Piwowarski and Clinchant, SPLADE v2, 2021 (max pooling); the cosine in place of the dot product,
so that a space keeps its scale. A model that pools by itself gives shape (1, words). Memories are kept once encoded.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.providers.reranking.folder import ModelFolder

KEPT_TEXTS = 2048

Sparse = tuple[NDArray[np.intp], NDArray[np.float32]]


class Splade(ModelFolder):
    """The Reranker port over a folder. Safe to share between threads.

    Raises:
        ProviderError: at once if the folder holds no model.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._expanded = lru_cache(maxsize=KEPT_TEXTS)(self._expand)

    def score(self, text: str, other: str) -> float:
        """See the port."""
        query_ids, weights = self._expanded(text)
        document_ids, document_weights = self._expanded(other)
        _, left, right = np.intersect1d(query_ids, document_ids, assume_unique=True, return_indices=True)
        return min(1.0, float(weights[left] @ document_weights[right]))

    def _expand(self, text: str) -> Sparse:
        """Places and weights (of Euclidean length 1) of the words that are not 0; shape (k,) each."""
        ids = self.loaded().encode(text)
        logits = self.run(ids, [0] * len(ids))[0].astype(np.float32)
        positive = np.maximum(logits, np.float32(0))
        weights = np.log1p(positive).max(axis=0) if logits.ndim == 2 else positive
        places = np.flatnonzero(weights)
        chosen = weights[places]
        return places, (chosen / max(float(np.linalg.norm(chosen)), 1e-12)).astype(np.float32)
