"""The branch of a folder, for recall and capture. In: a project. Out: which memories may appear there, and the branch to bind new ones to.

HEAD, one small file, is read each time; the branches that count as merged are asked of git when a folder is first seen, and again when the references of its
repository changed, at most once a minute. This module reads no history.
`tacit.capture.branches` does that in the background, and its result is stored here with `note`.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from tacit.model.memory import LearnedOn
from tacit.model.query import NO_BRANCH, BranchView
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, Store
from tacit.session.branches import (
    WorkTree,
    branch_at,
    commit_at,
    head_branch,
    refs_changed_at,
    stand_of,
    work_tree_of,
)
from tacit.state.registry import BRANCHES

if TYPE_CHECKING:
    from tacit.capture.branches import BranchesSeen

KEPT_MS = 60_000.0
MAX_KEPT = 256


class Branches:
    """The branches of the folders that sessions work in. Safe to use from several threads."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = Lock()
        self._trees: dict[str, tuple[float, tuple[str, ...], WorkTree | None]] = {}
        self._seen: dict[str, BranchesSeen] = {}
        self._looked: dict[str, tuple[str, ...]] = {}

    def view(self, project: ProjectRecord | None, *, bound: bool) -> BranchView | None:
        """The branches whose memories may appear unasked in the folder of `project`; None = all, because `bound` is False."""
        if not bound:
            return None
        tree = self._tree(project.root) if project is not None else None
        if project is None or tree is None:
            return NO_BRANCH
        here, seen = head_branch(tree.checkout), self._seen.get(project.root)
        names = {here} - {""} if here not in tree.shared else set[str]()
        if seen is not None and seen.head == here:
            names |= seen.held
        if not names:
            return NO_BRANCH
        states = BRANCHES.read(self._store, project.id)
        replaced = {name for branch in names if branch in states for name in states[branch].replaced}
        return BranchView(names=frozenset(names), replaced=frozenset(replaced))

    def learned_on(self, project: ProjectRecord | None) -> LearnedOn | None:
        """The unmerged branch that is checked out in the folder of `project`; None = what is learned there holds on all branches."""
        tree = self._tree(project.root) if project is not None else None
        name = branch_at(tree) if tree is not None else ""
        return LearnedOn(name=name, commit=commit_at(tree, name)) if tree is not None and name else None

    def stand(self, project: ProjectRecord) -> tuple[str, ...]:
        """The state of git that a look at the branches depends on; () = no default branch is known there. See `stand_of`."""
        tree = self._tree(project.root)
        return stand_of(tree) if tree is not None and tree.shared else ()

    def moved(self, project: ProjectRecord) -> bool:
        """Whether another branch was checked out, or the default branch moved, since the last look began; False if none did."""
        looked = self._looked.get(project.root)
        return looked is not None and self.stand(project) != looked

    def begin(self, project: ProjectRecord) -> None:
        """Note the state of git that a look is about to see, so that what changes during the look counts as moved."""
        stand = self.stand(project)
        with self._lock:
            if len(self._looked) >= MAX_KEPT:
                self._looked.clear()
            self._looked[project.root] = stand

    def note(self, root: str, seen: BranchesSeen) -> None:
        """Store the result of a look at the work tree at `root`."""
        with self._lock:
            if len(self._seen) >= MAX_KEPT:
                self._seen.clear()
            self._seen[root] = seen

    def _tree(self, root: str) -> WorkTree | None:
        now = self._clock.monotonic_ms()
        with self._lock:
            kept = self._trees.get(root)
            if kept is not None and now - kept[0] < KEPT_MS:
                return kept[2]
        changed = refs_changed_at(root)
        known = kept is not None and kept[1] == changed and (kept[2] is None or kept[2].shared)
        tree = kept[2] if kept is not None and known else work_tree_of(root)
        with self._lock:
            if len(self._trees) >= MAX_KEPT:
                self._trees.clear()
            self._trees[root] = (now, changed, tree)
        return tree
