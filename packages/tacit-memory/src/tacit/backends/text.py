"""The form in which every backend stores text. In: any string. Out: storable strings, and the words of a memory's code index. No storage.

Text is cleaned at the door: NUL and lone surrogates, which UTF-8 databases cannot hold, become U+FFFD, when storing and
when looking something up, so that what was stored under a damaged key is found under the same damaged key.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from tacit.model.memory import Entity, Memory
from tacit.reading.moment_calls import keys_of_rule
from tacit.text.tokens import code_words

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

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


def moment_keys(memory: Memory) -> tuple[Entity, ...]:
    """The moments that a memory's words name, as what a search for a call asks by."""
    return clean_value(keys_of_rule(memory.content))


def linked_entities(memory: Memory) -> tuple[Entity, ...]:
    """Everything that a search for entities finds a memory by."""
    return (*memory.entities, *moment_keys(memory))


def memory_code_words(memory: Memory) -> tuple[str, ...]:
    """The words of a memory's code index: its identifiers, its files and the keys of its entities."""
    return code_words(memory.content, (*memory.files, *(entity.key for entity in memory.entities)))
