"""Stems of words. In: words or texts. Out: stems. Pure.

`porter_stem` is the stemmer: of searches and of whatever compares words of any text. Source: Porter, An algorithm for suffix stripping,
1980, in Snowball's wording (porter.sbl); the text index of the store stems the same way. A rare word is stemmed for the first time
while a prompt waits, and the library takes 16 microseconds for it, a third of an embedding for one short list: plain words
are stemmed here in 3, all others by the library.

The others are lighter and stay for a reason each: `light_stem` because the fitted weights and phrase tables belong to its stems,
`statement_stem` and `wording_stem` because they keep the past tense.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import threading
from functools import cache, lru_cache
from typing import Protocol, cast

from tacit.text.natural_language import function_words_of
from tacit.text.stop_words import CONTRACTION_ENDS, FUNCTION_WORDS
from tacit.text.tokens import WORD, is_grammar, segmented

_LEFT_OUT = FUNCTION_WORDS | CONTRACTION_ENDS
MAX_CHARS = 2000
"""Characters at the beginning of a text that are read; they say what it is about."""

_PLAIN = re.compile(r"[a-z]+\Z")
_REGION = r"[^aeiouy]*[aeiouy]+[^aeiouy]"
_REGIONS = re.compile(rf"({_REGION})({_REGION})?")
_CONSONANT_Y = re.compile(r"\Ay|(?<=[aeiou])y")
_VOWEL = re.compile("[aeiouy]")
_SHORT = re.compile(r"[^aeiouy][aeiouy][^aeiouywxY]\Z")
_CHANGED_ENDS = frozenset("cdegilmnrstuy")
"""Every suffix ends in one of these letters. A word with another end is its own stem."""
_AFTER_ED = ("at", "bl", "iz")
_DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))

Rules = dict[str, tuple[tuple[str, str], ...]]


def _by_end(rules: dict[str, str]) -> Rules:
    """Suffixes and what takes their place, the longest first, by their last two letters."""
    by_end: dict[str, list[tuple[str, str]]] = {}
    for suffix in sorted(rules, key=lambda suffix: (-len(suffix), suffix)):
        by_end.setdefault(suffix[-2:], []).append((suffix, rules[suffix]))
    return {end: tuple(pairs) for end, pairs in by_end.items()}


_STEP_2 = _by_end({
    "tional": "tion", "enci": "ence", "anci": "ance", "abli": "able", "entli": "ent", "eli": "e", "izer": "ize",
    "ization": "ize", "ational": "ate", "ation": "ate", "ator": "ate", "alli": "al", "alism": "al", "aliti": "al",
    "fulness": "ful", "ousli": "ous", "ousness": "ous", "iveness": "ive", "iviti": "ive", "biliti": "ble",
})  # fmt: skip
_STEP_3 = _by_end(
    {"alize": "al", "icate": "ic", "iciti": "ic", "ical": "ic", "ative": "", "ful": "", "ness": ""}
)
_STEP_4 = _by_end(dict.fromkeys((
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion",
), ""))  # fmt: skip


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _library() -> _Stemmer:
    """The Porter stemmer of `snowballstemmer`, without its `__init__`, which loads thirty languages: 3 MB and 20 ms."""
    package = "snowballstemmer"
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ImportError(package)
    empty = package not in sys.modules
    sys.modules.setdefault(package, importlib.util.module_from_spec(spec))
    try:
        module = importlib.import_module(f"{package}.porter_stemmer")
    finally:
        if empty:  # whoever imports the package itself gets all of it
            del sys.modules[package]
    return cast(_Stemmer, module.PorterStemmer())


_LOCK = threading.Lock()


def words_of(text: str) -> list[str]:
    """The words of `text` in lower case, in order; those that are written without blanks are `segmented`."""
    return WORD.findall(segmented(text).casefold())


@lru_cache(maxsize=8192)
def stem_list(text: str) -> tuple[str, ...]:
    """Stems of the content words of `text` (first 2000 characters), in order, with repeats."""
    text = text[:MAX_CHARS]
    left_out = function_words_of(text)
    words = words_of(text)
    if left_out:
        words = [word for word in words if word not in left_out]
    return tuple(filter(None, map(_stem_or_nothing, words)))


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """The set of `stem_list`."""
    return frozenset(stem_list(text))


def content_words(text: str) -> tuple[str, ...]:
    """Content words of `text` (first 2000 characters), one for each stem, in order."""
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
    """Return the leading letters of the content words of `text`, for languages without a stemmer; without repeats, in order."""
    return tuple(dict.fromkeys(word[:LEADING_CHARS] for word in content_words(text)))


@lru_cache(maxsize=8192)
def _stem_or_nothing(word: str) -> str:
    return "" if word in _LEFT_OUT or is_grammar(word) else porter_stem(word)


def porter_stem(word: str) -> str:
    """The Porter stem of a lower-case word."""
    if len(word) <= 2 or not _PLAIN.match(word) or "yy" in word:
        return porter_stem_by_library(word)
    if word[-1] not in _CHANGED_ENDS:
        return word
    if "y" in word:
        word = _CONSONANT_Y.sub("Y", word)
    regions = _REGIONS.match(word)
    first = regions.end(1) if regions else len(word)  # R1 and R2 begin here
    second = regions.end(2) if regions and regions[2] else len(word)
    word = _plural(word)
    word = _past(word, first)
    if word[-1] in "yY" and _VOWEL.search(word, 0, len(word) - 1):
        word = f"{word[:-1]}i"
    word = _replaced(word, _STEP_2, first)
    word = _replaced(word, _STEP_3, first)
    word = _dropped(word, second)
    return _last_letter(word, first, second).lower()


def porter_stem_by_library(word: str) -> str:
    """The Porter stem as the library makes it."""
    with _LOCK:  # it keeps the word at hand in the stemmer itself
        return _library().stemWord(word)


def _plural(word: str) -> str:
    if word[-1] != "s" or word.endswith("ss"):
        return word[:-2] if word.endswith("sses") else word
    return word[:-2] if word.endswith(("sses", "ies")) else word[:-1]


def _past(word: str, first: int) -> str:
    if word.endswith("eed"):
        return word[:-1] if len(word) - 3 >= first else word
    suffix = 2 if word.endswith("ed") else 3 if word.endswith("ing") else 0
    if not suffix or not _VOWEL.search(word, 0, len(word) - suffix):
        return word
    word = word[:-suffix]
    if word.endswith(_AFTER_ED):
        return f"{word}e"
    if word[-2:] in _DOUBLES:
        return word[:-1]
    return f"{word}e" if len(word) == first and _SHORT.search(word) else word


def _replaced(word: str, rules: Rules, region: int) -> str:
    for suffix, instead in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            start = len(word) - len(suffix)
            return word[:start] + instead if start >= region else word
    return word


def _dropped(word: str, region: int) -> str:
    for suffix, _ in _STEP_4.get(word[-2:], ()):
        if word.endswith(suffix):
            start = len(word) - len(suffix)
            if start < region or (suffix == "ion" and word[start - 1] not in "st"):
                return word
            return word[:start]
    return word


def _last_letter(word: str, first: int, second: int) -> str:
    start = len(word) - 1
    if word.endswith("e") and (start >= second or (start >= first and not _SHORT.search(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and len(word) - 1 >= second else word


_IRREGULAR = {
    "wrote": "write", "written": "write", "ran": "run", "broke": "broken", "built": "build", "made": "make", "done": "done", "went": "go",
    "was": "was", "does": "does", "this": "this", "has": "has", "is": "is", "tests": "test", "fails": "fail", "failed": "fail", "failing": "fail",
    "failure": "fail", "failures": "fail", "analysis": "analyz", "docs": "doc", "found": "find", "chose": "choose", "began": "begin",
    "fixes": "fix", "fixing": "fix", "fixed": "fix",
}  # fmt: skip


@lru_cache(maxsize=8192)
def light_stem(word: str) -> str:
    """A light English stem of a lower-case word: plural, -ing, -ed and a final -e go, and some irregular forms meet.

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
    """A lower-case word without -ing, -ed, -es, -s or else a final -e; always a beginning of the word.

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
    """A lower-case English word without -s, -ing and a final -e, so that the forms of one verb are equal.

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
