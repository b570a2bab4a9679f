"""Values to JSON text and back. In: frozen values, or their text. Out: the other one.

Never changes a value, except that unstorable characters are replaced, see below. What a later version
has added to a value is left out when it is read; what an earlier one did not know takes its default.

The form in which every backend stores text. In: any string. Out: storable strings, and the words of a memory's code index. No storage.

Text is cleaned at the door: NUL and lone surrogates, which UTF-8 databases cannot hold, become U+FFFD, when storing and
when looking something up, so that what was stored under a damaged key is found under the same damaged key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec

from tacit.errors import StoreCorrupt
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.memory import Entity, Memory
from tacit.model.scope import Scope, ScopeKind
from tacit.reading.moment_calls import keys_of_rule
from tacit.text.tokens import code_words

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_encode = msgspec.json.Encoder().encode


def clean_text(text: str) -> str:
    """Return `text` with NUL and lone surrogates replaced by U+FFFD; the same object when there are none."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub(REPLACEMENT, text) if _UNSTORABLE.search(text) else text


def clean_value(value: _T) -> _T:
    """Return the value with `clean_text` applied to every string in its dataclasses and tuples; the same object when all are clean."""
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
    """Return the names of the fields of a dataclass; () for any other type."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def moment_keys(memory: Memory) -> tuple[Entity, ...]:
    """Return the moments (kinds of calls) that a rule's own words name, as entities; a search before such a call asks by them."""
    return clean_value(keys_of_rule(memory.content))


def linked_entities(memory: Memory) -> tuple[Entity, ...]:
    """Return all entities by which a memory can be found: its own and the moments that its words name."""
    return (*memory.entities, *moment_keys(memory))


def memory_code_words(memory: Memory) -> tuple[str, ...]:
    """Return the words of a memory for the code index: from its identifiers, its files and the keys of its entities."""
    return code_words(memory.content, (*memory.files, *(entity.key for entity in memory.entities)))


_T = TypeVar("_T")


_write = msgspec.json.Encoder().encode


@lru_cache(maxsize=8)
def _reader(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    return msgspec.json.Decoder(kind)


def encode(value: object) -> str:
    """Return a value as JSON text, with unstorable characters in its strings replaced."""
    try:
        text = _write(value).decode()
    except UnicodeEncodeError:
        return _write(clean_value(value)).decode()
    return _write(clean_value(value)).decode() if "\\u0000" in text else text


def decode(kind: type[_T], text: str) -> _T:
    """Return the value of type `kind` that a JSON text from `encode` holds.

    Raises:
        StoreCorrupt: if the text does not hold such a value.
    """
    try:
        return _reader(kind).decode(text)
    except msgspec.DecodeError as error:
        raise StoreCorrupt(
            f"A stored {kind.__name__} cannot be read: {error}.",
            hint="`tacit doctor` examines the store.",
        ) from error


def encode_reason(reason: ChangeReason) -> str:
    """Return the reason of a change as JSON text, without its empty fields."""
    return encode(_without_empty(msgspec.to_builtins(clean_value(reason))))


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    filled = {name: value for name, value in fields.items() if value}
    if "but" in filled:
        filled["but"] = _without_empty(filled["but"])
    if "further" in filled:
        filled["further"] = [_without_empty(reason) for reason in filled["further"]]
    return filled


def decode_reason(text: str) -> ChangeReason:
    """Return the reason of a change from its stored text. A text of another program or version becomes a `STORED_WORDS` reason; never raises."""
    try:
        return _reader(ChangeReason).decode(text)
    except msgspec.DecodeError:
        return ChangeReason(cause=ChangeCause.STORED_WORDS, detail=text)


def decode_memory(body: str, use_count: int, shown_count: int = 0) -> Memory:
    """Return the memory that a stored JSON text holds, with the counts of its columns, which change without a new version."""
    memory = decode(Memory, body)
    if (memory.use_count, memory.shown_count) == (use_count, shown_count):
        return memory
    return replace(memory, use_count=use_count, shown_count=shown_count)


def json_list(values: Sequence[str] | Sequence[int]) -> str:
    """Return a list as JSON text for SQLite's `json_each`, so that one statement serves lists of every length."""
    return json.dumps(values)


def scope_named(name: str) -> Scope:
    """Return the scope that is stored under `name`. Unlike `Scope.parse`, it changes nothing in the key, not even spaces or case.

    Raises:
        StoreCorrupt: the name begins with no known kind.
    """
    kind, _, key = name.partition(":")
    try:
        return Scope(kind=ScopeKind(kind), key=key)
    except ValueError:
        raise StoreCorrupt(f"The store holds a scope {name!r} of no known kind.") from None
