"""Keys of imported statements, so that a second run adds nothing. In: keys. Out: whether they are known, named values to store.

The keys of one tool and scope stand in several named values of bounded length: a batch writes one of them anew, however many
statements were imported before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.ports.store import ValueChanges, ValueStore
from tacit.state.registry import IMPORTED

MOST_KEYS = 1024
"""Keys of one named value."""


class ImportedKeys:
    """Keys of the statements that one tool brought into one scope."""

    def __init__(self, store: ValueStore, name: str) -> None:
        """Load the keys stored under `name`, a tool and a scope, and under its numbered continuations."""
        self._name = name
        self._last: list[str] = []
        self._number = 0
        self._known: set[str] = set()
        for number, keys in enumerate(_stored(store, name)):
            self._number = number
            self._last = list(keys)
            self._known.update(self._last)

    def __contains__(self, key: str) -> bool:
        """Whether the statement of `key` was imported."""
        return key in self._known

    def values_with(self, keys: Collection[str]) -> ValueChanges:
        """The named values that also hold `keys`; call `add` once they are stored."""
        number, held = self._place()
        new = (key for key in keys if key not in self._known)
        return IMPORTED.change((*held, *new), _part(self._name, number))

    def add(self, keys: Collection[str]) -> None:
        """Know `keys` from now on."""
        self._number, held = self._place()
        self._last = [*held, *(key for key in keys if key not in self._known)]
        self._known.update(keys)

    def _place(self) -> tuple[int, list[str]]:
        """The value that has room, and what it holds."""
        return (self._number + 1, []) if len(self._last) >= MOST_KEYS else (self._number, self._last)


def _part(name: str, number: int) -> str:
    return f"{name}/{number}" if number else name


def _stored(store: ValueStore, name: str) -> Iterator[tuple[str, ...]]:
    number = 0
    while (keys := IMPORTED.find(store, _part(name, number))) is not None:
        yield keys
        number += 1
