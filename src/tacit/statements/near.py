"""How much two statements share. In: two texts. Out: a number. It proposes pairs to look at and never decides that two are one."""

from __future__ import annotations

from functools import lru_cache

from tacit.text.tokens import CODE_WORD

NEAR_WORDS = 0.6
"""From this share of common words on, two statements are near."""
_FEW_WORDS = 3
"""A text of so few runs of letters may be of a language without blanks: its pairs of characters are counted."""


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    words = CODE_WORD.findall(text.casefold())
    if len(words) <= _FEW_WORDS and not text.isascii():
        joined = "".join(words)
        return frozenset(joined[at : at + 2] for at in range(len(joined) - 1)) or frozenset(words)
    return frozenset(words)


def word_overlap(left: str, right: str) -> float:
    """Jaccard overlap of the words of two texts, 0 to 1; two texts without words share nothing."""
    mine, theirs = _words(left), _words(right)
    return len(mine & theirs) / len(mine | theirs) if mine or theirs else 0.0
