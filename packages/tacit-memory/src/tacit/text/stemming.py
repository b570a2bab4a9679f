"""Stems of words. In: words or texts. Out: stems. Pure.

`porter_stem` is the stemmer: of searches and of whatever compares words of any text. Source: Porter, An algorithm for suffix stripping,
1980, in Snowball's wording (porter.sbl), by PyStemmer; the text index of the store stems the same way.

The others are lighter and stay for a reason each: `light_stem` because the fitted weights and phrase tables belong to its stems,
`statement_stem` and `wording_stem` because they keep the past tense.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from functools import lru_cache
from typing import Any

import Stemmer  # pyright: ignore[reportMissingImports, reportMissingTypeStubs] - it has no types

from tacit.text.natural_language import function_words_of
from tacit.text.stop_words import CONTRACTION_ENDS, FUNCTION_WORDS
from tacit.text.tokens import WORD, is_grammar, segmented

_LEFT_OUT = FUNCTION_WORDS | CONTRACTION_ENDS
MAX_CHARS = 2000
"""Characters at the beginning of a text that are read; they say what it is about."""

_PORTER: Any = Stemmer.Stemmer("porter")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
_LOCK = threading.Lock()


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case, in order; text in a script without blanks is `segmented` into bigrams."""
    return WORD.findall(segmented(text).casefold())


@lru_cache(maxsize=8192)
def stem_list(text: str) -> tuple[str, ...]:
    """Return the Porter stems of the content words of `text` (its first 2000 characters), in order, with repeats."""
    text = text[:MAX_CHARS]
    left_out = function_words_of(text)
    words = words_of(text)
    if left_out:
        words = [word for word in words if word not in left_out]
    return tuple(filter(None, map(_stem_or_nothing, words)))


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """Return the set of the stems of the content words of `text`; see `stem_list`."""
    return frozenset(stem_list(text))


def content_words(text: str) -> tuple[str, ...]:
    """Return the content words of `text` (its first 2000 characters) in order: for each stem the first word that has it."""
    word_of: dict[str, str] = {}
    text = text[:MAX_CHARS]
    left_out = _LEFT_OUT | function_words_of(text)
    for word in words_of(text):
        if word not in left_out and not is_grammar(word):
            word_of.setdefault(_stem_or_nothing(word), word)
    return tuple(word_of.values())


LEADING_CHARS = 5
"""Source: McNamee, Nicholas and Mayfield, Addressing morphological variation in alphabetic languages, SIGIR 2009."""


def leading_letters(text: str) -> tuple[str, ...]:
    """Return the first five letters of each content word of `text`, for languages without a stemmer; without repeats, in order."""
    return tuple(dict.fromkeys(word[:LEADING_CHARS] for word in content_words(text)))


@lru_cache(maxsize=8192)
def _stem_or_nothing(word: str) -> str:
    return "" if word in _LEFT_OUT or is_grammar(word) else porter_stem(word)


def porter_stem(word: str) -> str:
    """Return the Porter stem of a lower-case word; the word itself if it contains a lone surrogate. Thread-safe."""
    with _LOCK, suppress(UnicodeEncodeError):  # it keeps the word at hand in the stemmer itself
        return _PORTER.stemWord(word)
    return word


_IRREGULAR = {
    "wrote": "write", "written": "write", "ran": "run", "broke": "broken", "built": "build", "made": "make", "done": "done", "went": "go",
    "was": "was", "does": "does", "this": "this", "has": "has", "is": "is", "tests": "test", "fails": "fail", "failed": "fail", "failing": "fail",
    "failure": "fail", "failures": "fail", "analysis": "analyz", "docs": "doc", "found": "find", "chose": "choose", "began": "begin",
    "fixes": "fix", "fixing": "fix", "fixed": "fix",
}  # fmt: skip


@lru_cache(maxsize=8192)
def light_stem(word: str) -> str:
    """Return a light English stem of a lower-case word: without plural, -ing, -ed and final -e; some irregular forms get a common stem.

    For looking words up. The phrase tables, the trigger model, the match of triggers and the need model belong to these stems.
    """
    word = word.replace("’", "'")
    irregular = _IRREGULAR.get(word)
    if irregular is not None:
        return irregular.removesuffix("e") if len(irregular) > 4 else irregular
    if len(word) <= 3 or "'" in word:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        stripped = word.removesuffix(ending)
        if stripped != word and len(stripped) >= 3 and re.search(r"[aeiouy]", stripped):
            word = (
                stripped[:-1]
                if len(stripped) > 3 and stripped[-1] == stripped[-2] and stripped[-1] not in "lsz"
                else stripped
            )
            break
    return word.removesuffix("e") if len(word) > 4 else word


@lru_cache(maxsize=4096)
def statement_stem(word: str) -> str:
    """Return a lower-case word without -ing, -ed, -es, -s or else a final -e; always a prefix of the word.

    For statements and reports that are compared by their sets of words. Words below five letters stay as they are.
    """
    if not word.isalpha() or len(word) < 5:
        return word
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word.rstrip("e")


_BASE_FORMS = {
    "has": "have",
    "does": "do",
    "is": "be",
    "are": "be",
    "am": "be",
    "being": "be",
    "goes": "go",
    "note": "note",
    "notes": "note",
    "site": "site",
    "sites": "site",
}


def wording_stem(word: str) -> str:
    """Return a lower-case English word without -s, -ing and a final -e, so that the present forms of a verb are equal.

    For statements that are compared word by word. -ed stays: the past tense says that something changed.
    """
    if word in _BASE_FORMS:
        return _BASE_FORMS[word]
    if not word.isalpha() or not word.isascii() or len(word) < 4:
        return word
    if word.endswith("ing") and len(word) > 4:
        word = word[:-3]
        word = word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz" else word
    elif word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("ches", "shes", "xes", "sses", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word + "e" if len(word) == 2 else word.rstrip("e") if len(word) > 3 else word
