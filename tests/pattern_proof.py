"""What holds for every match of a pattern, proved from the pattern. In: a parsed pattern and words. Out: where its matches hold a word.

All ways that a match may begin are walked at once. Of a way is known what certainly stands last, whether a word was among that, and how
many lines that are not blank lie before and behind the word. Assertions are passed over and a class of characters is taken for any of
them, so that more may seem possible than is, never less. Knows the parts of patterns that are met here; others raise.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_parse

FAR = 40
"""More lines than a match may span: counting ends here."""
_PASSED = {"AT", "ASSERT", "ASSERT_NOT"}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchState:
    """One way that a match may have begun.

    Attributes:
        tail: the last characters that are certain, in lower case.
        held: whether one of the words was met.
        before, after: lines with something on them before and behind the one with the word.
        begun: whether something that is no white space was met.
        broken: whether a newline may have been met since.
    """

    tail: str = ""
    held: bool = False
    before: int = 0
    after: int = 0
    begun: bool = False
    broken: bool = False


def ways_of(pattern: str, flags: int, words: Sequence[str]) -> frozenset[MatchState]:
    """All ways that a whole match of `pattern` may look, seen from the first of `words` in it."""
    if flags & re.DOTALL:
        raise ValueError("a dot that is a newline is not known here")
    return frozenset(_sequence(sre_parse.parse(pattern, flags), {MatchState()}, tuple(words)))


def _sequence(nodes: Any, ways: set[MatchState], words: tuple[str, ...]) -> set[MatchState]:
    for node in nodes:
        ways = _one(str(node[0]), node[1], ways, words)
    return ways


def _one(name: str, given: Any, ways: set[MatchState], words: tuple[str, ...]) -> set[MatchState]:
    if name in _PASSED:
        return ways
    if name == "LITERAL":
        char = chr(given).lower()
        if char.isspace():
            return {replace(way, tail=way.tail + char, broken=way.broken or char == "\n") for way in ways}
        return {_spoken(way, char, words) for way in ways}
    if name in ("ANY", "NOT_LITERAL", "IN", "GROUPREF"):
        newline, other = _holds(name, given)
        return _any_of(ways, words, newline=newline, other=other)
    if name == "SUBPATTERN":
        return _sequence(given[-1], ways, words)
    if name == "ATOMIC_GROUP":
        return _sequence(given, ways, words)
    if name == "BRANCH":
        return {way for branch in given[1] for way in _sequence(branch, ways, words)}
    if name in _REPEATS:
        low, high, body = given
        return _repeated(lambda some: _sequence(body, some, words), ways, low, int(high))
    raise ValueError(f"a part of a pattern that is not known here: {name}")


def _spoken(way: MatchState, char: str | None, words: tuple[str, ...]) -> MatchState:
    """`way` and one more character that is no white space; None = any."""
    if way.broken:
        if way.held:
            way = replace(way, after=min(way.after + 1, FAR))
        elif way.begun:
            way = replace(way, before=min(way.before + 1, FAR))
    way = replace(way, begun=True, broken=False)
    if way.held or char is None:
        return replace(way, tail="")
    tail = way.tail + char
    if tail.endswith(words):
        return replace(way, tail="", held=True)
    return replace(way, tail=tail[-max(map(len, words)) :])


def _any_of(
    ways: Iterable[MatchState], words: tuple[str, ...], *, newline: bool, other: bool
) -> set[MatchState]:
    after: set[MatchState] = set()
    for way in ways:
        after.add(replace(way, tail="", broken=way.broken or newline))
        if other:
            after.add(_spoken(way, None, words))
    return after


def _repeated(
    step: Callable[[set[MatchState]], set[MatchState]], ways: set[MatchState], low: int, high: int
) -> set[MatchState]:
    for _ in range(low):
        ways = step(ways)
    found, new = set(ways), ways
    for _ in range(high - low):
        new = step(new) - found
        if not new:
            break
        found |= new
    return found


def _holds(name: str, given: Any) -> tuple[bool, bool]:
    """Whether a class of characters holds the newline, and whether anything that is no white space."""
    if name in ("ANY", "GROUPREF"):  # what is referred to are quotes
        return False, True
    if name == "NOT_LITERAL":
        return given != ord("\n"), True
    negated = str(given[0][0]) == "NEGATE"
    parts = given[1:] if negated else given

    def held(char: str) -> bool:
        return negated != any(_is_in(str(kind), value, char) for kind, value in parts)

    return held("\n"), any(held(char) for char in map(chr, range(0x17F)) if not char.isspace())


def _is_in(kind: str, value: Any, char: str) -> bool:
    if kind == "LITERAL":
        return value == ord(char)
    if kind == "RANGE":
        return value[0] <= ord(char) <= value[1]
    called = str(value).removeprefix("CATEGORY_")
    inside = {"SPACE": char.isspace(), "DIGIT": char.isdigit(), "WORD": char.isalnum() or char == "_"}
    return not inside[called[4:]] if called.startswith("NOT_") else inside[called]
