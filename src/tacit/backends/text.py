"""How every backend reads text. In: any string. Out: storable strings and words. Never touches storage.

Text is cleaned at the door: NUL and lone surrogates, which UTF-8 databases cannot hold, become U+FFFD, when storing and
when looking something up, so that what was stored under a damaged key is found under the same damaged key.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from tacit.model.memory import Memory

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u0362])*")  # with the combining marks that FTS5 keeps in a word
_CHUNK = re.compile(r"[\w./\\:@#+-]+")
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
_CODE_SHAPE = re.compile(r"[_/\\]|\w\.\w|::|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\W\d_]\d|\d[^\W\d_]|^--?\w")

_STOPWORDS = (
    "a about after all also am an and any are as at be because been before being but by can could did do does doing "
    "done down each few for from further get got had has have having he her here him his how i if in into is it its "
    "just let like make me more most my no nor not now of off on once only or other our out over own please same "
    "she should so some such than that the their them then there these they this those through to too under until "
    "up us very want was we were what when where which while who why will with would yes you your"
)
STOPWORDS = frozenset(_STOPWORDS.split())
"""English words that say nothing about a topic; a lexical query made only of them finds nothing."""

QUERY_CHARS = 10_000
"""Only so many characters at the beginning of a query are read; a pasted log must not make a search slow."""

_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD; the same object when there are none."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text) if _UNSTORABLE.search(text) else text


def clean_value(value: _T) -> _T:
    """Clean every string inside a value made of dataclasses and tuples; the same object when all are clean."""
    # Nearly every value needs no change. Encoding the whole value as JSON proves that faster than checking each of its fields.
    with suppress(UnicodeEncodeError, TypeError):
        if b"\\u0000" not in _encode(value):
            return value
    return cast(_T, _clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, tuple):
        items = cast("tuple[Any, ...]", value)
        cleaned = tuple(_clean(item) for item in items)
        return items if all(a is b for a, b in zip(cleaned, items, strict=True)) else cleaned
    changed: dict[str, Any] = {}
    for name in _fields_of(cast("type[Any]", type(value))):
        old: Any = getattr(value, name)
        new = _clean(old)
        if new is not old:
            changed[name] = new
    return replace(value, **changed) if changed else value


@lru_cache(maxsize=256)
def _fields_of(kind: type[Any]) -> tuple[str, ...]:
    """Names of the fields of a dataclass; () for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def words(text: str) -> tuple[str, ...]:
    """Runs of letters and digits in order, as written; the text index splits text in the same places."""
    return tuple(_WORD.findall(text))


def query_words(text: str) -> tuple[str, ...]:
    """Words to look up in the word index, without stop words and repeats."""
    found = (word for word in _WORD.findall(text[:QUERY_CHARS]) if fold_word(word) not in STOPWORDS)
    return tuple(dict.fromkeys(found))


def fold_word(word: str) -> str:
    """Lower case without diacritics, as the full-text index compares words."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(ch for ch in decomposed if not unicodedata.combining(ch)).lower()


def _parts(chunk: str) -> list[str]:
    found: list[str] = []
    for run in _WORD.findall(chunk):
        pieces = [piece.lower() for piece in _PART.findall(run)]
        found += [piece for piece in pieces if len(piece) > 1 or len(pieces) == 1]
    return found


def code_words(text: str, extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Parts of everything in `text` that looks like code, and of each of `extra` (paths, symbols).

    `getUserName` gives get, user, name and getusername, so that `get_user_name` and `getUserName` meet. Plain words
    outside back quotes give nothing.
    """
    quoted = _QUOTED.findall(text)
    chunks = [c.strip(".:-+@#") for c in _CHUNK.findall(text) if _CODE_SHAPE.search(c.rstrip(".:-+@#"))]
    found: list[str] = []
    for chunk in (*chunks, *quoted, *extra):
        found += _parts(chunk)
        for segment in re.split(r"[^\w]+", chunk):
            joined = segment.replace("_", "").lower()
            if joined and len(_PART.findall(segment)) > 1:
                found.append(joined)
    return tuple(found)


def code_query_words(text: str) -> tuple[str, ...]:
    """Words to look up in the code index: parts of code-like text, and plain words that are no stop words."""
    text = text[:QUERY_CHARS]
    plain = (word.lower() for word in _WORD.findall(text))
    return tuple(dict.fromkeys((*code_words(text), *(w for w in plain if w not in STOPWORDS and len(w) > 1))))


def memory_code_words(memory: Memory) -> tuple[str, ...]:
    """The words of a memory's code index: its identifiers, its files and the keys of its entities."""
    return code_words(memory.content, (*memory.files, *(entity.key for entity in memory.entities)))
