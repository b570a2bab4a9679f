"""Late space (E12): token-level maximum similarity (late interaction) on the short list, 0 to 1.

    score(m) = sum over query tokens of w(t) * max over tokens u of m of max(0, cosine(t, u))  /  sum of w(t)
    w(t) = ln(1 + (N - n + 0.5) / (n + 0.5)),  n = memories of the short list that hold the token itself

Source: MaxSim of ColBERT (Khattab and Zaharia, SIGIR 2020), weighted by rarity as in BERTScore (Zhang et al., ICLR 2020). The embedder matches the tokens; the
shipped model does it by its input embeddings: a table look-up, no forward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Shortlist, TokenMatches
from tacit.model.query import Query
from tacit.ports.models import Embedder, TokenEmbedder
from tacit.reading.unread import unread_language
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space
from tacit.recall.stage import Outcome, Tools

Matches = NDArray[np.float32]

LOW, HIGH = SPACE_THRESHOLDS["late"]
SAME_TOKEN_COSINE = 0.99
"""Cosine from which two tokens are one."""
MAX_CHARS = 1000
"""So much of a text is compared: the cost grows with the product of both lengths."""


def token_matches_of(embedder: Embedder) -> TokenMatches | None:
    """The token matches of an embedder (of the one behind the cache, where there is one); None when it knows no tokens."""
    inner = getattr(embedder, "inner", embedder)
    return inner.token_matches if isinstance(inner, TokenEmbedder) else None


def read(
    tools: Tools, query: Query, shortlist: Shortlist, remaining_ms: Callable[[], float]
) -> Outcome[Shortlist]:
    """The short list with what matches its tokens."""
    del remaining_ms
    if unread_language(tools.embedder, query.text):
        return Outcome(kept=shortlist)
    return Outcome(kept=replace(shortlist, token_matches=token_matches_of(tools.embedder)))


def measure(query: Query, shortlist: Shortlist) -> dict[str, float]:
    """Score of every memory of the short list, by memory id; nothing where the embedder knows no tokens."""
    if shortlist.token_matches is None or not shortlist.memories:
        return {}
    texts = [memory.content[:MAX_CHARS] for memory in shortlist.memories]
    best = shortlist.token_matches(query.text[:MAX_CHARS], texts)
    if not best.shape[1]:
        return {}
    scores = idf_weighted_mean(best, best)
    return {memory.id: float(score) for memory, score in zip(shortlist.memories, scores, strict=True)}


def idf_weighted_mean(best: Matches, own: Matches) -> Matches:
    """Mean of each row of `best`, weighted by how rare the tokens are in `own`; shape (texts,).

    Both have shape (texts, asked tokens); `own` tells what each text holds itself, `best` what counts as its match.
    """
    total = len(own)
    holding = (own >= SAME_TOKEN_COSINE).sum(axis=0)
    weights = np.log1p((total - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return best @ weights / weights.sum()


SPACE = Space(
    name="late",
    family="meaning",
    summary="meaning, token by token",
    topic_weight=1.0,
    high=HIGH,
    low=LOW,
    read=read,
    measure=measure,
)
