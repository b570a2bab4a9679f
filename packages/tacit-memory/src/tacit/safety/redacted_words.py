"""The words that redaction removed from a text, and a check whether derived text still holds them.

In: a text before and after redaction; terms, signatures or sentences read from the raw one. Out: those without what was
taken out. A piece of a secret has no shape of its own, so it is known by the words that redaction removed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tacit.safety.secret_shapes import entropy
from tacit.text.tokens import WORD

SHORTEST = 4
"""Pieces with fewer characters are ignored, because they reveal nothing of a secret."""
_MARKED = re.compile(r"[\d@]")
_OPAQUE_CHARS = 16


@dataclass(frozen=True, slots=True)
class RedactedWords:
    """Finds in texts what redaction removed from others, or a part of it, and takes it out; false = nothing was removed.

    Attributes:
        chunks: removed runs of at least four letters and digits, in lower case.
        runs: letters and digits of each removed word that holds a digit or an `@`, joined.
    """

    chunks: frozenset[str] = frozenset()
    runs: tuple[str, ...] = ()

    def __or__(self, other: RedactedWords) -> RedactedWords:
        return RedactedWords(self.chunks | other.chunks, tuple(dict.fromkeys((*self.runs, *other.runs))))

    def __bool__(self) -> bool:
        return bool(self.chunks or self.runs)

    def held_by(self, text: str) -> bool:
        """Whether `text` contains a part of what was removed."""
        if not self:
            return False
        chunks = [chunk for chunk in WORD.findall(text.lower()) if len(chunk) >= SHORTEST]
        for chunk in chunks:
            if chunk in self.chunks or any(chunk in lost or lost in chunk for lost in self.chunks):
                return True
        joined = "".join(WORD.findall(text.lower()))
        return len(joined) >= SHORTEST + 2 and any(joined in run or run in joined for run in self.runs)

    def without(self, text: str) -> str:
        """Return `text` without the words that contain a part of what was removed."""
        if not self or not self.held_by(text):
            return text
        return " ".join(word for word in text.split() if not self.held_by(word))

    def clean(self, terms: Iterable[str]) -> tuple[str, ...]:
        """Return `terms` without those that contain a part of what was removed."""
        return tuple(term for term in terms if not self.held_by(term))


NOTHING_REDACTED = RedactedWords()


def find_redacted_words(raw: str, cleaned: str) -> RedactedWords:
    """Return the parts of `raw` that are not in `cleaned`, its redacted form."""
    if raw == cleaned:
        return NOTHING_REDACTED
    before, after = raw.lower(), cleaned.lower()
    remaining = set(WORD.findall(after))
    chunks = frozenset(
        chunk for chunk in WORD.findall(before) if len(chunk) >= SHORTEST and chunk not in remaining
    )
    words = set(after.split())
    # A run of short pieces (`a1-b2-c3`) is told apart from words by its digits; an address by its sign.
    marked = (
        "".join(WORD.findall(word)) for word in before.split() if word not in words and _MARKED.search(word)
    )
    marked = tuple(dict.fromkeys(run for run in marked if len(run) >= SHORTEST + 2))
    return RedactedWords(chunks, marked)


def is_opaque(term: str) -> bool:
    """Whether a term is a long run of mixed letters and digits, and no word, path or name."""
    return any(
        len(chunk) >= _OPAQUE_CHARS
        and any(ch.isdigit() for ch in chunk)
        and any(ch.isalpha() for ch in chunk)
        and entropy(chunk) > 3.3
        for chunk in WORD.findall(term)
    )
