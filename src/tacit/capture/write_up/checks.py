"""Whether a model's statement is what the session says. In: a statement, the words it was made from. Out: the span, or why not.

Its quote has to stand in the message it names, word by word; what it names has to stand in the session: files, symbols, flags,
versions, numbers. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.capture.wording import word_count
from tacit.model.change_reason import ChangeCause
from tacit.reading.digest_lines import stems
from tacit.text.tokens import WORD

MIN_GROUNDED_SHARE = 0.5
"""Least share of a statement's word stems that the session holds."""
LEAST_WORDS, MOST_WORDS = 3, 60
"""The request asks for 8 to 45; what a user says in three words, or a little more, is no reason to lose a statement."""
MIN_QUOTED_WORDS = 3
_CODE = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[^\s,;!?()\[\]{}\"\u201c\u201d\u2018\u2019`]+")
_NAME = re.compile(
    r".*\d"  # a number, a version, a port
    r"|--?\w"  # a flag
    r"|[\w.~-]*/[\w./*~-]+"  # a path
    r"|\w+(?:_\w+)+|_\w+"  # snake_case
    r"|[A-Za-z]*[a-z][A-Z]\w*"  # camelCase
    r"|\w[\w-]*\.\w{1,8}(?:\.\w+)*$"  # a file, an attribute
    r"|[@$%]\w"
)
_PROSE = re.compile(r"(?:e\.g|i\.e|etc|vs|and/or|either/or|w/o|n/a)\.?$", re.IGNORECASE)
_OMITTED = re.compile(r"\[?(?:\.\.\.|\u2026)\]?")
_END = re.compile(r"(?:['\u2019]s|\+)$")
_EDGES = "\"'`\u201c\u201d\u2018\u2019 .,;:!"


def find_quote(quote: str, text: str) -> str:
    """The verbatim words of `text` that `quote` repeats, punctuation and line breaks aside; "" = it does not.

    Of a quote with an omission its longest part counts.
    """
    part = max(_OMITTED.split(quote), key=len)
    words = WORD.findall(part)
    if len(words) < MIN_QUOTED_WORDS:
        return ""
    sequence = r"[\W_]+".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){sequence}(?!\w)", text, re.IGNORECASE)
    return found[0] if found else ""


def names_in(content: str) -> tuple[str, ...]:
    """Return the names in a statement: code, paths, symbols, flags, numbers; without repeats."""
    found = [word for code in _CODE.findall(content) for word in _WORD.findall(code)]
    found += [
        word
        for word in _WORD.findall(_CODE.sub(" ", content))
        if _NAME.match(word) and not _PROSE.match(word)
    ]
    names = (_END.sub("", word.strip(_EDGES)) for word in found)
    return tuple(dict.fromkeys(name for name in names if re.search(r"\w", name)))


def find_ungrounded_reason(
    content: str, said: Sequence[str], *, known: Sequence[str] = ()
) -> ChangeCause | None:
    """Return why the statement is not believed; None = it is.

    Args:
        content: the statement.
        said: all that was sent of the session.
        known: names that it may use without the session saying them, such as the project's.
    """
    if not LEAST_WORDS <= word_count(content) <= MOST_WORDS:
        return ChangeCause.WRONG_LENGTH
    whole = "\n".join((*said, *known)).casefold()
    for name in names_in(content):
        if not _holds(whole, name.casefold()):
            return ChangeCause.NAMES_UNNAMED
    own = stems(content)
    if not own or len(own & stems(whole)) / len(own) < MIN_GROUNDED_SHARE:
        return ChangeCause.SAYS_UNSAID
    return None


def quote_coverage(span: str, content: str) -> float:
    """Share of the word stems of a quote that a statement made of it holds, 0 to 1."""
    quoted = stems(span)
    return len(quoted & stems(content)) / len(quoted) if quoted else 0.0


def _holds(whole: str, name: str) -> bool:
    """Whether `name`, or every part of a path, stands in `whole`, not as the middle of a longer number or word."""
    parts = [part for part in name.split("/") if part]
    return _stands(whole, name) or (len(parts) > 1 and all(_stands(whole, part) for part in parts))


def _stands(whole: str, name: str) -> bool:
    start = r"(?<![\w])" if name[0].isalnum() else ""
    end = r"(?![\w])" if name[-1].isdigit() else ""
    return re.search(f"{start}{re.escape(name)}{end}", whole) is not None
