"""Values to JSON text and back. In: frozen values, or their text. Out: the other one.

Never changes a value, except that unstorable characters are replaced as `tacit.backends.text` says. What a later version
has added to a value is left out when it is read; what an earlier one did not know takes its default.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from tacit.backends.text import clean_value
from tacit.errors import StoreCorrupt
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.memory import Memory
from tacit.model.scope import Scope, ScopeKind

_T = TypeVar("_T")


_write = msgspec.json.Encoder().encode


@lru_cache(maxsize=8)
def _reader(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    return msgspec.json.Decoder(kind)


def encode(value: object) -> str:
    """Write a value as JSON; strings inside are cleaned when they need it."""
    try:
        text = _write(value).decode()
    except UnicodeEncodeError:
        return _write(clean_value(value)).decode()
    return _write(clean_value(value)).decode() if "\\u0000" in text else text


def decode(kind: type[_T], text: str) -> _T:
    """Read a value.

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
    """Write why something was changed, without its empty fields."""
    return encode(_without_empty(msgspec.to_builtins(clean_value(reason))))


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    filled = {name: value for name, value in fields.items() if value}
    if "but" in filled:
        filled["but"] = _without_empty(filled["but"])
    if "further" in filled:
        filled["further"] = [_without_empty(reason) for reason in filled["further"]]
    return filled


def decode_reason(text: str) -> ChangeReason:
    """Read why something was changed; what is no value that is known here stays as it is, for people to read."""
    try:
        return _reader(ChangeReason).decode(text)
    except msgspec.DecodeError:
        return ChangeReason(cause=ChangeCause.STORED_WORDS, detail=text)


def decode_memory(body: str, use_count: int, shown_count: int = 0) -> Memory:
    """Read a memory; its counts are columns of their own because uses are counted without a new version."""
    memory = decode(Memory, body)
    if (memory.use_count, memory.shown_count) == (use_count, shown_count):
        return memory
    return replace(memory, use_count=use_count, shown_count=shown_count)


def json_list(values: Sequence[str] | Sequence[int]) -> str:
    """A list for `json_each`, so that one statement serves lists of every length."""
    return json.dumps(values)


def scope_named(name: str) -> Scope:
    """The scope that is stored under `name`. Unlike `Scope.parse` it keeps spaces: what is stored comes back as it was.

    Raises:
        StoreCorrupt: the name begins with no known kind.
    """
    kind, _, key = name.partition(":")
    try:
        return Scope(kind=ScopeKind(kind), key=key)
    except ValueError:
        raise StoreCorrupt(f"The store holds a scope {name!r} of no known kind.") from None
