"""Entries of another tool's store, and the drafts that are made of them.

A draft's provenance holds the tool and the original id as host and session. The time begins its validity, and the tags are among the
trigger's topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.capture.bootstrap.sources import kind_of_rule
from tacit.capture.marks import kind_of
from tacit.model.changes import Draft
from tacit.model.memory import Memory, Provenance, Sensitivity, TrustTier
from tacit.model.scope import Scope
from tacit.reading.trigger import make_trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignStatement:
    """A statement of another tool.

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
    """An entry that was not read, and why; `meant` = the other tool itself holds it no more."""

    where: str
    reason: str
    meant: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """A format.

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


SOURCE = "import"
MAX_SPAN = 500


def draft_of(item: ForeignStatement, *, scope: Scope, vouched: bool, now_ms: int) -> Draft:
    """Make a draft; `vouched` = the user said that these statements are as good as their own words."""
    kind = item.kind or (kind_of_rule if item.tool == "rules" else kind_of)(item.content)
    original = item.original
    trigger = original.trigger if original else make_trigger(item.content, kind=kind, files=item.files)
    if item.tags:
        trigger = replace(trigger, topics=tuple(dict.fromkeys((*trigger.topics, *item.tags))))
    return Draft(
        content=item.content,
        kind=kind,
        scope=scope,
        provenance=Provenance(
            tier=TrustTier.USER if vouched else TrustTier.IMPORT,
            source=SOURCE,
            host=item.tool,
            session_id=item.original_id,
            span=item.content[:MAX_SPAN],
            original_tier=original.provenance.tier if original else None,
        ),
        at_ms=min(item.at_ms, now_ms) or now_ms,
        dated=bool(item.at_ms),
        importance=item.importance,
        explicit=vouched,
        confirmed=vouched,
        trigger=trigger,
        files=item.files,
        sensitivity=item.sensitivity,
        confidence=original.confidence if original else 1.0,
        error_signature=original.error_signature if original else "",
    )
