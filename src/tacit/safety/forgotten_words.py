"""Words that are to be gone from everything that quotes them. In: statements. Out: other texts without them.

A statement is known by its run of words, whatever stands between them (quotes, line breaks, marks of a list, escapes of JSON) and
in whatever case; cut short it is known by its first `HEAD` words. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

PURGED = "[purged]"
"""Stands where the words stood."""
HEAD = 8
"""So many words of a longer statement are told from chance."""
FEWEST = 2
LONG_WORD = 8
"""A statement of one word is looked for if it has so many characters."""
KEPT_TEXTS = 4096
_WORD = re.compile(r"\\[nrtbf](?=\w)|(\w+)")
_BOUND = re.compile(r'"\s*[:,]\s*["\[{]')
_GAP = 12
_CUT = ("...", "…")
_Token = tuple[int, int, str]


class ForgottenWords:
    """The words of some statements. Safe to use from several threads."""

    def __init__(self, statements: Iterable[str]) -> None:
        """Look for the words of `statements`; what is too short to be told from chance is passed over."""
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        known = {tuple(word for _, _, word in _tokens(text)) for text in statements}
        for words in sorted(known, key=lambda one: (-len(one), one)):
            if len(words) >= FEWEST or (words and len(words[0]) >= LONG_WORD):
                self._by_first.setdefault(words[0], []).append(words)
        rare = [max(words[:HEAD], key=len) for found in self._by_first.values() for words in found]
        self._rare = tuple(dict.fromkeys(rare))
        self.without = lru_cache(maxsize=KEPT_TEXTS)(self._without)

    def held_by(self, text: str) -> bool:
        """Whether `text` holds one of the statements."""
        return self.without(text) != text

    def _without(self, text: str) -> str:
        folded = text.casefold()
        if not any(word in folded for word in self._rare):
            return text
        tokens = _tokens(text)
        parts: list[str] = []
        end = at = 0
        while at < len(tokens):
            run = max(
                (_run(text, tokens, at, words) for words in self._by_first.get(tokens[at][2], ())), default=0
            )
            if run:
                parts += [text[end : tokens[at][0]], PURGED]
                end = tokens[at + run - 1][1]
            at += run or 1
        return "".join((*parts, text[end:])) if parts else text


def _tokens(text: str) -> list[_Token]:
    return [(m.start(1), m.end(1), m[1].casefold()) for m in _WORD.finditer(text) if m[1]]


def _run(text: str, tokens: Sequence[_Token], at: int, words: Sequence[str]) -> int:
    """How many tokens from `at` on are `words`, whole or cut short; 0 = they are not."""
    count = 0
    while count < len(words) and at + count < len(tokens) and tokens[at + count][2] == words[count]:
        if count and not _together(text[tokens[at + count - 1][1] : tokens[at + count][0]]):
            break
        count += 1
    if count == len(words):
        return count
    if count < HEAD:
        return 0
    if at + count < len(tokens):  # the word at which the statement was cut
        _, end, half = tokens[at + count]
        if words[count].startswith(half) and (text.startswith(_CUT, end) or end == len(text)):
            return count + 1
    return count


def _together(between: str) -> bool:
    return len(between) <= _GAP and not _BOUND.search(between)
