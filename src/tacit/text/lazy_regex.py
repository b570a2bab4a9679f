"""Regular expressions that are compiled when they are first used, and tried only where they can match. In: a pattern. Out: matches.

Compiling what a program may need takes longer than its first answer may: of some hundred patterns an answer uses a few.
Whoever serves others compiles the rest when that answer is out (`compile_all`), so that no later one waits for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
_KEPT = (*_METHODS, "flags", "groups", "groupindex")
_waiting: list[_LazyRegex] = []


class _LazyRegex:
    """A pattern that turns into the compiled one: its methods become attributes here, and cost what they cost there."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _waiting.append(self)

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        for attribute in _KEPT:
            self.__dict__[attribute] = getattr(compiled, attribute)
        return getattr(compiled, name)


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile(pattern, flags)`, done at the first use; a wrong pattern raises `re.error` there.

    For the methods of a pattern; the functions of `re` take no such one.
    """
    return cast("re.Pattern[str]", _LazyRegex(pattern, flags))


_RUN = re.compile("[a-z]+")
_SAME_LETTER = str.maketrans("\u017f\u212a\u0130\u0131", "skii")
"""Letters that a pattern takes for these when it ignores case."""
_LONGEST_TESTED = 1000
"""Longer texts hold some of the words nearly always."""


class KeywordRegex:
    """A pattern every match of which holds one of some words: a text without them is not searched.

    Most statements hold none of them, and a long list of alternatives is slow to try at every character.
    """

    __slots__ = ("_parts", "_words", "pattern")

    def __init__(self, pattern: re.Pattern[str], words: frozenset[str], parts: tuple[str, ...]) -> None:
        self.pattern = pattern
        self._words = words
        self._parts = parts

    def may_match(self, text: str) -> bool:
        """Whether `text` holds one of the words; a long one is taken to."""
        if len(text) > _LONGEST_TESTED:
            return True
        lower, text_words = _lowered_with_words(text)
        return not text_words.isdisjoint(self._words) or any(part in lower for part in self._parts)

    def search(self, text: str) -> re.Match[str] | None:
        """As of a compiled pattern."""
        return self.pattern.search(text) if self.may_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As of a compiled pattern."""
        return self.pattern.finditer(text) if self.may_match(text) else iter(())

    def sub(self, by: str, text: str) -> str:
        """As of a compiled pattern."""
        return self.pattern.sub(by, text) if self.may_match(text) else text


@lru_cache(maxsize=16)
def _lowered_with_words(text: str) -> tuple[str, frozenset[str]]:
    """A text in lower case, and its runs of ASCII letters: several patterns look at one text in turn."""
    lower = (text if text.isascii() else text.translate(_SAME_LETTER)).lower()
    return lower, frozenset(_RUN.findall(lower))


def keyword_regex(pattern: str, words: str, *, parts: tuple[str, ...] = ()) -> KeywordRegex:
    """`lazy_regex` that ignores case and is tried only where one of `words` or `parts` stands.

    Args:
        pattern: every match of it holds one of `words`, with no ASCII letter beside it, or one of `parts`.
        words: runs of lower-case ASCII letters, between spaces: "don't" holds "don".
        parts: lower-case texts that may stand within a word.
    """
    return KeywordRegex(lazy_regex(pattern, re.IGNORECASE), frozenset(words.split()), parts)


def compile_all() -> int:
    """Compile what nobody has used yet; returns how many there were. Safe while others use them."""
    count = 0
    while _waiting:
        lazy = _waiting.pop()
        if "search" not in vars(lazy):
            _ = lazy.search
            count += 1
    return count
