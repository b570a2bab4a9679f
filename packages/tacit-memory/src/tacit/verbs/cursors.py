"""Where a list goes on: opaque texts that stay right when something is added in front. In: a place. Out: a text, and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from tacit.errors import InvalidInput

if TYPE_CHECKING:
    from tacit.verbs.requests import Page

MAX_CHARS = 400
Place = tuple[int, str]
"""The position of a row: its time in milliseconds and its id. With an empty id the number is a count of rows to skip."""
_RowT = TypeVar("_RowT")


def to_cursor(place: Place) -> str:
    """Return the opaque text of a position, for a query string."""
    text = json.dumps(place, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def from_cursor(cursor: str) -> Place:
    """Return the position that a cursor stands for.

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
    """Return how many rows a cursor skips. The cursor must be of the form `to_cursor((n, ""))`.

    Raises:
        InvalidInput: if it is none of ours.
    """
    count, name = from_cursor(cursor)
    if name or count > 10_000_000:
        raise InvalidInput("`cursor` is no cursor of this list.", hint="Give `next_cursor` back as it came.")
    return count


def part_of(
    fetch: Callable[[int], Sequence[_RowT]], request: Page, name: Callable[[_RowT], str]
) -> tuple[Sequence[_RowT], str | None]:
    """Return the next rows of a list, which begin after the row that the cursor names, and the cursor of the rest; None = there is no rest.

    Args:
        fetch: returns at least the first n rows of the list, if there are so many.
        request: names the part.
        name: tells a row from all others, also when rows are added to the list.

    Raises:
        InvalidInput: if the cursor is none of this list, or its row is gone.
    """
    most = request.limit + 1
    after = from_cursor(request.cursor)[1] if request.cursor else None
    while True:
        rows = fetch(most)
        start = (
            next((n for n, row in enumerate(rows, 1) if _digest(name(row)) == after), None) if after else 0
        )
        more = start is not None and len(rows) - start > request.limit
        if more or len(rows) < most:
            break
        most *= 4
    if start is None:
        raise InvalidInput(
            "The row where `cursor` ended is gone, or it is of another list.",
            hint="Ask for the first part again.",
        )
    part = rows[start : start + request.limit]
    return part, to_cursor((0, _digest(name(part[-1])))) if more else None


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
