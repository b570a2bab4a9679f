"""JSON with positions: where the members of an object and the items of a list are in the text.

In: the text of a JSON value. Out: values with the positions of their first character and of the one after their last. Only the requested
objects and lists are scanned here; the parser of the standard library reads everything below them. Never changes the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_MORE = ","


@dataclass(frozen=True, slots=True)
class Located:
    """A value in a JSON text, at `text[start:end]`. `items` = the items of a list that was scanned."""

    value: object
    start: int
    end: int
    items: tuple[Located, ...] = ()


def read_object(text: str, *, lists: Collection[str] = ()) -> dict[str, Located]:
    """Read a JSON object. Return its members by name; the last one if a name occurs twice. The lists named in `lists` are scanned, too.

    Raises:
        ValueError: `text` is not a JSON object.
        RecursionError: the object is nested too deeply.
    """
    members, end = _members(text, _blank(text, 0), lists)
    if _blank(text, end) != len(text):
        raise ValueError(f"more text after the object at character {end}")
    return members


def members_at(text: str, start: int) -> dict[str, Located]:
    """Return the members of the object that begins at `start`.

    Raises:
        ValueError: no JSON object begins there.
    """
    return _members(text, start, ())[0]


def items_at(text: str, start: int) -> tuple[Located, ...]:
    """Return the items of the list that begins at `start`.

    Raises:
        ValueError: no JSON list begins there.
    """
    return _items(text, start)[0]


def _members(text: str, at: int, lists: Collection[str]) -> tuple[dict[str, Located], int]:
    members: dict[str, Located] = {}
    at = _blank(text, _after(text, at, "{"))
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise ValueError(f"no name at character {at}")
        name, at = _DECODER.raw_decode(text, at)
        at = _blank(text, _after(text, _blank(text, at), ":"))
        if name in lists and text[at : at + 1] == "[":
            items, end = _items(text, at)
            members[name] = Located([item.value for item in items], at, end, items)
        else:
            value, end = _DECODER.raw_decode(text, at)
            members[name] = Located(value, at, end)
        at = _blank(text, end)
        if text[at : at + 1] != _MORE:
            return members, _after(text, at, "}")
        at = _blank(text, at + 1)


def _items(text: str, at: int) -> tuple[tuple[Located, ...], int]:
    items: list[Located] = []
    at = _blank(text, _after(text, at, "["))
    if text[at : at + 1] == "]":
        return (), at + 1
    while True:
        value, end = _DECODER.raw_decode(text, at)
        items.append(Located(value, at, end))
        at = _blank(text, end)
        if text[at : at + 1] != _MORE:
            return tuple(items), _after(text, at, "]")
        at = _blank(text, at + 1)


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at character {at}")
    return at + 1
