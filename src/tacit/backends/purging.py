"""Which named values hold words that somebody said. In: a name. Out: yes or no. Pure."""

from __future__ import annotations

_PLACES = ("init:", "languages:", "copies", "damaged_store", "tools/")
"""Beginnings of the names of values that hold folders, names of languages or times, no text."""


def holds_text(name: str) -> bool:
    """Whether the named value `name` may hold words that somebody said."""
    return not name.startswith(_PLACES)
