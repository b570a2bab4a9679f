"""Memories that are bound to an unmerged branch: finds out whether the branch was merged or deleted, and changes the memories.

Whether a branch is open, merged or gone. In: a work tree, the name of a branch, its earlier state. Out: its fate and its new state.

Asks git for a limited number of commits; never fetches. A branch counts as merged if one of these is true of the
default branch as it was last fetched:

- It contains the tip of the branch, and the branch had commits of its own. (Without the second condition a new branch would count as merged.)
- One of its commits contains every file that the branch changed, in the branch's version. So a squashed or rebased branch is recognized.
- The branch no longer exists, and a commit that is newer than the first statement on the branch says that it merges a branch of this name.

A branch is gone if it was deleted from the repository that had it and no merge is found. If git does not tell, the fate is unknown and
nothing is changed.

Source: git-rev-list(1), git-merge-base(1), git-reflog(1).

Checks the branches that a project's memories are bound to. In: a work tree, a project. Out: the changes that were made.

Asks git. It runs in the background when a session starts and after something was learned, never while a host waits. All changes of one
look are one transaction. A change that the user undid is not made again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from tacit.capture.reconcile import Neighbor
from tacit.capture.store import (
    Reconciler,
    change_for_gone_branch,
    change_for_renamed_branch,
    change_for_restored_branch,
    changes_of_merge,
    replaced_by,
    replaced_on_branch,
)
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Change
from tacit.model.memory import Memory, Relation
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.session.projects import WorkTree, commit_at, head_branch, is_branch_name, merged_ref, work_tree_of
from tacit.state.captured import BranchState
from tacit.state.registry import BRANCHES
from tacit.system.git import Commit, LogEntry

MAX_WALKED = 5_000
"""Most commits that one walk reads. A branch further away from the default branch stays undecided."""
MAX_COMPARED = 200
"""Most commits of the default branch whose files are compared with those of the branch."""
MAX_CHANGED = 500
"""Most changed files of a branch that is compared by its files."""
MAX_LOGGED = 10_000
_OWN_WORK = ("commit", "cherry-pick", "revert", "am:", "am ")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_RENAMED = re.compile(r"Branch: renamed refs/heads/(\S+) to refs/heads/(\S+)")
_HEADS, _REMOTE = "refs/heads/", "refs/remotes/origin/"
_SUBMODULE = b"160000"

BranchFate = Literal["open", "merged", "gone", "unknown"]


@frozen
class Logged:
    """A branch as a log of git (reflog) shows it: `tip` = the id of its last commit; `own` = whether commits were made on it in this clone."""

    tip: str
    own: bool = False


@frozen
class _Walk:
    """The difference between a branch's history and the default branch.

    Attributes:
        own: commits that the default branch does not have.
        base: the newest commit that both have, or empty.
        whole: whether every commit on the way could be read.
    """

    own: frozenset[str]
    base: str = ""
    whole: bool = False

    @property
    def reached(self) -> bool:
        """Whether the default branch contains all of the history."""
        return bool(self.base) and not self.own


_NO_WALK = _Walk(own=frozenset())


class BranchHistory:
    """The branches of one repository as they are now. Make a new one for each look."""

    def __init__(self, tree: WorkTree) -> None:
        """Read the references of the repository of `tree`.

        Raises:
            OSError: if git does not tell them.
        """
        own, common = tree.checkout.own, tree.checkout.common
        assert own is not None and common is not None  # noqa: PT018 - `work_tree_of` promises it
        self._common = common
        self._git = tree.git
        refs = self._git.refs(_HEADS, _REMOTE)
        if refs is None:
            raise OSError("git does not answer")
        self._refs = {name: commit for name, (commit, _) in refs.items()}
        tips = (self._refs.get(merged_ref(name, remote=tree.remote), "") for name in tree.shared)
        self.targets = tuple(dict.fromkeys(filter(None, tips)))
        """The commits at the tips of the branches that count as merged."""
        logs = ("HEAD",) if own == common else ("main-worktree/HEAD", "HEAD")
        self._logged: dict[str, Logged] = {}
        for log in logs:
            self._logged |= read_log(self._git.log_of(log, most=MAX_LOGGED))

    @property
    def folder(self) -> str:
        """Return the git folder that identifies this repository."""
        return str(self._common)

    def tip_of(self, name: str) -> str:
        """Return the tip commit of the local branch `name`, else of the fetched one; "" = there is no such branch."""
        return self._refs.get(_HEADS + name, "") or self._refs.get(_REMOTE + name, "")

    def new_name_of(self, name: str) -> str:
        """Return the new name of a renamed branch, from git's logs; "" = not renamed, or not known."""
        now = "" if self.tip_of(name) else self._renames.get(name, "")
        return now if self.tip_of(now) else ""

    @cached_property
    def _renames(self) -> dict[str, str]:
        """Return {old name: new name} of renamed branches, from the logs of the branches."""
        entries = self._git.log_of("--branches", most=MAX_LOGGED)
        moves = ((entry.ref, _RENAMED.fullmatch(entry.action)) for entry in entries)
        return {move[1]: move[2] for ref, move in moves if move and f"/{ref}".endswith(f"/{move[2]}")}

    def judge(self, name: str, before: BranchState, *, since_s: int) -> tuple[BranchFate, BranchState]:
        """Return the fate of the branch `name` (open, merged, gone, unknown), and its new state.

        Args:
            name: the name of the branch.
            before: its state at the last look.
            since_s: when the first statement on it was made, in seconds since the epoch. Older merge commits belong to another branch of that name.
        """
        tip = self.tip_of(name)
        logged = self._logged.get(name)
        if not tip and before.folder != self.folder and logged is None:
            return "unknown", before  # it belongs to another repository
        gone = not tip
        last = tip or (logged.tip if logged is not None else "") or before.tip
        looked = " ".join((last, str(gone), *self.targets))
        if before.looked == looked and before.folder == self.folder:
            return ("gone" if gone else "open"), before
        after = replace(before, folder=self.folder, tip=last, gone=gone)
        if not self.targets:
            return "unknown", after
        walk = self._walk(last) if last else _NO_WALK
        if walk.whole:
            after = replace(after, ahead=bool(walk.own))
        if walk.reached and self._had_own(before, logged if gone else self._log_of(name)):
            return "merged", after
        if self._holds_files(last, walk):
            return "merged", after
        if gone and self._names_merge(name, since_s=since_s):
            return "merged", after
        if gone:
            return "gone", replace(after, looked=looked)
        return ("open", replace(after, looked=looked)) if walk.whole else ("unknown", after)

    def _had_own(self, before: BranchState, logged: Logged | None) -> bool:
        """Whether the branch had commits of its own that are now merged, by an earlier look or its log."""
        if logged is not None and logged.own:
            return True
        return before.ahead and bool(before.tip) and self._walk(before.tip).reached

    def _log_of(self, name: str) -> Logged | None:
        """Return the branch as its own log shows it; None = there is none (git deletes it with the branch)."""
        if not is_branch_name(name):
            return None
        return read_log(self._git.log_of(_HEADS + name, most=MAX_LOGGED), branch=name).get(name)

    def own_commits(self, commit: str) -> frozenset[str]:
        """Return `commit` and its ancestors, as far as they are not merged."""
        return self._walk(commit).own if commit and self.targets else frozenset()

    def _walk(self, commit: str) -> _Walk:
        """Return how the history of `commit` differs from the branches that count as merged."""
        shallow = (self._common / "shallow").is_file()
        out = self._git.ask(
            "rev-list",
            f"-n{MAX_WALKED + 1}",
            "--parents",
            commit,
            *(f"^{target}" for target in self.targets),
            "--",
        )
        base = self._git.ask("merge-base", commit, *self.targets) or b""
        if out is None:
            return _NO_WALK
        rows = [line.split() for line in out.decode().splitlines()]
        # In a shallow clone, the history ends where nobody knows what follows.
        cut = shallow and (not base or any(len(row) == 1 for row in rows))
        return _Walk(
            own=frozenset(row[0] for row in rows),
            base=base.decode().strip(),
            whole=len(rows) <= MAX_WALKED and not cut,
        )

    def _holds_files(self, tip: str, walk: _Walk) -> bool:
        """Whether some newer commit of the default branch holds the branch's version of each file that it changed."""
        if not (walk.own and walk.base and walk.whole):
            return False
        changed = self._changes(walk.base, tip)
        others = (
            self._git.ask("rev-list", f"-n{MAX_COMPARED}", *self.targets, f"^{tip}", "--") or b""
        ).split()
        if not changed or not others:
            return False
        first, *rest = changed.items()
        for files in ((first,), rest):
            others = self._holding(others, files)
        return bool(others)

    def _holding(self, commits: Sequence[bytes], files: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
        """Return those of `commits` that contain every one of `files`, given as (path, blob id)."""
        names = b"".join(commit + b":" + path + b"\n" for commit in commits for path, _ in files)
        out = (self._git.ask("cat-file", "--batch-check", stdin=names) or b"").splitlines()
        wanted = [blob for _ in commits for _, blob in files]
        if len(out) != len(wanted):
            return []
        same = [
            line.endswith(b" missing") if not blob else line.startswith(blob)
            for line, blob in zip(out, wanted, strict=True)
        ]
        size = len(files)
        return [
            commit for number, commit in enumerate(commits) if all(same[number * size : (number + 1) * size])
        ]

    def _changes(self, before: str, after: str) -> dict[bytes, bytes]:
        """Return {path: new blob id} of files that differ between commits ("" = removed); empty = none, or too many."""
        out = self._git.ask("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        fields = iter((out or b"").split(b"\0"))
        changed: dict[bytes, bytes] = {}
        for what, path in zip(fields, fields, strict=False):
            _, mode, _, blob, _ = what.split(b" ")
            if mode != _SUBMODULE:
                changed[path] = blob if blob.strip(b"0") else b""
        return changed if len(changed) <= MAX_CHANGED and not any(b"\n" in path for path in changed) else {}

    def _names_merge(self, name: str, *, since_s: int) -> bool:
        """Whether a commit of the default branch since `since_s` says that it merges the branch `name`."""
        since = ("--first-parent", f"--max-age={since_s}")
        commits = (self._git.commits(target, most=MAX_COMPARED, options=since) for target in self.targets)
        return any(_merges(commit, name) for found in commits for commit in found or ())


def _merges(commit: Commit, name: str) -> bool:
    """Whether the commit's first line is a merge message of git, GitHub, GitLab or Bitbucket for the branch `name`."""
    first = commit.message.split("\n", 1)[0]
    quoted = re.escape(name)
    return bool(
        re.match(rf"Merge (?:remote-tracking )?branch '(?:origin/)?{quoted}'", first)
        or re.match(rf"Merge pull request #\d+ from [^/\s]+/{quoted}$", first)
        or re.match(rf"Merged in {quoted} \(pull request #\d+\)", first)
    )


def read_log(entries: Sequence[LogEntry], *, branch: str = "") -> dict[str, Logged]:
    """Return each branch that a log of git (reflog) tells about, by its name.

    Args:
        entries: the log of HEAD, which tells about every branch that HEAD was on, or the log of one branch; newest first.
        branch: the branch whose log it is; "" = it is the log of HEAD.

    Commits that a later reset threw away do not count as made on the branch.
    """
    found: dict[str, Logged] = {}
    here, before = branch, ""
    for entry in reversed(entries):
        moved = _MOVED.match(entry.action)
        if moved:
            left, here = moved.groups()
            known = found.get(left)
            found[left] = Logged(tip=before, own=known is not None and known.own)
        elif here:
            known = found.get(here)
            kept = known is not None and known.own and not entry.action.startswith("reset:")
            found[here] = Logged(tip=entry.commit, own=kept or entry.action.startswith(_OWN_WORK))
        before = entry.commit
    return found


MOST = 5_000


@frozen
class BranchesSeen:
    """The result of `BranchLook.look`.

    Attributes:
        head: the branch that is checked out, or empty.
        held: other unmerged branches whose commits the checked-out branch contains. Their memories hold on it, too.
        changes: the changes that were made.
    """

    head: str = ""
    held: frozenset[str] = frozenset()
    changes: tuple[Change, ...] = ()


class BranchLook:
    """Follows the branches of projects, and changes the memories that are bound to them."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler
        self._store = reconciler.store
        self._kinds = reconciler.kinds
        self._clock = reconciler.clock

    def look(self, root: str, project_id: str) -> BranchesSeen:
        """Find out which branches of a project were merged, deleted or renamed, and change its memories accordingly.

        Blocks on git. Stores the changes and the state of the branches; outside of git there is nothing to see.

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
            history = BranchHistory(tree)
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
        """Return the project's memories that are bound to a branch, active or waiting for the user."""
        own = [scope for scope in self._store.scopes().scopes if scope.project_id == project_id]
        where = MemoryFilter(statuses=("active", "quarantined"), branched=True)
        return self._store.list_memories(where, scope=ScopeFilter.of(*own), limit=MOST) if own else ()

    def _follow_names(self, bound: Sequence[Memory], history: BranchHistory) -> dict[str, str]:
        """Bind the memories of renamed branches to the new names; return the new names by the old ones."""
        names = {memory.branch_name for memory in bound}
        moved = {name: now for name in sorted(names) if (now := history.new_name_of(name))}
        if moved:
            now_ms = self._clock.now_ms()
            self._reconciler.settle(
                [memory for memory in bound if memory.branch_name in moved],
                lambda memory, _: (
                    (change_for_renamed_branch(memory, moved[memory.branch_name], now_ms),),
                    (),
                ),
            )
        return moved

    def _fates(
        self,
        bound: Sequence[Memory],
        history: BranchHistory,
        before: Mapping[str, BranchState],
        tree: WorkTree,
    ) -> dict[str, tuple[BranchFate, BranchState]]:
        """Return the fate and the new state of each branch that a memory is bound to, by branch name."""
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
        """Write the changes that the fates of the branches require and return them.

        `returned` = branches that were gone and exist again.
        """
        now_ms = self._clock.now_ms()

        def alone(memory: Memory) -> Change | None:
            """Return the change that needs no look at other memories: the branch is gone, or exists again."""
            if fates[memory.branch_name][0] == "gone":
                return change_for_gone_branch(memory, self._kinds, now_ms)
            return change_for_restored_branch(memory, now_ms) if memory.branch_name in returned else None

        def decide(memory: Memory, near: Sequence[Neighbor]) -> tuple[Sequence[Change], Sequence[Relation]]:
            if change := alone(memory):
                return (change,), ()
            return changes_of_merge(
                memory,
                near,
                replaced=replaced_on_branch(self._store, memory),
                kinds=self._kinds,
                now_ms=now_ms,
            )

        changing = [
            memory
            for memory in sorted(bound, key=lambda memory: (memory.validity.valid_from_ms, memory.id))
            if (fates[memory.branch_name][0] == "merged" or alone(memory)) and not self._undone(memory)
        ]
        return self._reconciler.settle(changing, decide) if changing else ()

    def _undone(self, memory: Memory) -> bool:
        """Whether the user has undone the last change of `memory`; it is then not made again."""
        newest = self._store.recorded(scope=self._store.scopes(), limit=1, memory_id=memory.id)
        return bool(newest) and newest[0].reason.cause is ChangeCause.UNDONE
