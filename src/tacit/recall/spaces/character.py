"""Character space (E9): cosine of character 3-gram sets, 0 to 1. Robust to typos and inflection.

Source: Cavnar and Trenkle, N-gram-based text categorization, 1994, with set weights instead of counts:
|A and B| / sqrt(|A| * |B|), where A and B are the sets of 3-grams.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.recall.spaces.marks import MARKS

LOW, HIGH = MARKS["character"]
_MAX_CHARS = 320
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=8192)
def grams(text: str) -> frozenset[str]:
    """The set of 3-grams of the words of `text` (first 320 characters), each word framed by blanks."""
    words = [f" {word} " for word in _WORD.findall(text[:_MAX_CHARS].casefold())]
    return frozenset(word[i : i + 3] for word in words for i in range(len(word) - 2))


def closeness(left: str, right: str) -> float:
    """Set cosine of the two texts' n-grams, 0 to 1."""
    a, b = grams(left), grams(right)
    if not a or not b:
        return 0.0
    return len(a & b) / math.sqrt(len(a) * len(b))


def measure(query: Query, memory: Memory) -> float:
    """Closeness of the query's words and the memory's content."""
    return closeness(query.text, memory.content)
