"""Scores of texts by the words that somebody searches for. In: a query, what the vocabulary knows. Out: scores. Pure.

A word counts once per text, by its inverse document frequency (ln(1 + N / (1 + df)), N documents, df of them with the word):
whole where its stem is there, less where a longer word begins with it, less again where a word is only spelled like it.
Longer texts score a little less. Words of function count only where the query holds no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tacit.text.spelling import LEAST_PREFIX, near_words
from tacit.text.stemming import content_words, porter_stem, words_of
from tacit.text.tokens import QUERY_CHARS

MOST_WORDS = 24
NEAR_WORDS = 4
BEGINNING, MISSPELLED = 0.8, 0.6
"""What a longer word, and a word spelled alike, count for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """A word of a query.

    Attributes:
        stem: as the index holds it.
        begins: whether longer words that begin with it count.
        near: stems that it may be a misspelling of.
        weight: its inverse document frequency.
    """

    stem: str
    begins: bool
    near: frozenset[str]
    weight: float


def parse_query_words(
    text: str,
    *,
    documents: int,
    frequency: Callable[[str, bool], int],
    vocabulary: Callable[[], Iterable[str]],
) -> tuple[QueryWord, ...]:
    """The words of a query.

    Args:
        text: what was typed.
        documents: how many there are.
        frequency: how many hold a stem; with True, a word that begins with it.
        vocabulary: all stems; asked for only where a word is in no document.
    """
    head = text[:QUERY_CHARS]
    words = content_words(head) or tuple(dict.fromkeys(words_of(head)))
    query_words: list[QueryWord] = []
    stems_known: tuple[str, ...] | None = None
    for word in words[:MOST_WORDS]:
        root = porter_stem(word)
        begins = root.isalpha() and len(root) >= LEAST_PREFIX
        document_count = frequency(root, begins)
        near: tuple[str, ...] = ()
        if not document_count:
            stems_known = tuple(vocabulary()) if stems_known is None else stems_known
            near = near_words(word, stems_known, limit=NEAR_WORDS)
            document_count = sum(frequency(stem, False) for stem in near)
        weight = math.log1p(documents / (1 + document_count))
        query_words.append(QueryWord(stem=root, begins=begins, near=frozenset(near), weight=weight))
    return tuple(query_words)


def word_score(content: str, query_words: Sequence[QueryWord]) -> float:
    """Score how well `content` holds the words; 0 = it holds none."""
    stems = stems_of(content)
    total = 0.0
    for word in query_words:
        if word.stem in stems:
            total += word.weight
        elif word.begins and any(stem.startswith(word.stem) for stem in stems):
            total += BEGINNING * word.weight
        elif word.near & stems:
            total += MISSPELLED * word.weight
    return total / (1 + math.log1p(len(stems)) / 10)


@lru_cache(maxsize=8192)
def stems_of(content: str) -> frozenset[str]:
    """The stems of all words of a text."""
    return frozenset(porter_stem(word) for word in words_of(content))
