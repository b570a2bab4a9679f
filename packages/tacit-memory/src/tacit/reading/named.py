"""What a statement names: addresses, paths, flags, commands, packages. In: a statement, what the user typed. Out: names nobody typed. Pure.

An agent reads text from anywhere. What it names and the user never typed may be led there by such a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.text.lazy_regex import lazy_regex
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import CODE_SPAN, UNSPACED

_EDGE_BEFORE, _EDGE_AFTER = (
    "'`*\"\u201c\u201e\u00ab\u2018([{<",
    "'`*\"\u201d\u201c\u00bb\u2019)]}>,.;:!?\u2026\u3001\u3002\uff0c\uff1b\uff01\uff1f",
)
_BY_THE_WAY = lazy_regex(
    r"\b(?:by the way|btw|please|pls|plz|bitte|s['\u2019]il (?:te|vous) pla\u00eet|stp|svp)\b[,:]?",
    re.IGNORECASE,
)
"""Words without meaning for a comparison, which people and agents add and leave out."""
_PACKAGE = lazy_regex(
    r"\b(?:install\w*|packages?|librar(?:y|ies)|dependenc(?:y|ies)|plugins?|extensions?|pakete?|bibliotheken?|abh\u00e4ngigkeit\w*|paquets?|biblioth\u00e8ques?|d\u00e9pendances?)\W+(?:(?:the|das|den|die|le|la|les) (?:[\w-]+ )?)?(?P<name>[\w@/.-]+)",
    re.IGNORECASE,
)
_PERMITS = lazy_regex(
    r"\b(?:without|no need (?:to|for)|skip\w*|bypass\w*|disabl\w+|ignor\w+|allow\w*|permit\w*|may|exempt\w*|unless|except|ohne|\u00fcberspring\w*|umgeh\w*|deaktivier\w*|abschalt\w*|erlaub\w*|darf|d\u00fcrfen|au\u00dfer"
    r"|sans|contourn\w*|d\u00e9sactiv\w*|autoris\w*|permet\w*|peut|peuvent|sauf)\b(?:\W+[\w-]+){0,2}",
    re.IGNORECASE,
)
"""Pattern of words that allow or exempt, with up to two words that follow."""


def names_untyped(content: str, prompts: Sequence[str]) -> tuple[str, ...]:
    """Return what a note names that the user never typed: addresses, paths, flags, commands, packages, and permissions to go without a check."""
    typed = {token for prompt in prompts for token in typed_words(prompt)}
    named = [token for token in typed_words(content) if _looks_named(token)]
    named += [token for span in CODE_SPAN.findall(content) for token in typed_words(span)]
    named += packages_in(content)
    named += [match[0].casefold() for match in _PERMITS.finditer(content)]
    spoken = " ".join(prompts).casefold()
    return tuple(dict.fromkeys(name for name in named if name not in typed and name not in spoken))


def packages_in(content: str) -> tuple[str, ...]:
    """Return the packages that a statement names as such: "install X", "the library X"."""
    packages = (match["name"].casefold().rstrip(".") for match in _PACKAGE.finditer(content))
    return tuple(name for name in packages if means_something(name))


def _looks_named(token: str) -> bool:
    return token.startswith("-") or any(mark in token[:-1] for mark in "./\\:@=|$<>{}()&") or "://" in token


def typed_words(text: str) -> list[str]:
    """Return the words of a text, in folded case and without punctuation around them; paths, flags and numbers stay as they are."""
    tokens: list[str] = []
    for raw in _BY_THE_WAY.sub(" ", text).split():
        word = raw.strip(_EDGE_BEFORE) if raw[:1] in _EDGE_BEFORE else raw
        word = word.rstrip(_EDGE_AFTER) or ""
        if UNSPACED.search(word):
            tokens += [char for char in word if char.isalnum()]
        elif word:
            folded = word.casefold().replace("'", "").replace("\u2019", "")
            bare = folded.replace("-", "")
            tokens.append(bare if bare.isalpha() and not folded.startswith("-") else folded)
    return tokens


def means_something(word: str) -> bool:
    """Whether a word counts when statements are compared: it is no stop word."""
    return word not in STATEMENT_STOP_WORDS
