"""Stems of a text, for the spaces that compare words themselves. In: text. Out: Porter stems of its content words.

Source: Porter, An algorithm for suffix stripping, 1980, as the `snowballstemmer` package has it; the text index of the
store stems the same way. Words of function (articles, pronouns, auxiliaries) are left out.
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import Protocol, cast

import snowballstemmer

_WORD = re.compile(r"[^\W_]+")
_FUNCTION_TEXT = """
a about after all also am an and any are as at be because been before being but by can could did do does doing done down each few for from
further get got had has have having he her here him his how i if in into is it its just let like make me more most my no nor not now of off
on once only or other our out over own please same she should so some such than that the their them then there these they this those through
to too under until up us very want was we were what when where which while who why will with would yes you your s t re d ll m
"""
_FUNCTION = frozenset(_FUNCTION_TEXT.split())
MAX_CHARS = 2000
"""So much of a text is read: the head says what it is about."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


_STEMMER = cast(_Stemmer, snowballstemmer.stemmer("porter"))  # pyright: ignore[reportUnknownMemberType]
_LOCK = threading.Lock()


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    with _LOCK:  # the library keeps the word at hand in the stemmer itself
        return _STEMMER.stemWord(word)


@lru_cache(maxsize=8192)
def stem_list(text: str) -> tuple[str, ...]:
    """Stems of the content words of `text` (first 2000 characters), in order, with repeats."""
    return tuple(_stem(word) for word in _WORD.findall(text[:MAX_CHARS].casefold()) if word not in _FUNCTION)


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """The set of `stem_list`."""
    return frozenset(stem_list(text))


def content_words(text: str) -> tuple[str, ...]:
    """Content words of `text` (first 2000 characters), one for each stem, in order."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text[:MAX_CHARS].casefold()):
        if word not in _FUNCTION:
            found.setdefault(_stem(word), word)
    return tuple(found.values())
