"""Options and results of an import, or of its preview. Frozen values, and their counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tacit.app.reasons import change_text
from tacit.model.changes import Add, Change, Contradict, Edit, Merge, Retire, Skip, Supersede

Action = Literal[
    "add", "merge", "supersede", "contradict", "edit", "forget", "unchanged", "skip", "removed", "refused"
]
MOST_LINES = 5_000
"""Lines of one report; counts stand for the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    Attributes:
        tool: `auto`, or whose format it is.
        vouched: the user says that these statements are as good as their own.
        universal: they hold everywhere, not in the project of the folder alone.
        any_project: also what belongs to other projects there.
        again: also what was imported before.
        forget_removed: forget what is gone from an edited file.
        dry_run: change nothing.
        project: folder whose project gets what an export holds of any project; "" = each its own.
    """

    tool: str = "auto"
    vouched: bool = False
    universal: bool = False
    any_project: bool = False
    again: bool = False
    forget_removed: bool = False
    dry_run: bool = False
    project: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLine:
    """The result for one statement.

    Attributes:
        action: what happened; `removed` = it is gone from an edited file and nobody said to forget it.
        where: file and place.
        text: its words.
        before: what it changed, or "".
        memory_id: the memory it became or changed.
        reason: why, or "".
    """

    action: Action
    where: str
    text: str = ""
    before: str = ""
    memory_id: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import.

    Attributes:
        formats: (path, tool) of what was read.
        counts: (action, how many), all of them.
        lines: what happened, in order; at most `MOST_LINES`.
        dry_run: whether nothing was stored.
        unconfirmed: statements that wait for the user, because neither they nor this home's signature vouch for them.
    """

    formats: tuple[tuple[str, str], ...]
    counts: tuple[tuple[str, int], ...]
    lines: tuple[ImportLine, ...]
    dry_run: bool
    unconfirmed: int = 0


@dataclass(slots=True)
class ImportTally:
    """Lines as they come. `confirmed` = how many of those counted so far need no word of the user."""

    lines: list[ImportLine] = field(default_factory=list[ImportLine])
    counts: Counter[str] = field(default_factory=Counter[str])
    confirmed: int = 0

    @property
    def stated(self) -> int:
        """Return the number of imported statements."""
        return self.counts["add"] + self.counts["contradict"] + self.counts["supersede"]

    def add(self, line: ImportLine) -> None:
        """Count one, and keep it while there is room; refusals are kept before others."""
        self.counts[line.action] += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)

    def change(self, change: Change, where: str) -> None:
        """Count what capture decided."""
        match change:
            case Add():
                line = ImportLine(
                    action="add", where=where, text=change.memory.content, memory_id=change.memory.id
                )
            case Merge():
                line = ImportLine(
                    action="merge", where=where, text=change.memory.content, memory_id=change.memory.id
                )
            case Supersede():
                line = ImportLine(
                    action="supersede",
                    where=where,
                    text=change.memory.content,
                    memory_id=change.memory.id,
                    before=change.old_id,
                    reason=change_text(change.reason),
                )
            case Contradict():
                line = ImportLine(
                    action="contradict",
                    where=where,
                    text=change.memory.content,
                    memory_id=change.memory.id,
                    before=change.other_id,
                    reason=change_text(change.reason),
                )
            case Edit():
                line = ImportLine(
                    action="edit", where=where, text=change.memory.content, memory_id=change.memory.id
                )
            case Retire():
                line = ImportLine(
                    action="forget",
                    where=where,
                    memory_id=change.memory_id,
                    reason=change_text(change.reason),
                )
            case Skip() if change.memory_id:
                line = ImportLine(
                    action="unchanged", where=where, text=change.content, memory_id=change.memory_id
                )
            case Skip():
                line = ImportLine(
                    action="refused", where=where, text=change.content, reason=change_text(change.reason)
                )
        self.add(line)
