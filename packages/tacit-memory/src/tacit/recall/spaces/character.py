"""Character space (E9): cosine of character 3-gram sets, 0 to 1. Robust to typos and inflection.

Source: Cavnar and Trenkle, N-gram-based text categorization, 1994, with set weights instead of counts:
|A and B| / sqrt(|A| * |B|), where A and B are the sets of 3-grams of the words, each framed by blanks. A short list is
compared at once: making a set of strings for every fresh memory took a third of an embedding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.model.evidence import Shortlist
from tacit.model.query import Query
from tacit.recall.spaces.space import SPACE_THRESHOLDS, Space
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import content_words
from tacit.text.tokens import segmented

LOW, HIGH = SPACE_THRESHOLDS["character"]
_MAX_CHARS = 320
_BETWEEN_TEXTS = "\0"
_BETWEEN_WORDS = re.compile(r"[^\w\0]+|_+")
_ASCII = bytes(code if not code or chr(code).isalnum() else 32 for code in range(256))
_BLANK = ord(" ")
_CODE_BITS, _SPARE_BITS = np.uint64(40), np.uint64(24)
_CODE = np.uint64((1 << 40) - 1)
_LAST = np.array([_CODE])
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""Odd numbers that spread three code points over 64 bits; of 3-grams that differ one pair in 2**40 is taken for the same."""


def grams(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The 3-grams of every text (its first 320 characters): number of the text and a 40-bit code, sorted, without repeats."""
    plain = (segmented(text[:_MAX_CHARS]).casefold().replace(_BETWEEN_TEXTS, " ") for text in texts)
    joined = _BETWEEN_TEXTS.join(f" {text} " for text in plain)
    points = _letters(joined)
    if len(points) < 3:  # no 3-gram at all
        return np.empty(0, np.uint64)
    number = (points == 0).cumsum(dtype=np.uint64)[1:-1]
    middle = points[1:-1]
    # In the middle of a 3-gram stands a letter. One with an end of a text at its side has the blank before it there.
    whole = middle > _BLANK
    mixed = ((points[:-2] * _FACTORS[0] + middle) * _FACTORS[1] + points[2:]) * _FACTORS[0]
    packed = ((number << _CODE_BITS) | (mixed >> _SPARE_BITS))[whole]
    packed.sort()
    first = np.ones(len(packed), np.bool_)
    np.not_equal(packed[1:], packed[:-1], out=first[1:])
    return packed[first]


def _letters(text: str) -> NDArray[np.uint64]:
    """Code points of `text` with a blank for every one that belongs to no word."""
    if text.isascii():
        return np.frombuffer(text.encode().translate(_ASCII), np.uint8).astype(np.uint64)
    points = np.frombuffer(_BETWEEN_WORDS.sub(" ", text).encode("utf-32-le", "replace"), np.uint32)
    return points.astype(np.uint64)


def closest(text: str, others: Sequence[str]) -> NDArray[np.float64]:
    """Set cosine of the n-grams of `text` and of each of `others`, 0 to 1, shape (others,)."""
    packed = grams([text, *others])
    owners = (packed >> _CODE_BITS).view(np.int64)
    codes = packed & _CODE
    sizes = np.bincount(owners, minlength=len(others) + 1)
    text_codes = np.concatenate((codes[: sizes[0]], _LAST))  # ascending; the last so that every place exists
    same = text_codes[text_codes.searchsorted(codes)] == codes
    shared = np.bincount(owners[same], minlength=len(others) + 1)
    return shared[1:] / np.sqrt(np.maximum(sizes[0] * sizes[1:], 1))


def closeness(left: str, right: str) -> float:
    """Set cosine of the two texts' n-grams, 0 to 1."""
    return float(closest(left, [right])[0])


def measure(query: Query, shortlist: Shortlist) -> Mapping[str, float]:
    """Closeness of the query's words and each memory's content."""
    memories = shortlist.memories
    # The gate was fitted on whole English texts.
    compare = closest if natural_language_of(query.text) == ENGLISH else closest_topics
    scores = compare(query.text, [memory.content for memory in memories]).tolist()
    return {memory.id: score for memory, score in zip(memories, scores, strict=True)}


def closest_topics(text: str, others: Sequence[str]) -> NDArray[np.float64]:
    """Return `closest` of the content words."""
    return closest(_topical(text), [_topical(other) for other in others])


def _topical(text: str) -> str:
    """Return the content words of a text. In a language without a stemmer, function words share as many 3-grams as words of the topic."""
    return " ".join(content_words(text))


SPACE = Space(
    name="character",
    family="words",
    summary="runs of letters",
    topic_weight=0.5,
    high=HIGH,
    low=LOW,
    measure=measure,
)
