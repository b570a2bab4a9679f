"""The visibility of a memory. A `Scope` is a value; a `ScopeFilter` holds the scopes that a caller may see, empty = none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tacit.errors import InvalidScope

TASK_MARK = ":task:"
"""Between a project's id and a task's name: `project:shop:task:debugging` is seen only where that task is at hand."""


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

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read `kind:key`; languages in any case.

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
    """Scope of a whole project."""
    return Scope(kind=ScopeKind.PROJECT, key=project_id)


def path_scopes(project_id: str, paths: Iterable[str]) -> tuple[Scope, ...]:
    """Scopes of every folder above `paths` (relative to the project root), sorted, without the root itself."""
    folders: set[str] = set()
    for path in paths:
        segments = [segment for segment in path.replace("\\", "/").split("/") if segment not in ("", ".")]
        if ".." in segments:
            continue
        folders.update("/".join(segments[: i + 1]) for i in range(len(segments)))
    return tuple(Scope(kind=ScopeKind.PATH, key=f"{project_id}/{folder}") for folder in sorted(folders))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeFilter:
    """The scopes that a caller may see. Every search takes one; an empty filter sees nothing."""

    scopes: tuple[Scope, ...] = ()

    @classmethod
    def of(cls, *scopes: Scope) -> ScopeFilter:
        """Filter that shows exactly these scopes (sorted, without repeats)."""
        return cls(scopes=tuple(sorted(set(scopes))))

    def allows(self, scope: Scope) -> bool:
        """Whether a memory of `scope` may be seen."""
        return scope in self.scopes
