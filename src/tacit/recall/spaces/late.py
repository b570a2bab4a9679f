"""Late space (E12): token-level maximum similarity (late interaction) on the short list, 0 to 1.

    score(m) = sum over query tokens of w(t) * max over tokens u of m of max(0, cosine(t, u))  /  sum of w(t)
    w(t) = 1 - mean over the short list of that maximum  (a token that every memory matches says nothing)

Source: MaxSim of ColBERT (Khattab and Zaharia, SIGIR 2020), weighted by rarity as in BERTScore (Zhang et al., ICLR 2020),
with the short list's own contrast in place of a document frequency. The token vectors come from the embedder; those of
the shipped model are its input embeddings: a table look-up, no forward pass.
"""

from __future__ import annotations

import numpy as np

from tacit.model.evidence import Shortlist
from tacit.model.query import Query

HIGH = 0.55
LOW = 0.2
LEAST_WEIGHT = 0.05
MAX_CHARS = 1000
"""So much of a text is compared: the cost grows with the product of both lengths."""


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Score of every memory of the short list, by memory id; nothing without token vectors."""
    tokens = shortlist.token_vectors
    if tokens is None or not shortlist.memories:
        return {}
    asked = tokens(query.text[:MAX_CHARS])
    if not len(asked):
        return {}
    held = [(m.id, tokens(m.content[:MAX_CHARS])) for m in shortlist.memories]
    held = [(name, vectors) for name, vectors in held if len(vectors)]
    if not held:
        return {}
    best = max_similarities(asked, [vectors for _, vectors in held])
    weights = np.maximum(1 - best.mean(axis=0), LEAST_WEIGHT)
    scores = best @ weights / weights.sum()
    return {name: float(score) for (name, _), score in zip(held, scores, strict=True)}


def max_similarities(asked: np.ndarray, held: list[np.ndarray]) -> np.ndarray:
    """Best cosine (at least 0) of each asked token in each text, shape (texts, asked tokens).

    Args:
        asked: unit rows, shape (asked tokens, dimensions).
        held: unit rows of each text, shape (tokens, dimensions); no text is empty.
    """
    starts = np.cumsum([0, *(len(vectors) for vectors in held[:-1])])
    cosines = np.concatenate(held) @ asked.T
    return np.maximum(np.maximum.reduceat(cosines, starts, axis=0), 0.0)
