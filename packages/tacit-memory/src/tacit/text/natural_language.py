"""The natural language that a text is written in, by its script and its function words. In: a text. Out: a language code. Pure.

In case of doubt the answer is English. Code, paths and addresses do not count. Also tells whether words mean another day depending
on when they are read ("yesterday").
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache

from tacit.text.lazy_regex import lazy_regex, wording
from tacit.text.stop_words import FUNCTION_WORDS

ENGLISH = "en"
NAMES = {
    ENGLISH: "English", "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "ru": "Russian",
    "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
}  # fmt: skip
"""English names of the languages that are recognized, by their ISO 639-1 codes."""
WITHOUT_BLANKS = frozenset({"zh", "ja"})
"""Codes of the languages that are written without blanks between words."""
READ_CHARS = 2000
"""Characters at the beginning of a text that are read to recognize its language."""

_NOT_PROSE = lazy_regex(r"`[^`\n]*`|(?<![!-_a-~])[!-~]{0,200}(?:[/\\_@=<>{}\[\]0-9]|\w\.\w|\w:\w)[!-~]*")
_OTHER_SCRIPTS = lazy_regex("[\u0400-\u052f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_HANGUL = lazy_regex("[\u1100-\u11ff\uac00-\ud7af]")
_KANA = lazy_regex("[\u3040-\u30ff]")
_HAN = lazy_regex("[\u3400-\u9fff]")
_CYRILLIC_WORD = lazy_regex("[\u0400-\u052f]+")
_CHARS_PER_WORD = 2
"""Mean length of a word in Chinese, Japanese and Korean."""
_LEAST_SHARE = 3
"""A text counts as of another script if that has at least one word per this many Latin words: names of programs are Latin in every language."""

_LISTS = wording("languages")
_WORDS = {code: _LISTS.words(code) for code in ("de", "fr", "es", "pt", "ru")}
_LETTERS = {"de": "äöüß", "fr": "èêëîïûùœæ", "es": "ñ¿¡", "pt": "ãõ"}
"""Letters and marks that no other of these languages has."""
_ELISION = re.compile("\\b[cdjlnmst]['\u2019]")
"""Matches how French shortens a word before a vowel."""
_TYPICAL, _TELLING = (
    {code: _LISTS.words(f"{code}_{sort}") for code in _LETTERS} for sort in ("typical", "telling")
)
"""Frequent words of prompts, and words that open a statement; one of the latter is enough to recognize the language."""
_LEAST_VOTES = 3
"""Least votes for a language other than English: those of two words, or of one word and a letter that only this language has."""
_LEAST_ENGLISH = 2
_ENGLISH_ALONE = _LISTS.words("en")
"""Words that vote for English; the function words of English vote too."""


@lru_cache(maxsize=4096)
def natural_language_of(text: str) -> str:
    """Return the code of the language that `text` is written in (`NAMES`); English in case of doubt."""
    text = text[:READ_CHARS]
    if text.isascii() and not _may_be_latin(text):
        return ENGLISH
    prose = _NOT_PROSE.sub(" ", text).lower()
    words = set(_LATIN_WORD.findall(prose))
    if not prose.isascii() and _OTHER_SCRIPTS.search(prose):
        code = _by_script(prose, words)
        if code:
            return code
    return _by_words(prose, words)


def is_plainly_english(text: str) -> bool:
    """Whether `text` is in English and contains several words that only English has."""
    words = set(_LATIN_WORD.findall(_NOT_PROSE.sub(" ", text[:READ_CHARS]).lower()))
    return len(words & _english()) >= _LEAST_ENGLISH and natural_language_of(text) == ENGLISH


def function_words_of(text: str) -> frozenset[str]:
    """Return the function words of the language of `text`, which a search leaves out; none are listed for English, Chinese, Japanese and Korean."""
    return _WORDS.get(natural_language_of(text), frozenset())


@cache
def _latin() -> dict[str, frozenset[str]]:
    """Return language code -> the words that vote for this language, for the languages in Latin script other than English."""
    return {code: _WORDS[code] | _TYPICAL[code] | _TELLING[code] for code in _LETTERS}


@cache
def _english() -> frozenset[str]:
    """Return the words that vote for English: those that no other language in Latin script has."""
    return (FUNCTION_WORDS | _ENGLISH_ALONE) - frozenset().union(*_latin().values())


def _may_be_latin(text: str) -> bool:
    """Whether an ASCII text contains a word that votes for a language other than English."""
    words = frozenset(_LATIN_WORD.findall(text.lower()))
    return any(not words.isdisjoint(own) for own in _latin().values())


def _by_script(prose: str, words: set[str]) -> str:
    hangul, kana, han = (len(pattern.findall(prose)) for pattern in (_HANGUL, _KANA, _HAN))
    cyrillic = len(_CYRILLIC_WORD.findall(prose))
    asian = (hangul + kana + han) / _CHARS_PER_WORD
    latin = sum(word.isascii() for word in words)
    if max(asian, cyrillic) * _LEAST_SHARE < latin:
        return ""
    if cyrillic > asian:
        return "ru"
    if hangul >= kana + han:
        return "ko"
    # A label in Chinese may hold a kana, and a Japanese sentence has one for every few characters.
    return "ja" if kana * 8 >= han else "zh"


def _by_words(prose: str, words: set[str]) -> str:
    english = 2 * sum(word in _english() for word in words)
    votes: Counter[str] = Counter()
    for code, own in _latin().items():
        # A word that English has too counts half.
        votes[code] = sum((1 if word in FUNCTION_WORDS else 2) for word in words if word in own)
        votes[code] += 3 * len(words & _TELLING[code])
        votes[code] += 3 * sum(map(prose.count, _LETTERS[code]))
    votes["fr"] += 3 * len(_ELISION.findall(prose))
    code, most = max(votes.items(), key=lambda pair: pair[1])
    return code if most > english and most >= _LEAST_VOTES else ENGLISH


_TIMES = wording("relative_time")


@lru_cache(maxsize=8192)
def has_relative_time(text: str) -> bool:
    """Whether a text contains words such as "yesterday" or "in three days", whose meaning depends on the day they were said."""
    return _TIMES.relative.search(text) is not None
