"""Decides whether two statements are the same, or one says the other and more. In: two texts. Out: yes or no.

"The same" means equal text, apart from the Unicode form, blanks, punctuation at the end, the case of the first letter, and whether a
condition, time or place stands before the English statement or behind it. Signs, operators, units, paths, flags, emoji, negations and the
case of every other letter count, in every language. Similarity never decides identity.
"""

from __future__ import annotations

import re

from tacit.model.ids import canonical_text

__all__ = ["canonical_text", "same_statement", "says_with_more"]

_SENTENCE_END = re.compile(r"(?<=[.!?\u2026;])\s+|\n+")
"""Ends of sentences, also before lower case: people type without capitals, and a piece too many only makes a match stricter."""

_PLAIN = r"(?:[^,;:.!?()]|[.!?:](?=\S))"
_FRONTED = re.compile(
    rf"(?P<front>(?:before|after|when|whenever|if|unless|until|while|once|during|in|on|at|within)\s{_PLAIN}+),\s(?!.*\bonly\b)(?P<main>{_PLAIN}+)"
)
"""A condition, a time or a place, and the one main clause behind it; "only" would point at something else at the end."""


def same_statement(left: str, right: str) -> bool:
    """Tell whether two statements are the same: whether their canonical texts are equal, with what opens one behind it."""
    one, other = canonical_text(left), canonical_text(right)
    return one == other or (
        len(one) + 1 >= len(other) >= len(one) - 1 and _told_last(one) == _told_last(other)
    )


def _told_last(text: str) -> str:
    """Return the canonical text with its condition, time or place at the end: "before a commit, run make" = "run make before a commit"."""
    fronted = _FRONTED.fullmatch(text)
    return f"{fronted['main']} {fronted['front']}" if fronted else text


def says_with_more(longer: str, shorter: str) -> bool:
    """Tell whether `longer` holds all of `shorter` as whole sentences, one after the other, and says more."""
    whole, part = (
        [canonical_text(sentence) for sentence in _SENTENCE_END.split(text.strip())]
        for text in (longer, shorter)
    )
    starts = range(len(whole) - len(part) + 1)
    return len(part) < len(whole) and any(whole[start : start + len(part)] == part for start in starts)
