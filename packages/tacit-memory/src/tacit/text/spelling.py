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
"""Least letters of a query word that match as the beginning of a longer word."""
ENDING_CHARS = 3
"""Most letters that are cut from the end of a misspelled word to compare it with stems."""


def edit_distance(left: str, right: str, *, most: int) -> int:
    """Return the edit distance of two words, or `most` + 1 if it is above `most`.

    An edit inserts, deletes or replaces a letter, or swaps two neighbors (optimal string alignment; Damerau, 1964).
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
    """Return the greatest edit distance of a misspelling of `word`, by the length of `word`: 0, 1 or 2."""
    return 0 if len(word) < LEAST_CHARS else 1 if len(word) < LONG_CHARS else 2


def near_words(word: str, vocabulary: Iterable[str], *, limit: int) -> tuple[str, ...]:
    """Return up to `limit` stems of `vocabulary` that `word` may be a misspelling of: fewest edits first, then by the alphabet; not `word` itself.

    The word is also compared without its last letters, because a misspelled ending is not stemmed away.
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
        best = min((edit_distance(form, stem, most=most), cut) for cut, form in enumerate(forms))
        if best[0] <= most and stem != word:
            matches.append((*best, stem))
    return tuple(stem for _, _, stem in sorted(matches)[:limit])


def holds_words(text: str, query: str) -> bool:
    """Whether `text` contains every content word of `query`, in any order; also in another form, as the beginning of a longer word, or misspelled."""
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
