"""The words that `marks.toml` names under `needs` stand in every match of their expression: proven from the expression, not by examples."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from re import _constants as code  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tacit.reading import marks

TABLES = tomllib.loads(Path(marks.__file__).with_name("marks.toml").read_text("utf-8"))
NEEDS = [
    (language, key, tuple(words.split("|")))
    for language, table in TABLES.items()
    for key, words in table.get("needs", {}).items()
]
MOST = 2000
"""More strings than these are not listed."""


def strings_of(part: Any, value: Any) -> set[str] | None:
    """Return all that a part of an expression matches; None = too much, or not known."""
    if part is code.LITERAL:
        return {chr(value).casefold()}
    if part is code.IN and len(value) <= 4 and all(one is code.LITERAL for one, _ in value):
        return {chr(letter).casefold() for _, letter in value}
    if part in (code.AT, code.ASSERT, code.ASSERT_NOT):
        return {""}
    if part is code.SUBPATTERN:
        return all_strings(value[3])
    if part is code.BRANCH:
        each = [all_strings(branch) for branch in value[1]]
        return None if None in each else {text for one in each for text in one or ()}
    if part in (code.MAX_REPEAT, code.MIN_REPEAT) and value[:2] == (0, 1):
        once = all_strings(value[2])
        return None if once is None else once | {""}
    return None


def all_strings(tree: Iterable[tuple[Any, Any]]) -> set[str] | None:
    """Return all that a sequence of parts matches; None = too much, or not known."""
    found = {""}
    for part, value in tree:
        further = strings_of(part, value)
        if further is None or len(found) * len(further) > MOST:
            return None
        found = {before + behind for before in found for behind in further}
    return found


def always_holds(tree: Iterable[tuple[Any, Any]], words: tuple[str, ...]) -> bool:
    """Whether every match of the sequence holds one of `words`; False also where it cannot be proven."""
    read = {""}
    for part, value in tree:
        further = strings_of(part, value)
        if further is not None and len(read) * len(further) <= MOST:
            read = {before + behind for before in read for behind in further}
        else:
            if each_has(read, words) or part_holds(part, value, words):
                return True
            read = further or {""}
        if each_has(read, words):
            return True
    return False


def part_holds(part: Any, value: Any, words: tuple[str, ...]) -> bool:
    """Whether every match of a part holds one of `words`."""
    if part is code.BRANCH:
        return all(always_holds(branch, words) for branch in value[1])
    if part is code.SUBPATTERN:
        return always_holds(value[3], words)
    repeated = part in (code.MAX_REPEAT, code.MIN_REPEAT) and value[0] >= 1
    return repeated and always_holds(value[2], words)


def each_has(texts: set[str], words: tuple[str, ...]) -> bool:
    """Whether each text has one of the words."""
    return all(any(word in text for word in words) for text in texts)


@pytest.mark.parametrize(("language", "key", "words"), NEEDS, ids=lambda value: str(value)[:20])
def test_every_match_holds_a_needed_word(language: str, key: str, words: tuple[str, ...]) -> None:
    source = marks._LanguagePatterns(language).source(key)
    assert always_holds(parser.parse(source, re.IGNORECASE | re.DOTALL), words)


def test_a_missing_word_is_noticed() -> None:
    (words,) = [words for language, key, words in NEEDS if (language, key) == ("en", "never")]
    tree = parser.parse(marks._LanguagePatterns("en").source("never"), re.IGNORECASE | re.DOTALL)
    assert not always_holds(tree, words[1:])


def test_a_pattern_without_its_words_is_not_compiled() -> None:
    table = marks._LanguagePatterns("en")
    assert table.find("never", "Run make lint before the commit.") is None
    assert not table.opens("dont", "Run make lint before the commit.")
    assert table.find("never", "NEVER push to main.") is not None
    assert table._patterns.keys() == {"never"}
