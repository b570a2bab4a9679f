"""The owner of an imported memory. In: its scope, and the projects in the file. Out: the scope in this home, and the known project.

A memory goes to the project that it was exported from, by the project's id (which is made of its remote, so that a clone elsewhere is the
same project); where the user names a folder, to that folder's project. A file that nobody vouches for gives a project no more
than its id: what it says of remotes and links is not taken.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tacit.model.scope import Scope
from tacit.ports.store import ProjectRecord, ProjectStore

MAX_NAME = 200
_HASH = re.compile(r"-[0-9a-f]{10}$")


class Owners:
    """Projects of one import."""

    def __init__(
        self, store: ProjectStore, *, onto: ProjectRecord | None, dry_run: bool, now_ms: int
    ) -> None:
        """Give everything that belongs to a project to `onto` where there is one; `now_ms` = when unknown ones are first seen."""
        self._store = store
        self._onto = onto
        self._dry_run = dry_run
        self._now_ms = now_ms
        self._told: dict[str, ProjectRecord] = {}
        self._known: set[str] | None = None

    def meet(self, project: ProjectRecord) -> None:
        """Take what a file that is believed says of a project."""
        self._told[project.id] = project

    def scope_of(self, scope: Scope) -> Scope:
        """Return the scope in this home for `scope` in the file."""
        own = scope.project_id
        if self._onto is None or own is None:
            return scope
        return replace(scope, key=self._onto.id + scope.key.removeprefix(own))

    def register(self, scope: Scope) -> None:
        """Make the project of `scope` known, so that what belongs to it can be seen, named and added to."""
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
