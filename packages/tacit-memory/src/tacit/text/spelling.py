"""Words as people type them into a search box: with other endings, unfinished, misspelled.

In: words and texts. Out: whether they match, and which words of a vocabulary are spelled nearly alike. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tacit.text.stemming import content_words, porter_stem, words_of

LEAST_CHARS = 4
"""Shorter words must match exactly, because too many others differ from them in one letter."""
LONG_CHARS = 8
"""From this length on two edits are allowed."""
LEAST_PREFIX = 3
"""So many letters may stand for the beginning of a longer word."""
ENDING_CHARS = 3
"""A misspelled ending is no longer."""


def edits(left: str, right: str, *, most: int) -> int:
    """Edits from one word to the other, `most` + 1 where there are more.

    Letters put in, left out, exchanged for another, or two neighbors swapped (optimal string alignment; Damerau, 1964).
    """
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        following = [i]
        for j, b in enumerate(right, start=1):
            cost = min(row[j] + 1, following[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            following.append(cost)
        if min(following) > most:
            return most + 1
        before, row = row, following
    return min(row[-1], most + 1)


def allowed_edits(word: str) -> int:
    """Return the number of edits that are allowed in a word."""
    return 0 if len(word) < LEAST_CHARS else 1 if len(word) < LONG_CHARS else 2


def near_words(word: str, vocabulary: Iterable[str], *, limit: int) -> tuple[str, ...]:
    """The stems of `vocabulary` that `word` may be a misspelling of: fewest edits first, then by the alphabet.

    A word that is misspelled at its end has no stem of its own: it is compared without its last letters, too.
    """
    most = allowed_edits(word)
    if not most:
        return ()
    forms = [
        word[: len(word) - cut] for cut in range(ENDING_CHARS + 1) if len(word) - cut > LEAST_CHARS or not cut
    ]
    letters = set(word)
    shortest = min(map(len, forms)) - most
    matches: list[tuple[int, int, str]] = []
    for stem in vocabulary:
        if not shortest <= len(stem) <= len(word) + most or len(set(stem) - letters) > most:
            continue
        best = min((edits(form, stem, most=most), cut) for cut, form in enumerate(forms))
        if best[0] <= most and stem != word:
            matches.append((*best, stem))
    return tuple(stem for _, _, stem in sorted(matches)[:limit])


def holds_words(text: str, query: str) -> bool:
    """Whether `text` holds every content word of `query`, in any order: inflected, longer, or misspelled."""
    text_stems = _stems(text)
    return all(_holds(text_stems, word) for word in content_words(query))


def _holds(text_stems: frozenset[str], word: str) -> bool:
    query_stem = porter_stem(word)
    if query_stem in text_stems:
        return True
    if not query_stem.isalpha() or len(query_stem) < LEAST_PREFIX:
        return False
    return any(stem.startswith(query_stem) for stem in text_stems) or bool(
        near_words(word, text_stems, limit=1)
    )


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(porter_stem(word) for word in words_of(text))
