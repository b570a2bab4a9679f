"""Decides whether two statements are the same, or one says the other and more. In: two texts. Out: yes or no.

"The same" means equal text, apart from the Unicode form, blanks, punctuation at the end, and the case of the first letter. Signs, operators,
units, paths, flags, emoji, negations and the case of every other letter count, in every language. Similarity never decides identity.

Also how much two statements share, as a number. That proposes pairs to look at and never decides that two are one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

from tacit.model.ids import canonical_text
from tacit.text.tokens import CODE_WORD

__all__ = ["NEAR_WORDS", "canonical_text", "near_groups", "same_statement", "says_with_more", "word_overlap"]

_SENTENCE_END = re.compile(r"(?<=[.!?\u2026;])\s+|\n+")
"""Ends of sentences, also before lower case: people type without capitals, and a piece too many only makes a match stricter."""


def same_statement(left: str, right: str) -> bool:
    """Tell whether two statements are the same: whether their canonical texts are equal."""
    return canonical_text(left) == canonical_text(right)


def says_with_more(longer: str, shorter: str) -> bool:
    """Tell whether `longer` holds all of `shorter` as whole sentences, one after the other, and says more."""
    whole, part = (
        [canonical_text(sentence) for sentence in _SENTENCE_END.split(text.strip())]
        for text in (longer, shorter)
    )
    starts = range(len(whole) - len(part) + 1)
    return len(part) < len(whole) and any(whole[start : start + len(part)] == part for start in starts)


NEAR_WORDS = 0.6
"""Least `word_overlap` of two near statements."""
_FEW_WORDS = 3
"""A non-ASCII text of at most so many words may be in a language without blanks: its pairs of characters count as words."""


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    words = CODE_WORD.findall(text.casefold())
    if len(words) <= _FEW_WORDS and not text.isascii():
        joined = "".join(words)
        return frozenset(joined[at : at + 2] for at in range(len(joined) - 1)) or frozenset(words)
    return frozenset(words)


def word_overlap(left: str, right: str) -> float:
    """Return the Jaccard overlap of the words of two texts, 0 to 1; 0 for two texts without words."""
    mine, theirs = _words(left), _words(right)
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 0.0


@lru_cache(maxsize=32)
def near_groups(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return for each text the index of the first text of its group; a text joins the first group that holds a near one.

    Prefix filter (Chaudhuri, Ganti and Kaushik, ICDE 2006): sort the words of each text rarest first; two texts whose overlap is at
    least t share a word among the first n - ceil(t * n) + 1 of each. So most pairs are never compared.
    """
    frequency = Counter(word for text in texts for word in _words(text))
    by_word: dict[str, list[int]] = {}
    groups: list[int] = []
    for number, text in enumerate(texts):
        words = sorted(_words(text), key=lambda word: (frequency[word], word))
        prefix = words[: len(words) - math.ceil(NEAR_WORDS * len(words)) + 1]
        likely = {other for word in prefix for other in by_word.get(word, ())}
        near = (groups[other] for other in likely if word_overlap(text, texts[other]) >= NEAR_WORDS)
        groups.append(min(near, default=number))
        for word in prefix:
            by_word.setdefault(word, []).append(number)
    return tuple(groups)
