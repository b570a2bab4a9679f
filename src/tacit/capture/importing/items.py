"""Entries of another tool's store, before they become drafts. Frozen values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.model.memory import Memory, Sensitivity
from tacit.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignStatement:
    """One statement of another tool.

    Attributes:
        tool: name of the tool, such as `sugar`.
        original_id: its id there; "" = the tool has none, then its words are its id.
        content: the words.
        kind: name of one of our kinds; "" = read from the words.
        at_ms: when it was said; 0 = unknown.
        tags: its tags there.
        files: paths it speaks of.
        importance: 0-1; None = the kind's own.
        project: name of the project it belongs to there; "" = unknown.
        where: file and place it was read from.
        scope: whose it is; None = of what the import is for.
        sensitivity: where it may appear.
        original: the memory that an export of Tacit holds; None = it is another tool's.
    """

    tool: str
    original_id: str
    content: str
    kind: str = ""
    at_ms: int = 0
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    importance: float | None = None
    project: str = ""
    where: str = ""
    scope: Scope | None = None
    sensitivity: Sensitivity = Sensitivity.PROJECT
    original: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedHook:
    """What was not read, and why; `meant` = the other tool itself holds it no more."""

    where: str
    reason: str
    meant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """One format.

    Attributes:
        tool: its name, for `--from`.
        about: what it reads, in a few words.
        knows: whether a file or folder is of this format, by its content.
        read: what it holds; refusals instead of errors.
    """

    tool: str
    about: str
    knows: Callable[[Path], bool]
    read: Callable[[Path], Iterator[ForeignStatement | RefusedHook]]
