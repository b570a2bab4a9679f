"""Words that are to be gone from everything that quotes them. In: statements. Out: other texts without them.

A statement is known by its run of words, whatever stands between them (quotes, line breaks with any indent, marks of a list, escapes of
JSON) and in whatever case; cut short, with a mark of that or the end of the text behind it, it is known by its first `HEAD` words. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tacit.model.memory import Memory
from tacit.text.tokens import CODE_WORD

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
_CUT = re.compile(r"""\W{0,4}?(?:\.{3}|…)|\W*\Z|\\?["'`]""")
"""What stands behind a text that was cut: a mark of that, or its end."""
FEWEST_QUOTED = 5
"""Words that a source must have to be looked for elsewhere: that of a command is the bare command, which others say, too."""
_Token = tuple[int, int, str]
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """Statements that begin with the same words, in order, and how many words they have, the most first."""

    statements: tuple[_Words, ...]
    lengths: tuple[int, ...]


def _alike(statements: Sequence[_Words]) -> _Alike:
    lengths = sorted({len(statement) for statement in statements}, reverse=True)
    return _Alike(statements=tuple(statements), lengths=tuple(lengths))


def words_to_forget(versions: Iterable[Memory]) -> list[str]:
    """Return the words of these versions of memories, and of their sources if these are distinctive."""
    texts: dict[str, None] = {}
    for memory in versions:
        quoted = (memory.provenance.span, *memory.evidence)
        sources = [text for text in quoted if len(CODE_WORD.findall(text)) >= FEWEST_QUOTED]
        texts |= dict.fromkeys((memory.content, *sources))
    return list(texts)


class ForgottenWords:
    """The words of some statements. Safe to use from several threads.

    Statements are found by their first `HEAD` words and stand in order, so that the cost of a text does not grow with their number.
    """

    def __init__(self, statements: Iterable[str]) -> None:
        """Look for the words of `statements`; what is too short to be told from chance is passed over."""
        self._short: set[_Words] = set()
        self._long: dict[_Words, _Alike] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}
        all_words = {tuple(word for _, _, word in _tokens(text)) for text in statements}
        distinctive = [
            words for words in all_words if len(words) >= FEWEST or (words and len(words[0]) >= LONG_WORD)
        ]
        lengths: dict[str, set[int]] = {}
        long: dict[_Words, list[_Words]] = {}
        for words in sorted(distinctive):
            if len(words) > HEAD:
                long.setdefault(words[:HEAD], []).append(words)
            else:
                self._short.add(words)
            lengths.setdefault(words[0], set()).add(min(len(words), HEAD))
        self._long = {head: _alike(alike) for head, alike in long.items()}
        # The most words first: what is found first is the longest.
        self._lengths = {first: tuple(sorted(counts, reverse=True)) for first, counts in lengths.items()}
        self._rare = frozenset(max(words[:HEAD], key=len) for words in distinctive)
        self.without = lru_cache(maxsize=KEPT_TEXTS)(self._without)

    def held_by(self, text: str) -> bool:
        """Whether `text` holds one of the statements."""
        return self.without(text) != text

    def _without(self, text: str) -> str:
        if self._rare.isdisjoint(map(str.casefold, _WORD.findall(text))):
            return text
        tokens = _tokens(text)
        words = tuple(word for _, _, word in tokens)
        pieces: list[str] = []
        end = at = 0
        while at < len(tokens):
            lengths = self._lengths.get(words[at])
            run = self._run(text, tokens, words, at, lengths) if lengths else 0
            if run:
                pieces += [text[end : tokens[at][0]], PURGED]
                end = tokens[at + run - 1][1]
            at += run or 1
        return "".join((*pieces, text[end:])) if pieces else text

    def _run(
        self, text: str, tokens: Sequence[_Token], words: _Words, at: int, lengths: Sequence[int]
    ) -> int:
        """Count the tokens from `at` on that are a statement's words, whole or cut short; 0 = none are. Of several statements the longest counts."""
        for length in lengths:
            head = words[at : at + length]
            longer, whole = self._long.get(head), head in self._short
            if (longer or whole) and _joined(text, tokens, at, length) == length:
                run = _longest(text, tokens, words, at, longer) if longer else 0
                if run or whole:
                    return run or length
        return 0


def _tokens(text: str) -> list[_Token]:
    return [(m.start(1), m.end(1), m[1].casefold()) for m in _WORD.finditer(text) if m[1]]


def _joined(text: str, tokens: Sequence[_Token], at: int, most: int) -> int:
    """Count the tokens from `at` on that stand together, `most` at most."""
    count = 1
    while (
        count < most
        and at + count < len(tokens)
        and _together(text[tokens[at + count - 1][1] : tokens[at + count][0]])
    ):
        count += 1
    return count


def _longest(text: str, tokens: Sequence[_Token], words: _Words, at: int, alike: _Alike) -> int:
    """Count the tokens from `at` on that are a statement's words; a part of them where the text was cut there, else 0."""
    run = words[at : at + _joined(text, tokens, at, alike.lengths[0])]
    place = bisect_left(alike.statements, run)
    # Of statements in order the next one on either side shares the most.
    count = max(_shared(statement, run) for statement in alike.statements[max(0, place - 1) : place + 1])
    if at + count < len(tokens):  # the word at which the statement was cut
        _, end, half = tokens[at + count]
        if _is_cut(text, end) and _holds(alike.statements, (*run[:count], half), begun=True):
            return count + 1
    if _is_cut(text, tokens[at + count - 1][1]):
        return count
    return next((n for n in alike.lengths if n <= count and _holds(alike.statements, run[:n])), 0)


def _holds(statements: Sequence[_Words], words: _Words, *, begun: bool = False) -> bool:
    """Whether one of `statements` is `words`; with `begun` whether it begins with them, of the last one with its beginning."""
    place = bisect_left(statements, words)
    if place == len(statements):
        return False
    return _begins(statements[place], words) if begun else statements[place] == words


def _is_cut(text: str, end: int) -> bool:
    return bool(_CUT.match(text, end))


def _shared(first: _Words, second: _Words) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b),
        min(len(first), len(second)),
    )


def _begins(statement: _Words, cut: _Words) -> bool:
    count = len(cut) - 1
    return (
        len(statement) > count
        and statement[:count] == cut[:count]
        and statement[count].startswith(cut[count])
    )


def _together(between: str) -> bool:
    return (len(between) <= _GAP or len("".join(between.split())) <= _GAP) and not _BOUND.search(between)
