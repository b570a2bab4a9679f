"""Words that are to be gone from everything that quotes them. In: statements. Out: other texts without them.

A statement is known by its run of words, whatever stands between them (quotes, line breaks with any indent, marks of a list, escapes of
JSON) and in whatever case; cut short, with a mark of that or the end of the text behind it, it is known by its first `HEAD` words. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tacit.frozen import frozen
from tacit.model.memory import Memory
from tacit.text.tokens import CODE_WORD

PURGED = "[purged]"
"""Replaces the words of a purged statement."""
HEAD = 8
"""A statement with more words is recognized by its first `HEAD` words."""
FEWEST = 2
LONG_WORD = 8
"""A statement of a single word is searched for only if it has at least this many characters."""
KEPT_TEXTS = 4096
_WORD = re.compile(r"\\[nrtbf](?=\w)|(\w+)")
_BOUND = re.compile(r'"\s*[:,]\s*["\[{]')
_GAP = 12
_CUT = re.compile(r"""\W{0,4}?(?:\.{3}|…)|\W*\Z|\\?["'`]""")
"""Matches what follows a text that was cut off: an ellipsis, a quotation mark, or the end."""
FEWEST_QUOTED = 5
"""The quoted source of a memory is searched for only if it has at least this many words. A shorter one, such as a bare command, occurs elsewhere by chance."""
_Token = tuple[int, int, str]
_Words = tuple[str, ...]


@frozen
class _Alike:
    """Statements with the same first `HEAD` words, sorted, and their numbers of words, greatest first."""

    statements: tuple[_Words, ...]
    lengths: tuple[int, ...]


def _alike(statements: Sequence[_Words]) -> _Alike:
    lengths = sorted({len(statement) for statement in statements}, reverse=True)
    return _Alike(statements=tuple(statements), lengths=tuple(lengths))


def words_to_forget(versions: Iterable[Memory]) -> list[str]:
    """Return the texts to search for after a purge: the words of these versions of memories, and their sources if distinctive."""
    texts: dict[str, None] = {}
    for memory in versions:
        quoted = (memory.provenance.span, *memory.evidence)
        sources = [text for text in quoted if len(CODE_WORD.findall(text)) >= FEWEST_QUOTED]
        texts |= dict.fromkeys((memory.content, *sources))
    return list(texts)


class ForgottenWords:
    """Finds the words of purged statements in texts, and removes them. Safe to use from several threads.

    Statements are found by their first `HEAD` words and stand in order, so that the cost of a text does not grow with their number.
    """

    def __init__(self, statements: Iterable[str]) -> None:
        """Search for the words of `statements`. Statements too short to be distinctive are ignored."""
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
        """Whether `text` contains one of the statements, whole or cut off."""
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
        """Return how many tokens from `at` on are the words of a statement, whole or cut off; 0 = none. If several statements match, the longest counts."""
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
    """Return how many tokens from `at` on follow each other without a large gap, at most `most`."""
    count = 1
    while (
        count < most
        and at + count < len(tokens)
        and _together(text[tokens[at + count - 1][1] : tokens[at + count][0]])
    ):
        count += 1
    return count


def _longest(text: str, tokens: Sequence[_Token], words: _Words, at: int, alike: _Alike) -> int:
    """Return how many tokens from `at` on are the words of one of the statements `alike`. A part of a statement counts only if the text was cut there; 0 = none."""
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
    """Whether `words` is one of the sorted `statements`. With `begun`, whether a statement begins with `words`, the last of which may be incomplete."""
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
