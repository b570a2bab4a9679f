"""What the requests of several verbs have in common. Unknown fields are refused; sizes are limited here.

In: JSON, query strings, arguments of tools. Out: checked values. Never touches the engine.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tacit.errors import TacitError
from tacit.model.memory import MemoryStatus
from tacit.model.scope import MAX_USER_CHARS, USER_FOLDER, Scope, ScopeKind, is_user_name
from tacit.model.session import SessionKey
from tacit.verbs.cursors import MAX_CHARS as MAX_CURSOR_CHARS

MAX_IMPORT_BYTES = 32_000_000
"""The most bytes of an import request; for larger files the request names a `path`."""
MAX_CONTENT_CHARS = 1_000_000
MOST_TOKENS = 20_000
"""The largest number of tokens that one answer may be asked for."""
MOST_MS = 2**53 - 1
"""The largest time in milliseconds: every JSON parser represents it exactly."""


def _absolute(path: str) -> str:
    if path and not PurePath(path).is_absolute():
        raise ValueError("an absolute path")
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
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="`next_cursor` of the part before"
    )


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
