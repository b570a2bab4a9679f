"""Where a list goes on: opaque texts that stay right when something is added in front. In: a place. Out: a text, and back."""

from __future__ import annotations

import base64
import binascii
import json
from typing import cast

from tacit.errors import InvalidInput

MAX_CHARS = 400
Place = tuple[int, str]
"""A time in milliseconds and an id; or, with an empty id, a number of rows."""


def to_cursor(place: Place) -> str:
    """`place` as a text for a query string."""
    text = json.dumps(place, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def from_cursor(cursor: str) -> Place:
    """The place behind a cursor.

    Raises:
        InvalidInput: if it is none of ours.
    """
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("utf-8", "surrogatepass")
        decoded = cast(object, json.loads(text))
    except (binascii.Error, ValueError, RecursionError):
        decoded = None
    match decoded:
        case [int(at), str(name)] if not isinstance(at, bool) and 0 <= at < 2**53:
            return at, name
        case _:
            raise InvalidInput(
                "`cursor` is no cursor of this list.", hint="Give `next_cursor` back as it came."
            )


def rows_before(cursor: str) -> int:
    """How many rows a cursor leaves out; see `to_cursor((n, ""))`.

    Raises:
        InvalidInput: if it is none of ours.
    """
    count, name = from_cursor(cursor)
    if name or count > 10_000_000:
        raise InvalidInput("`cursor` is no cursor of this list.", hint="Give `next_cursor` back as it came.")
    return count
