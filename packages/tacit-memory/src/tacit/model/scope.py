"""The visibility of a memory. A `Scope` is a value; a `ScopeFilter` holds the scopes that a caller may see, empty = none."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from tacit.errors import InvalidScope
from tacit.frozen import frozen

TASK_MARK = ":task:"
"""Between a project's id and a task's name: `project:shop:task:debugging` is seen only where that task is at hand."""

USER_FOLDER = "user:"
"""Begins what stands in the place of a working folder for one user of a program with many: `user:ana`."""
MAX_USER_CHARS = 500
"""The longest name of such a user."""
_USER_PROJECT = "user~"
"""Begins the id of such a user's project; no other project's id holds a `~`."""


class ScopeKind(StrEnum):
    """The six kinds of scope, widest first."""

    UNIVERSAL = "universal"
    LANGUAGE = "language"
    PROJECT = "project"
    PATH = "path"
    AGENT = "agent"
    SESSION = "session"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Scope:
    """A scope, written `kind:key` (`universal` has no key).

    Keys: language name; project id, maybe with `:task:<name>`; `<project id>/<relative folder>` for a path; agent name; `<host>/<session id>`.
    """

    kind: ScopeKind
    key: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.key}" if self.key else self.kind.value

    @property
    def project_id(self) -> str | None:
        """The project this scope belongs to, for project and path scopes."""
        if self.kind is ScopeKind.PROJECT:
            return self.key.split(TASK_MARK, 1)[0]
        if self.kind is ScopeKind.PATH:
            return self.key.split("/", 1)[0]
        return None

    @property
    def task(self) -> str:
        """The task that a project scope is narrowed to, or empty."""
        return self.key.partition(TASK_MARK)[2] if self.kind is ScopeKind.PROJECT else ""

    @property
    def of_user(self) -> bool:
        """Whether the scope is, or lies in, the project of one user of a program with many users."""
        return (self.project_id or "").startswith(_USER_PROJECT)

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Return the scope that `kind:key` names; the key of a language is folded to lower case.

        Raises:
            InvalidScope: if the kind is unknown or a needed key is missing.
        """
        head, _, key = text.strip().partition(":")
        try:
            kind = ScopeKind(head)
        except ValueError:
            names = ", ".join(k.value for k in ScopeKind)
            raise InvalidScope(f"Unknown scope {text!r}.", hint=f"Known scopes: {names}.") from None
        if (kind is ScopeKind.UNIVERSAL) == bool(key):
            raise InvalidScope(
                f"Scope {text!r} is malformed.",
                hint="Write `universal`, or `kind:key`, e.g. `language:python`.",
            )
        return cls(kind=kind, key=key.casefold() if kind is ScopeKind.LANGUAGE else key)


UNIVERSAL = Scope(kind=ScopeKind.UNIVERSAL)


def project_scope(project_id: str) -> Scope:
    """Return the scope of a whole project."""
    return Scope(kind=ScopeKind.PROJECT, key=project_id)


def is_user_name(name: object) -> bool:
    """Whether `name` can name a user of a program: a text of 1 to 500 characters that can be seen, without NUL."""
    return isinstance(name, str) and bool(name.strip()) and len(name) <= MAX_USER_CHARS and "\0" not in name


def user_project_id(user: str) -> str:
    """Return the id of the project that holds the memories of one user of a program: `user~`, readable words of the name, `-` and 32 hexadecimal digits of its SHA-256."""
    words = re.sub(r"[^a-z0-9._-]+", "-", user.lower()).strip("-")[:40] or "user"
    digest = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{_USER_PROJECT}{words}-{digest}"


def path_scopes(project_id: str, paths: Iterable[str]) -> tuple[Scope, ...]:
    """Return the path scopes of each of `paths` (relative to the project root) and of every folder above it, sorted, without the root.

    Paths with `..` are skipped.
    """
    folders: set[str] = set()
    for path in paths:
        segments = [segment for segment in path.replace("\\", "/").split("/") if segment not in ("", ".")]
        if ".." in segments:
            continue
        folders.update("/".join(segments[: i + 1]) for i in range(len(segments)))
    return tuple(Scope(kind=ScopeKind.PATH, key=f"{project_id}/{folder}") for folder in sorted(folders))


Lent = Literal["public", "preferences"]
"""What may be seen of other projects: memories of the sensitivity public, the user's preferences. `Memory.lent_as` says which memory is which."""


@frozen
class ScopeFilter:
    """The scopes that a caller may see, and what they may see of other projects (`lent`). Every search takes one; an empty filter sees nothing."""

    scopes: tuple[Scope, ...] = ()
    lent: tuple[Lent, ...] = ()

    @classmethod
    def of(cls, *scopes: Scope, lent: tuple[Lent, ...] = ()) -> ScopeFilter:
        """Return a filter that shows exactly these scopes (sorted, without repeats), and what other projects lend."""
        return cls(scopes=tuple(sorted(set(scopes))), lent=lent)

    @classmethod
    def compared_with(cls, scope: Scope) -> ScopeFilter:
        """Return a filter of the scopes whose memories a new statement of `scope` is compared with: its own and the universal one; for a user of a program its own alone."""
        return cls.of(scope) if scope.of_user else cls.of(scope, UNIVERSAL)

    def allows(self, scope: Scope, lent: str = "") -> bool:
        """Whether a memory of `scope` may be seen; `lent` = why other projects may see it (`Memory.lent_as`), "" = they may not."""
        return scope in self.scopes or lent in self.lent
