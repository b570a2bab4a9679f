"""Options and results of an import, and the owner of each imported memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal

from tacit.app.reasons import change_text
from tacit.frozen import frozen
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.model.scope import Scope
from tacit.ports.store import ProjectRecord, ProjectStore

# The owner of an imported memory. In: its scope, and the projects in the file. Out: the scope in this home, and the known project.
#
# A memory goes to the project that it was exported from, by the project's id (which is made of its remote, so that a clone elsewhere is the
# same project); where the user names a folder, to that folder's project. A file that nobody vouches for gives a project no more
# than its id: what it says of remotes and links is not taken.

MAX_NAME = 200
_HASH = re.compile(r"-[0-9a-f]{10}$")


class Owners:
    """Decides for one import which project and scope each memory belongs to."""

    def __init__(
        self, store: ProjectStore, *, onto: ProjectRecord | None, dry_run: bool, now_ms: int
    ) -> None:
        """Assign everything that belongs to a project to `onto`, if there is one; `now_ms` = when unknown projects are first seen."""
        self._store = store
        self._onto = onto
        self._dry_run = dry_run
        self._now_ms = now_ms
        self._told: dict[str, ProjectRecord] = {}
        self._known: set[str] | None = None

    def note_project(self, project: ProjectRecord) -> None:
        """Remember a project as a trusted file describes it; `register` stores it when a memory of it is imported."""
        self._told[project.id] = project

    def scope_here(self, scope: Scope) -> Scope:
        """Return the scope under which a memory of `scope` in the file is stored: where a project was named for the import, that project's."""
        own = scope.project_id
        if self._onto is None or own is None:
            return scope
        return replace(scope, key=self._onto.id + scope.key.removeprefix(own))

    def register(self, scope: Scope) -> None:
        """Store the project of `scope` if the store does not know it, so that what belongs to it can be seen; not in a dry run."""
        name = scope.project_id
        if name is None or self._dry_run:
            return
        if self._known is None:
            self._known = {project.id for project in self._store.projects()}
        if name in self._known:
            return
        self._known.add(name)
        if self._onto is not None and self._onto.id == name:
            self._store.put_project(replace(self._onto, first_seen_ms=self._now_ms))
            return
        described = self._told.get(name)
        record = ProjectRecord(
            id=name, name=_HASH.sub("", name)[:MAX_NAME], root="", first_seen_ms=self._now_ms
        )
        if described is not None:
            record = replace(
                record,
                name=described.name[:MAX_NAME] or record.name,
                remote=described.remote[: MAX_NAME * 5],
                first_seen_ms=described.first_seen_ms or self._now_ms,
                links=described.links,
            )
        self._store.put_project(record)


# Options and results of an import, or of its preview. Frozen values, and their counts.

Action = Literal[
    "add", "merge", "supersede", "contradict", "edit", "forget", "unchanged", "skip", "removed", "refused"
]
MOST_LINES = 5_000
"""Most lines of one report; further ones are only counted."""


@frozen
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


@frozen
class ImportLine:
    """The result of an import for one statement.

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


@frozen
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
    """Collects the lines and counts of one import. `confirmed` = how many of those counted so far need no word of the user."""

    lines: list[ImportLine] = field(default_factory=list[ImportLine])
    counts: Counter[str] = field(default_factory=Counter[str])
    confirmed: int = 0

    @property
    def stated(self) -> int:
        """How many statements were stored as new: added, contradicting or superseding."""
        return self.counts["add"] + self.counts["contradict"] + self.counts["supersede"]

    def add(self, line: ImportLine) -> None:
        """Count one line, and keep it if fewer than `MOST_LINES` are kept."""
        self.counts[line.action] += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)

    def change(self, change: Change, where: str) -> None:
        """Count a change that capture made, and add its line to the report. `where` = file and place of the statement."""
        before = reason = ""
        match change:
            case Add():
                action: Action = "add"
            case Merge():
                action = "merge"
            case Rewrite():
                action = "edit"
            case Supersede():
                action, before, reason = "supersede", change.old_id, change_text(change.reason)
            case Contradict():
                action, before, reason = "contradict", change.other_id, change_text(change.reason)
            case Retire():
                action, reason = "forget", change_text(change.reason)
            case Skip():
                known = bool(change.memory_id)
                action = "unchanged" if known else "refused"
                reason = "" if known else change_text(change.reason)
        if isinstance(change, Retire | Skip):
            memory_id, text = change.memory_id, change.content if isinstance(change, Skip) else ""
        else:
            memory_id, text = change.memory.id, change.memory.content
        self.add(
            ImportLine(
                action=action, where=where, text=text, before=before, memory_id=memory_id, reason=reason
            )
        )
