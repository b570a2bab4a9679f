"""Named values: a name, an owner, a codec, and a retention. In: a declaration. Out: readers and writers.

A named value is a small text that the store keeps under a name, beside memories and sessions. `registry` declares each of them
once; only a declaration makes a `ValueName`, so nothing is stored under a name that nobody declared. A text that cannot be read
counts as missing. Never decides what is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar, TypeVarTuple, cast

import msgspec

from tacit.errors import TacitError
from tacit.ports.store import ValueChanges, ValueName, ValueStore

T = TypeVar("T")
Ks = TypeVarTuple("Ks")


class AtPurge(StrEnum):
    """The effect that a purge of the owner has on a value."""

    DELETE = "delete"
    KEEP = "keep"


class Retention(StrEnum):
    """The time for which a value is kept, and who removes it."""

    HOME = "as long as the home"
    SESSION = "as long as the live record of its session: upkeep removes both"
    WORK = "until the work that it describes is done: its writer removes it"
    AGE = "entries are removed by upkeep once they are older than a setting allows"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedBy(Generic[*Ks]):
    """The owner of a value. Its type parameters are the parts of the key; `parts` is their least number in the name."""

    owner: str
    parts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec(Generic[T]):
    """The text form of a value. `read` raises ValueError or MsgspecError where the text holds no such value."""

    read: Callable[[str], T]
    write: Callable[[T], str]
    empty: Callable[[], T]


def as_json(kind: type[T], *, empty: Callable[[], T] | None = None) -> Codec[T]:
    """A codec for values of the type `kind`.

    Args:
        kind: a dataclass, or a collection of some.
        empty: makes the value that stands for a missing text; None = `kind` itself does.
    """

    def read(text: str) -> T:
        try:
            return msgspec.json.decode(text, type=kind, strict=False)
        except (
            msgspec.DecodeError
        ):  # half of a surrogate pair is written as an escape, which only `json` reads
            return msgspec.convert(json.loads(text), kind, strict=False)

    def write(value: T) -> str:
        try:
            return msgspec.json.encode(value).decode()
        except UnicodeEncodeError:
            return json.dumps(msgspec.to_builtins(value))

    return Codec(read=read, write=write, empty=empty or kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedValue(Generic[T, *Ks]):
    """A declaration: a value of the home, or a family of values with one for each key.

    Attributes:
        prefix: the name, or its beginning where a key follows.
        keyed_by: what it belongs to.
        codec: how it is written.
        at_purge: what a purge of its owner does with it.
        words: whether it may hold words that somebody said: a purge and a rescan take out of it what has to go.
        retention: how long it is kept.
        most: most entries of a collection; the last ones are kept. 0 = no limit.
    """

    prefix: str
    keyed_by: KeyedBy[*Ks]
    codec: Codec[T]
    at_purge: AtPurge
    words: bool
    retention: Retention = Retention.HOME
    most: int = 0

    def name(self, *key: *Ks) -> ValueName:
        """The name under which the store keeps the value of `key`."""
        return ValueName(self.prefix + "/".join(str(part) for part in key))

    def names(self, store: ValueStore, *first: str) -> tuple[ValueName, ...]:
        """Names of the stored values, of those whose key begins with the parts `first`."""
        prefix = self.prefix + "".join(f"{part}/" for part in first)
        return tuple(map(ValueName, store.value_names(prefix)))

    def matches(self, name: str) -> bool:
        """Whether `name` is one of this declaration."""
        if not self.keyed_by.parts:
            return name == self.prefix
        return name.startswith(self.prefix) and name.count("/", len(self.prefix)) + 1 >= self.keyed_by.parts

    def find(self, store: ValueStore, *key: *Ks) -> T | None:
        """The stored value; None where there is none, or it cannot be read."""
        return self.parse(store.get_value(self.name(*key)))

    def read(self, store: ValueStore, *key: *Ks) -> T:
        """The stored value, or the empty one."""
        stored = self.find(store, *key)
        return self.codec.empty() if stored is None else stored

    def every(self, store: ValueStore) -> Iterator[T]:
        """All stored values that can be read, by name."""
        for name in self.names(store):
            stored = self.parse(store.get_value(name))
            if stored is not None:
                yield stored

    def is_stored(self, store: ValueStore, *key: *Ks) -> bool:
        """Whether anything is stored for `key`."""
        return store.get_value(self.name(*key)) is not None

    def change(self, value: T | None, *key: *Ks) -> ValueChanges:
        """Return what to store so that `key` has `value`; None and empty collections are removed."""
        return {self.name(*key): self.text(value)}

    def write(self, store: ValueStore, value: T | None, *key: *Ks) -> None:
        """Store `value` in a transaction of its own."""
        store.put_value(self.name(*key), self.text(value))

    def text(self, value: T | None) -> str | None:
        """The text that is stored for `value`."""
        if value is None or value in ((), {}, ""):
            return None
        return self.codec.write(self._limited(value))

    def _limited(self, value: T) -> T:
        if self.most and isinstance(value, tuple):
            return cast("T", value[-self.most :])
        if self.most and isinstance(value, dict):
            return cast("T", dict(list(cast("dict[str, object]", value).items())[-self.most :]))
        return value

    def parse(self, text: str | None) -> T | None:
        """The value that a stored `text` holds; None where there is none, or it cannot be read."""
        if text is None:
            return None
        try:
            return self.codec.read(text)
        except (
            msgspec.MsgspecError,
            TacitError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ):
            return None
