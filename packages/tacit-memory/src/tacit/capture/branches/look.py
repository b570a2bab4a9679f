"""Checks the branches that a project's memories are bound to. In: a work tree, a project. Out: the changes that were made.

Asks git. It runs in the background when a session starts and after something was learned, never while a host waits. All changes of one
look are one transaction. A change that the user undid is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.capture.branches.history import BranchFate, History
from tacit.capture.branches.marks import (
    back,
    changes_of_merge,
    gone,
    renamed,
    replaced_by,
    replaced_on_branch,
)
from tacit.capture.reconcile import Neighbor
from tacit.capture.store import Reconciler
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Change
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Relation
from tacit.model.scope import ScopeFilter
from tacit.ports.clock import Clock
from tacit.ports.store import MemoryFilter, Store
from tacit.session.branches import WorkTree, commit_at, head_branch, work_tree_of
from tacit.state.captured import BranchState
from tacit.state.registry import BRANCHES

MOST = 5_000
_Decided = tuple[Sequence[Change], Sequence[Relation]]
_NOTHING: _Decided = ((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchesSeen:
    """The result of a look.

    Attributes:
        head: the branch that is checked out, or empty.
        held: other unmerged branches whose commits the checked-out branch contains. Their memories hold on it, too.
        changes: the changes that were made.
    """

    head: str = ""
    held: frozenset[str] = frozenset()
    changes: tuple[Change, ...] = ()


class BranchLook:
    """Checks the branches of projects of one store."""

    def __init__(self, *, store: Store, reconciler: Reconciler, kinds: KindRegistry, clock: Clock) -> None:
        self._store = store
        self._reconciler = reconciler
        self._kinds = kinds
        self._clock = clock

    def look(self, root: str, project_id: str) -> BranchesSeen:
        """Find out which branches of a project were merged, deleted or renamed, and change its memories accordingly.

        Args:
            root: root of the work tree to read.
            project_id: the project.

        Raises:
            StoreError: as the store; nothing is changed.
        """
        tree = work_tree_of(root)
        if tree is None or not tree.shared:
            return BranchesSeen()
        bound = self._bound(project_id)
        before = BRANCHES.read(self._store, project_id)
        head = head_branch(tree.checkout)
        if not bound:
            if before:
                BRANCHES.write(self._store, None, project_id)
            return BranchesSeen(head=head)
        try:
            history = History(tree)
        except OSError:
            return BranchesSeen(head=head)
        moved = self._follow_names(bound, history)
        if moved:
            bound = self._bound(project_id)
            before = {moved.get(name, name): state for name, state in before.items()}
        fates = self._fates(bound, history, before, tree)
        open_memories = [m for m in bound if fates[m.branch_name][0] != "merged"]
        replaced = replaced_by(open_memories).get(project_id, {})
        after = {
            name: replace(state, replaced=replaced.get(name, ()))
            for name, (fate, state) in fates.items()
            if fate != "merged"
        }
        returned = frozenset(
            name
            for name, (fate, _) in fates.items()
            if fate == "open" and name in before and before[name].gone
        )
        changes = self._settle(bound, fates, returned)
        # Written after the changes: if the process dies in between, the next look comes to the same result.
        if after != before:
            BRANCHES.write(self._store, after, project_id)
        own = history.own_commits(commit_at(tree, head)) if set(after) - {head} else frozenset[str]()
        held = frozenset(
            name for name, state in after.items() if name != head and state.ahead and state.tip in own
        )
        return BranchesSeen(head=head, held=held, changes=changes)

    def _bound(self, project_id: str) -> tuple[Memory, ...]:
        """The memories of the project that are active or wait for the user, and are bound to a branch."""
        own = [scope for scope in self._store.scopes().scopes if scope.project_id == project_id]
        where = MemoryFilter(statuses=("active", "quarantined"), branched=True)
        return self._store.list_memories(where, scope=ScopeFilter.of(*own), limit=MOST) if own else ()

    def _follow_names(self, bound: Sequence[Memory], history: History) -> dict[str, str]:
        """Bind the memories of renamed branches to the new names; return the new names by the old ones."""
        names = {memory.branch_name for memory in bound}
        moved = {name: now for name in sorted(names) if (now := history.renamed(name))}
        if moved:
            now_ms = self._clock.now_ms()
            self._reconciler.settle(
                [memory for memory in bound if memory.branch_name in moved],
                lambda memory, _: ((renamed(memory, moved[memory.branch_name], now_ms),), ()),
            )
        return moved

    def _fates(
        self, bound: Sequence[Memory], history: History, before: Mapping[str, BranchState], tree: WorkTree
    ) -> dict[str, tuple[BranchFate, BranchState]]:
        """The fate and the new state of each branch, by its name."""
        fates: dict[str, tuple[BranchFate, BranchState]] = {}
        for name in sorted({memory.branch_name for memory in bound}):
            known = before.get(name, BranchState())
            since_s = min(m.created_at_ms for m in bound if m.branch_name == name) // 1000
            if name in tree.shared:  # the team merges into it now
                fates[name] = "merged", known
            else:
                fates[name] = history.judge(name, known, since_s=since_s)
        return fates

    def _settle(
        self,
        bound: Sequence[Memory],
        fates: Mapping[str, tuple[BranchFate, BranchState]],
        returned: frozenset[str],
    ) -> tuple[Change, ...]:
        """Change the memories according to the fates of their branches; `returned` are branches that were gone and exist again."""
        now_ms = self._clock.now_ms()
        changing = [
            memory
            for memory in bound
            if self._is_due(memory, fates[memory.branch_name][0], returned=memory.branch_name in returned)
        ]
        if not changing:
            return ()

        def decide(memory: Memory, near: Sequence[Neighbor]) -> _Decided:
            match fates[memory.branch_name][0]:
                case "merged":
                    return changes_of_merge(
                        memory,
                        near,
                        replaced=replaced_on_branch(self._store, memory),
                        kinds=self._kinds,
                        now_ms=now_ms,
                    )
                case "gone":
                    change = gone(memory, self._kinds, now_ms)
                case "open":
                    change = back(memory, now_ms)
                case _:
                    change = None
            return ((change,), ()) if change is not None else _NOTHING

        return self._reconciler.settle(
            sorted(changing, key=lambda memory: (memory.validity.valid_from_ms, memory.id)), decide
        )

    def _is_due(self, memory: Memory, fate: BranchFate, *, returned: bool) -> bool:
        """Whether `memory` has to change, unless the user has undone that very change."""
        now = self._clock.now_ms()
        due = (
            fate == "merged"
            or (fate == "gone" and gone(memory, self._kinds, now) is not None)
            or (returned and back(memory, now) is not None)
        )
        if not due:
            return False
        newest = self._store.recorded(scope=self._store.scopes(), limit=1, memory_id=memory.id)
        return not newest or newest[0].reason.cause is not ChangeCause.UNDONE
