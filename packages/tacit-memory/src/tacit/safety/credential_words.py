"""Words of nine languages in whose sentence a secret may stand, and words that announce one. In: nothing. Out: patterns, `WORDS`, keywords.

The words are data (`credential_words.toml`): `credentials` looks where a pattern of them matches, `value_shapes` makes shapes of `WORDS`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from tacit.frozen import frozen
from tacit.text.lazy_regex import lazy_regex

Form = tuple[str, str]
"""Words and a pattern: one of the words (separated by blanks) is in every lower-case text in which the pattern can match."""


@frozen
class Words:
    """The words with which a language announces a secret.

    Attributes:
        names: a password, key or token, in all inflected forms.
        verb: pattern of the word between the name and the value, such as "is".
        spaced: whether the language puts blanks between words.
        identifiers: names inside identifiers.
        codes: names of one-time codes, which consist of digits.
        phrases: names of secrets that consist of several words.
    """

    names: Form
    verb: str
    spaced: bool = True
    identifiers: Form | None = None
    codes: Form | None = None
    phrases: Form | None = None


_UNSPACED = r"(?-i:[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])"  # letters without case; to ignore it would only make the pattern slow to compile
_PIN_UNSPACED = rf"(?-i:PIN)|pin(?=[ \d]{{0,10}}{_UNSPACED})|(?<={_UNSPACED})pin|(?<={_UNSPACED} )pin"
"""A PIN in a language that writes no spaces between words (Chinese, Japanese, Korean).

Lowercase `pin` counts only beside a character of such a language, because "pin 8443" and "mapping" are English.
"""
LETTER = r"A-Za-z0-9\u00c0-\u024f\u0400-\u04ff"
"""The letters of languages with blanks between words, for a character class of a pattern."""
_TABLE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("credential_words.toml").read_text("utf-8").replace("{pin}", _PIN_UNSPACED)
)
WORDS = msgspec.convert(_TABLE["announced"], tuple[Words, ...])


def words_of(key: str) -> frozenset[str]:
    """Return the words of a list of the table (`lists`)."""
    return frozenset(_TABLE["lists"][key].split())


def _parts(rows: str) -> tuple[str, ...]:
    return tuple(part for row in rows.split("\n") for part in row.strip().split(" ¦ ") if part)


def _pattern(sort: str) -> re.Pattern[str]:
    """Return the pattern of a sort of word: those of languages with blanks match only as whole words, the others anywhere."""
    rows = _TABLE["sorts"][sort]
    spaced, unspaced = ("|".join(_parts(rows.get(key, "(?!)"))) for key in ("spaced", "unspaced"))
    return lazy_regex(rf"(?:(?<![{LETTER}])(?:{spaced})(?![{LETTER}])|{unspaced})", re.IGNORECASE)


PASSWORD, KEY, CODE, NO_CODE = map(_pattern, ("password", "key", "code", "no_code"))
LOGIN, SYSTEM, LOCK, TYPE = map(_pattern, ("login", "system", "lock", "type"))
HASH, PERSON, NAMELY, AS, SET = map(_pattern, ("hash", "person", "namely", "as", "set"))
OPEN, COPULA, PHRASE, QUESTION, ANSWER = map(_pattern, ("open", "copula", "phrase", "question", "answer"))
NAME_KEYWORDS = _parts(_TABLE["held"]["names"])
"""Words in lower case; one of them is on every line in which `find_complements` finds something."""
KEYWORDS = (*NAME_KEYWORDS, *_parts(_TABLE["held"]["others"]))
"""Words in lower case; one of them is on every line in which `find_credentials` finds something."""
