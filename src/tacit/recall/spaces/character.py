"""Character space (E9): cosine of hashed character 3- and 4-grams, 0 to 1. Robust to typos and inflection.

Source: Cavnar and Trenkle, N-gram-based text categorization, 1994, with set weights instead of counts:
|A and B| / sqrt(|A| * |B|), where A and B are the sets of n-grams.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from tacit.model.memory import Memory
from tacit.model.query import Query

HIGH = 0.35
LOW = 0.10
_MAX_CHARS = 600
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=8192)
def grams(text: str) -> frozenset[str]:
    """The set of 3- and 4-grams of the words of `text` (first 600 characters), each word framed by blanks."""
    found: set[str] = set()
    for word in _WORD.findall(text[:_MAX_CHARS].casefold()):
        framed = f" {word} "
        for size in (3, 4):
            found.update(framed[i : i + size] for i in range(len(framed) - size + 1))
    return frozenset(found)


def closeness(left: str, right: str) -> float:
    """Set cosine of the two texts' n-grams, 0 to 1."""
    a, b = grams(left), grams(right)
    if not a or not b:
        return 0.0
    return len(a & b) / math.sqrt(len(a) * len(b))


def measure(query: Query, memory: Memory) -> float:
    """Closeness of the query's words and the memory's content."""
    return closeness(query.text, memory.content)
