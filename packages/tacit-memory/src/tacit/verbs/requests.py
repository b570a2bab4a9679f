"""What the requests of several verbs have in common, and where a list goes on. Unknown fields are refused; sizes are limited here.

In: JSON, query strings, arguments of tools. Out: checked values. Never touches the engine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Annotated, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tacit.errors import InvalidInput, TacitError
from tacit.model.memory import MemoryStatus
from tacit.model.scope import MAX_USER_CHARS, USER_FOLDER, Scope, ScopeKind, is_user_name
from tacit.model.session import SessionKey

MAX_IMPORT_BYTES = 32_000_000
"""The most bytes of an import request; for larger files the request names a `path`."""
MAX_CONTENT_CHARS = 1_000_000
MOST_TOKENS = 20_000
"""The largest number of tokens that one answer may be asked for."""
MOST_MS = 2**53 - 1
"""The largest time in milliseconds: every JSON parser represents it exactly."""


def _absolute(path: str) -> str:
    if "\0" in path:
        raise ValueError("no path has a NUL character")
    if path and not PurePath(path).is_absolute():
        raise ValueError(f"{path[:80]!r} is no absolute path; give one such as /home/ana/shop")
    return path


def _place(path: str) -> str:
    if not path.startswith(USER_FOLDER):
        return _absolute(path)
    if not is_user_name(path.removeprefix(USER_FOLDER)):
        raise ValueError(
            f"`{USER_FOLDER}` stands before the name of a user, of 1 to {MAX_USER_CHARS} characters"
        )
    return path


def _scope(text: str) -> str:
    try:
        Scope.parse(text)
    except TacitError as error:
        raise ValueError(str(error)) from error
    return text


def _scope_or_here(text: str) -> str:
    return text if text == ScopeKind.PROJECT else _scope(text)


Folder = Annotated[str, Field(max_length=4096), AfterValidator(_absolute)]
Place = Annotated[str, Field(max_length=4096), AfterValidator(_place)]
"""A folder, or `user:NAME` for the memories of one user of a program with many."""
ScopeText = Annotated[str, Field(max_length=4096), AfterValidator(_scope)]
NewScope = Annotated[str, Field(max_length=4096), AfterValidator(_scope_or_here)]
"""A scope for a memory; `project` = the project of the folder that the request names."""
Name = Annotated[str, Field(min_length=1, max_length=500)]
Millis = Annotated[int, Field(ge=0, le=MOST_MS)]
UserWords = Annotated[
    str,
    Field(
        max_length=4000,
        description="for a caller without the user's authority: the user's words about it, verbatim from one prompt",
    ),
]
AskedSurface = Literal["start", "prompt", "action", "failure", "compaction", "subagent", "on_demand"]
StoredStatus = Literal[MemoryStatus, "all"]


class Request(BaseModel):
    """The base class of all requests. Unknown fields are refused."""

    # Deferred: a daemon that serves hooks alone never pays for these.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Page(Request):
    """A request for a page of a list: the number of rows, and where it begins."""

    limit: int = Field(default=50, ge=1, le=500, description="most rows in one answer")
    cursor: str | None = Field(default=None, max_length=400, description="`next_cursor` of the part before")


class LongPage(Page):
    """A request for a page of a list that usually fits into one answer: the default is 500 rows."""

    limit: int = Field(default=500, ge=1, le=500, description="most rows in one answer")


class NoBody(Request):
    """A request without fields."""


class OfMemory(Request):
    """A request about one memory."""

    id: Name = Field(description="id of a memory, or its beginning or ending, where that is unique")


class OfTrace(Request):
    """A request about one recorded recall."""

    id: Name = Field(description="id of a trace")


class SessionName(Request):
    """The name of a session: the host, and the host's id of the session."""

    host: str = Field(min_length=1, max_length=100, description="name of the host")
    session_id: str = Field(min_length=1, max_length=500, description="the host's id of the session")

    @property
    def key(self) -> SessionKey:
        """Return the key of the session."""
        return SessionKey(host=self.host, session_id=self.session_id)


Whens = (
    Annotated[str, Field(max_length=2000)]
    | Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=20)]
)


class AtFolder(Request):
    """A request about the project of a folder."""

    cwd: Folder = Field(min_length=1, description="working folder")


# Where a list goes on: opaque texts that stay right when something is added in front. In: a place. Out: a text, and back.

_Position = tuple[int, str]
"""The position of a row: its time in milliseconds and its id. With an empty id the number is a count of rows to skip."""
RowT = TypeVar("RowT")


def to_cursor(place: _Position) -> str:
    """Return the opaque text of a position, for a query string."""
    text = json.dumps(place, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii").rstrip("=")


def from_cursor(cursor: str) -> _Position:
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
    fetch: Callable[[int], Sequence[RowT]], request: Page, name: Callable[[RowT], str]
) -> tuple[Sequence[RowT], str | None]:
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
