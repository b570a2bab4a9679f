"""Requests of pages and programs besides recall: lists with counts, search, relations, manual replacement, verdicts.

In: filters, ids, words. Out: memories and rows. Sees everything in the store: it is the owner who asks. Every change is one
transaction and a version in the history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from tacit.app.admin.learned import DigestReader, LearnedReader
from tacit.app.admin.purging import Purger
from tacit.app.admin.recalls import Recalls
from tacit.app.admin.series import Charts
from tacit.app.admin.settings import SettingsAdmin
from tacit.app.maintenance.maintenance import JobRunner
from tacit.app.memories import Memories
from tacit.app.projects import FolderProjects
from tacit.app.values import OpenStore, Parts
from tacit.app.visibility import MemorySearch
from tacit.errors import InvalidInput
from tacit.frozen import frozen
from tacit.model.kinds import Kind
from tacit.model.memory import Memory, Relation, Sensitivity
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, ProjectRecord, ValueStore
from tacit.state.counted import Mark, Marks, Verdict
from tacit.state.registry import MARKS, VERDICTS


@frozen
class ProjectCount:
    """A project, and how many active memories its scope holds."""

    project: ProjectRecord
    active: int


class Verdicts:
    """Stores the owner's verdicts on injections. Safe to use from several threads.

    A verdict names a recall and a memory of it; the last one of a pair holds. All are one named value of the store: ids, numbers and
    times, no text. `tune` reads them.
    """

    def __init__(self, store: ValueStore) -> None:
        self._store = store
        self._lock = Lock()

    def all(self) -> tuple[Verdict, ...]:
        """Return all stored verdicts, oldest first."""
        return VERDICTS.read(self._store)

    def of(self, trace_id: str) -> tuple[Verdict, ...]:
        """Return the verdicts on one recall."""
        return tuple(verdict for verdict in self.all() if verdict.trace_id == trace_id)

    def record(
        self, trace: Trace, memory_ids: Sequence[str], *, useful: bool, at_ms: int
    ) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
        """Store one verdict, `useful` or not, on each of `memory_ids`; () = on everything that the recall injected.

        Returns:
            The verdicts, and those of them that are new.

        Raises:
            InvalidInput: if one of them was no candidate of the recall, or nothing was injected and none is named.
        """
        relevance_of = {candidate.memory_id: candidate.relevance for candidate in trace.candidates}
        judged_ids = tuple(dict.fromkeys(memory_ids)) or trace.injected
        if not judged_ids:
            raise InvalidInput(f"{trace.id} injected nothing.", hint="Name the memory that should have come.")
        for name in judged_ids:
            if name not in relevance_of and name not in trace.injected:
                raise InvalidInput(
                    f"{name} was no candidate of {trace.id}.",
                    hint="Name one of its candidates by its whole id.",
                )
        verdicts = tuple(
            Verdict(
                trace_id=trace.id,
                memory_id=name,
                useful=useful,
                injected=name in trace.injected,
                surface=trace.surface.value,
                relevance=relevance_of.get(name, 1.0),
                threshold=trace.threshold,
                trace_at_ms=trace.at_ms,
                at_ms=at_ms,
            )
            for name in judged_ids
        )
        with self._lock:
            before = {(verdict.trace_id, verdict.memory_id): verdict for verdict in self.all()}
            new = tuple(
                verdict
                for verdict in verdicts
                if (earlier := before.pop((verdict.trace_id, verdict.memory_id), None)) is None
                or earlier.useful != useful
            )
            VERDICTS.write(self._store, (*before.values(), *verdicts))
        return verdicts, new


class Admin:
    """The owner's requests over one open store."""

    def __init__(self, opened: OpenStore, *, memories: Memories, jobs: JobRunner) -> None:
        self._parts = parts = opened.parts
        self._projects, self._changed = opened.projects, opened.changed
        self.feed = opened.sessions.feed
        self._store = parts.store
        self._memories = memories
        self.search = MemorySearch(parts.store, parts.embedder)
        self.recalls = Recalls(parts.store, settle=opened.settle)
        self.purging = Purger(opened, jobs=jobs)
        self.charts = Charts(parts.store, retention=lambda: parts.settings.current().retention)
        self.marks = MarkReader(parts)
        self.verdicts = Verdicts(parts.store)
        self.digests = DigestReader(opened)
        self.learned = LearnedReader(opened, digests=self.digests)
        self.options = SettingsAdmin(opened)

    # --- looking

    def scopes(self, selected: Sequence[Scope], *, within: ScopeFilter | None = None) -> ScopeFilter:
        """Return a filter of the scopes `selected`; () = all of `within`, and None for that = every scope of the store.

        A project stands for its paths and tasks, too.
        """
        everything = within or self._store.scopes()
        if not selected:
            return everything
        names = {str(scope) for scope in selected}
        projects = {scope.project_id for scope in selected if scope == project_scope(scope.project_id or "")}
        return ScopeFilter.of(
            *(
                scope
                for scope in everything.scopes
                if str(scope) in names or (scope.project_id or "-") in projects
            )
        )

    def count(self, where: MemoryFilter, *, scope: ScopeFilter | None) -> int:
        """Count all memories that fit `where`, whatever its page; `scope` None = everything."""
        return self._store.count_memories(replace(where, after=None), scope=scope or self._store.scopes())

    def relations(self, memory_id: str) -> tuple[tuple[Relation, ...], tuple[Memory, ...]]:
        """Return the relations of a memory, strongest first, and the memories at their other ends."""
        everything = self._store.scopes()
        relations = [
            relation
            for relation in self._store.relations([memory_id], scope=everything)
            if relation.weight > 0
        ]
        relations.sort(
            key=lambda relation: (-relation.weight, relation.source_id, relation.target_id, relation.type)
        )
        neighbor_ids = dict.fromkeys(
            end
            for relation in relations
            for end in (relation.source_id, relation.target_id)
            if end != memory_id
        )
        return tuple(relations), self._store.get(list(neighbor_ids), scope=everything)

    def projects(self, *, levels: tuple[Sensitivity, ...] | None = None) -> tuple[ProjectCount, ...]:
        """List projects by name, each with its active memories; only memories of these `levels` (None = any) count."""
        where = MemoryFilter(sensitivities=levels)
        counts = [
            ProjectCount(
                project=project, active=self.count(where, scope=self.scopes([project_scope(project.id)]))
            )
            for project in self._store.projects()
        ]
        return tuple(sorted(counts, key=lambda row: (row.project.name, row.project.id)))

    def membership(self, cwd: str) -> FolderProjects:
        """Return the project of a folder, and what else may belong to it."""
        return self._projects.membership(cwd)

    def kinds(self) -> tuple[Kind, ...]:
        """Return the kinds that are defined now."""
        return tuple(self._parts.kinds)

    def as_of(self, memory_id: str, at_ms: int) -> Memory | None:
        """Return the version of a memory that was stored at `at_ms`; None = there was none yet."""
        scope = self._store.scopes()
        versions = self._store.recorded(scope=scope, limit=10_000, memory_id=memory_id)
        return next((version.memory for version in versions if version.at_ms <= at_ms), None)

    # --- changing

    def share_project(self, cwd: str, *, joined: bool) -> FolderProjects:
        """Let a folder share the memories that may belong to it, or keep it apart; see `ProjectRegistry.join` and `ProjectRegistry.separate`."""
        membership = self._projects.join(cwd) if joined else self._projects.separate(cwd)
        self._changed()
        return membership

    def judge_recall(self, trace_id: str, memory_ids: Sequence[str], *, useful: bool) -> tuple[Verdict, ...]:
        """Store the owner's verdict on memories of a recall, and apply each new one to the memory as feedback; return the verdicts.

        Raises:
            NotFound, InvalidInput: see `Verdicts.record`.
        """
        trace = self.recalls.trace(trace_id)
        verdicts, new = self.verdicts.record(
            trace, memory_ids, useful=useful, at_ms=self._parts.clock.now_ms()
        )
        scope = self._store.scopes()
        for memory in self._store.get([verdict.memory_id for verdict in new], scope=scope):
            self._memories.feedback(memory, useful=useful)
        return verdicts


