"""What was imported before, so that a second run adds nothing. In: keys. Out: whether they are known, named values to store.

The keys of one tool and scope stand in several named values of bounded length: a batch writes one of them anew, however many
statements were imported before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tacit.ports.store import Store

KEY_CHARS = 12
MOST_KEYS = 1024
"""Keys of one named value."""


class Imported:
    """Keys of the statements that one tool brought into one scope."""

    def __init__(self, store: Store, name: str) -> None:
        """Load the keys stored in the named value `name` and in its numbered continuations."""
        self._name = name
        self._last: list[str] = []
        self._number = 0
        self._known: set[str] = set()
        for number, text in enumerate(_values(store, name)):
            self._number = number
            self._last = [text[at : at + KEY_CHARS] for at in range(0, len(text), KEY_CHARS)]
            self._known.update(self._last)

    def __contains__(self, key: str) -> bool:
        """Whether the statement of `key` was imported."""
        return key in self._known

    def values_with(self, keys: Collection[str]) -> dict[str, str | None]:
        """The named values that also hold `keys`; call `add` once they are stored."""
        number, held = self._place()
        return {_name(self._name, number): "".join([*held, *(key for key in keys if key not in self._known)])}

    def add(self, keys: Collection[str]) -> None:
        """Know `keys` from now on."""
        self._number, held = self._place()
        self._last = [*held, *(key for key in keys if key not in self._known)]
        self._known.update(keys)

    def _place(self) -> tuple[int, list[str]]:
        """The value that has room, and what it holds."""
        return (self._number + 1, []) if len(self._last) >= MOST_KEYS else (self._number, self._last)


def _name(name: str, number: int) -> str:
    return f"{name}/{number}" if number else name


def _values(store: Store, name: str) -> Iterator[str]:
    number = 0
    while (text := store.get_value(_name(name, number))) is not None:
        yield text
        number += 1
