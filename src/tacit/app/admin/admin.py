"""Requests of pages and programs besides recall: lists with counts, search, relations, manual replacement, verdicts.

In: filters, ids, words. Out: memories and rows. Sees everything in the store: it is the owner who asks. Every change is one
transaction and a version in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tacit.app.admin.digests import DigestReader
from tacit.app.admin.feed import TraceFeed
from tacit.app.admin.graph import Graph, graph_of
from tacit.app.admin.learned import LearnedReader
from tacit.app.admin.purging import Purger
from tacit.app.admin.recalls import Recalls
from tacit.app.admin.series import Charts
from tacit.app.admin.settings import SettingsAdmin
from tacit.app.admin.verdicts import Verdicts
from tacit.app.maintenance.review import Review
from tacit.app.memories import Memories
from tacit.app.parts import Parts
from tacit.app.projects import Membership, Projects
from tacit.app.queries.search import MemorySearch
from tacit.model.changes import Change
from tacit.model.kinds import Kind
from tacit.model.memory import Memory, Relation, Sensitivity
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, ProjectRecord, StoreStats
from tacit.recall.spaces import SPACES, Space
from tacit.state.counted import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCount:
    """A project, and how many active memories its scope holds."""

    project: ProjectRecord
    active: int


class Admin:
    """Answers the owner, over one open store. `settle` waits for what is written behind answers."""

    def __init__(
        self,
        parts: Parts,
        *,
        projects: Projects,
        memories: Memories,
        review: Review,
        settle: Callable[[], None],
        changed: Callable[[], None],
        feed: TraceFeed,
        reread: Callable[[], None],
    ) -> None:
        self._parts = parts
        self.feed = feed
        self._store = parts.store
        self._projects = projects
        self._memories = memories
        self._review = review
        self._settle = settle
        self._changed = changed
        self.search = MemorySearch(parts.store, parts.embedder)
        self.recalls = Recalls(parts.store, settle=settle)
        self.purging = Purger(parts, settle=settle, reread=reread, changed=changed)
        self.charts = Charts(parts.store, retention=lambda: parts.settings.current().retention)
        self.verdicts = Verdicts(parts.store)
        self.digests = DigestReader(parts.store, settle=settle, captures=lambda: _captures(parts))
        self.learned = LearnedReader(parts.store, digests=self.digests, settle=settle)
        self.options = SettingsAdmin(parts, projects=projects, changed=changed)

    # --- looking

    def scopes(self, wanted: Sequence[Scope], *, within: ScopeFilter | None = None) -> ScopeFilter:
        """These scopes alone; () = all of `within`, which is every scope of the store when None.

        A project stands for its paths and tasks, too.
        """
        everything = within or self._store.scopes()
        if not wanted:
            return everything
        names = {str(one) for one in wanted}
        projects = {one.project_id for one in wanted if one == project_scope(one.project_id or "")}
        return ScopeFilter.of(
            *(one for one in everything.scopes if str(one) in names or (one.project_id or "-") in projects)
        )

    def count(self, where: MemoryFilter, *, scope: ScopeFilter | None) -> int:
        """Return the length of the whole list; `scope` None = everything."""
        return self._store.count_memories(replace(where, after=None), scope=scope or self._store.scopes())

    def relations(self, memory_id: str) -> tuple[tuple[Relation, ...], tuple[Memory, ...]]:
        """The relations of a memory, strongest first, and the memories at their other ends."""
        everything = self._store.scopes()
        found = [one for one in self._store.relations([memory_id], scope=everything) if one.weight > 0]
        found.sort(key=lambda one: (-one.weight, one.source_id, one.target_id, one.type))
        others = dict.fromkeys(
            end for one in found for end in (one.source_id, one.target_id) if end != memory_id
        )
        return tuple(found), self._store.get(list(others), scope=everything)

    def graph(self, where: MemoryFilter, *, scope: ScopeFilter, limit: int) -> Graph:
        """Memories and how they hang together."""
        return graph_of(self._store, where, scope=scope, limit=limit)

    def projects(self, *, levels: tuple[Sensitivity, ...] | None = None) -> tuple[ProjectCount, ...]:
        """Projects by name; memories of other sensitivities than `levels` (None = any) are not counted."""
        where = MemoryFilter(sensitivities=levels)
        found = [
            ProjectCount(project=one, active=self.count(where, scope=self.scopes([project_scope(one.id)])))
            for one in self._store.projects()
        ]
        return tuple(sorted(found, key=lambda one: (one.project.name, one.project.id)))

    def membership(self, cwd: str) -> Membership:
        """The project of a folder, and what else may belong to it."""
        return self._projects.membership(cwd)

    def stored(self) -> StoreStats:
        """Counts of what is stored; cheap."""
        return self._store.stats()

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that hold."""
        return tuple(self._parts.kinds)

    def spaces(self) -> tuple[Space, ...]:
        """The ways to measure closeness, in their fixed order."""
        return tuple(SPACES.values())

    def as_of(self, memory_id: str, at_ms: int) -> Memory | None:
        """The version of a memory that was known at that time; None = it was not there yet."""
        scope = self._store.scopes()
        versions = self._store.recorded(scope=scope, limit=10_000, memory_id=memory_id)
        return next((one.memory for one in versions if one.at_ms <= at_ms), None)

    # --- changing

    def join(self, cwd: str) -> Membership:
        """Let a folder share the memories that may belong to it; see `Projects.join`."""
        joined = self._projects.join(cwd)
        self._changed()
        return joined

    def separate(self, cwd: str) -> Membership:
        """Keep a folder apart, or take it out of the project it shares; see `Projects.separate`."""
        separated = self._projects.separate(cwd)
        self._changed()
        return separated

    def supersede(
        self, memory: Memory, content: str, *, kind: str | None, when: str | None, scope: Scope | None
    ) -> tuple[Change, ...]:
        """Put another statement in the place of `memory`, which holds no longer.

        Raises:
            InvalidInput, RefusedByRedaction: as for an edit; nothing is stored.
        """
        changes = self._memories.supersede(memory, content, kind=kind, when=when, scope=scope)
        self._changed()
        return changes

    def merge(self, memory: Memory, into: str) -> tuple[Change, ...]:
        """Let `memory` go into another that says the same.

        Raises:
            NotFound, InvalidInput: if there is no such memory, or it is the same or holds no more.
        """
        return self._review.decide(memory.id, "merge", into=into)

    def say(self, trace_id: str, memory_ids: Sequence[str], *, useful: bool) -> tuple[Verdict, ...]:
        """Keep the owner's word on a recall, and let its memories count for it, once.

        Raises:
            NotFound, InvalidInput: see `Verdicts.say`.
        """
        trace = self.recalls.trace(trace_id)
        said, new = self.verdicts.say(trace, memory_ids, useful=useful, at_ms=self._parts.clock.now_ms())
        scope = self._store.scopes()
        for memory in self._store.get([one.memory_id for one in new], scope=scope):
            self._memories.feedback(memory, useful=useful)
        return said


def _captures(parts: Parts) -> bool:
    """Whether sessions are learned from when they end."""
    capture = parts.settings.current().capture
    return capture.enabled and capture.at_session_end