# --- marks of charts

FINGERPRINT_CHARS = 12


class MarkReader:
    """Reads the marks of charts: changes of settings, and imports, with their times.

    A read stores a new mark if the settings changed since the last one. Safe to use from several threads.

    Changes of settings are found by comparing fingerprints with the last look, so that it does not matter whether the page, a command
    or an editor made them. Stores names of settings, never their values.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = Lock()

    def between(self, since_ms: int, until_ms: int) -> tuple[Mark, ...]:
        """Return the marks of that time, oldest first. First stores a mark if the settings changed since the last call."""
        return tuple(mark for mark in self._looked().marks if since_ms <= mark.at_ms < until_ms)

    def _looked(self) -> Marks:
        report = self._parts.settings.report()
        settings = {key: _fingerprint(report.origins[key][-1].value) for key in report.changed()}
        with self._lock:
            before = MARKS.find(self._parts.store)
            if before is not None and before.settings == settings:
                return before
            after = replace(before or Marks(), settings=settings)
            if before is not None and before.settings is not None:
                known = before.settings
                names = sorted(key for key in {*known, *settings} if known.get(key) != settings.get(key))
                after = after.noted(Mark(at_ms=self._written_ms(), what="settings", about=tuple(names)))
            MARKS.write(self._parts.store, after)
            return after

    def _written_ms(self) -> int:
        """Return when the user's settings file was written last, in milliseconds; now if it cannot be read."""
        try:
            return self._parts.home.config_file.stat().st_mtime_ns // 1_000_000
        except OSError:
            return self._parts.clock.now_ms()


def _fingerprint(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()[:FINGERPRINT_CHARS]
