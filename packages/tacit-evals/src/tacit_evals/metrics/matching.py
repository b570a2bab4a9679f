"""When a captured statement is one of the learnings that an annotator found. In: texts, places, vectors. Out: likeness. Pure.

The data's own rule: the turns of both must meet, and the words be alike: token F1 >= 0.5 with the span or the content, or
cosine >= 0.75 with the content. Token F1 is that of SQuAD (Rajpurkar et al., 2016): lower case, counted tokens.
"""

from __future__ import annotations

import re
from collections import Counter

LEAST_F1 = 0.5
LEAST_COSINE = 0.75
_TOKEN = re.compile(r"\w+")


def token_f1(text: str, other: str) -> float:
    """Harmonic mean of the shares of tokens that two texts have in common, 0 to 1."""
    mine, theirs = Counter(_TOKEN.findall(text.lower())), Counter(_TOKEN.findall(other.lower()))
    shared = sum((mine & theirs).values())
    return 2 * shared / (sum(mine.values()) + sum(theirs.values())) if shared else 0.0


def likeness(content: str, *, span: str, gold: str, cosine: float) -> float:
    """How much `content` is like a learning with these words: 1 and more = it matches, below = it does not.

    The greatest of the three measures, each over its own mark.
    """
    return max(token_f1(content, span) / LEAST_F1, token_f1(content, gold) / LEAST_F1, cosine / LEAST_COSINE)
