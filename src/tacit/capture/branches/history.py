"""What became of a branch. In: a work tree, the name of a branch, what was known of it. Out: whether it is open, merged or gone.

Reads git's own files and a bounded number of commits; never runs git, never fetches. A branch counts as merged when the default branch, as it
was fetched, holds

- the commit that the branch stood on, and the branch had commits of its own: a branch that was only just made stands on such a commit, too; or
- every file as the branch left it, of those that the branch changed: the branch was squashed or rebased; or
- a commit that says that it merges a branch of this name, made after the statement, where the branch itself is gone.

A branch is gone when the repository that had it has it no more. Then nobody knows whether it was merged otherwise; what cannot be read is
unknown, and nothing follows from it.

Source: gitrepository-layout(5), git-reflog(1); the walk is that of git-merge-base(1).
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from tacit.capture.bootstrap.git_objects import Commit, ObjectReader, Unreadable
from tacit.session.branches import WorkTree, is_branch_name, log_lines, merged_ref, resolve_ref
from tacit.state.captured import BranchState

MAX_WALKED = 5_000
"""Commits that one walk reads; a branch that is further from the default branch stays as it is."""
MAX_COMPARED = 200
"""Commits of the default branch whose files are compared with those of the branch."""
MAX_CHANGED = 500
"""A branch that changed more files is not compared by them."""
MAX_LOG_BYTES = 1_000_000
MAX_LOGS = 1_000
SKEW_S = 86_400
_OWN_WORK = ("commit", "cherry-pick", "revert", "am:", "am ")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_HEADS, _REMOTE = "refs/heads/", "refs/remotes/origin/"
_FOLDER = b"40000"

BranchFate = Literal["open", "merged", "gone", "unknown"]
_Changed = dict[tuple[bytes, ...], str]
"""Id of each changed file by its path; "" = it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What the log of HEAD says of a branch: the commit it stood on last, and whether commits were made on it."""

    tip: str
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """Two histories down to where they meet.

    Attributes:
        own: commits of the first that the second does not have.
        others: commits of the second alone, newest first.
        base: the newest commit of both, or empty.
        whole: everything on the way could be read.
    """

    own: frozenset[str]
    others: tuple[str, ...] = ()
    base: str = ""
    whole: bool = False

    @property
    def reached(self) -> bool:
        """Whether the second history holds the first as a whole."""
        return bool(self.base) and not self.own


_NO_WALK = _Walk(own=frozenset())


class History:
    """The branches of one repository, for one look."""

    def __init__(self, tree: WorkTree) -> None:
        """Read where the branches stand.

        Raises:
            OSError: if git's files cannot be read.
        """
        own, common = tree.checkout.own, tree.checkout.common
        assert own is not None and common is not None  # noqa: PT018 - as `work_tree_of` says
        self._common = common
        self._objects = ObjectReader(common / "objects")
        tips = (resolve_ref(common, common, merged_ref(name, remote=tree.remote)) for name in tree.shared)
        self.targets = tuple(dict.fromkeys(filter(None, tips)))
        """What the branches that count as merged stand on."""
        self._logged = read_log(own / "logs" / "HEAD")
        if own != common:
            self._logged = {**read_log(common / "logs" / "HEAD"), **self._logged}

    @property
    def folder(self) -> str:
        """What stands for this repository."""
        return str(self._common)

    def tip_of(self, name: str) -> str:
        """The commit that a branch stands on here, else as it was fetched; "" = there is no such branch.

        Raises:
            OSError: if git's files cannot be read.
        """
        return resolve_ref(self._common, self._common, _HEADS + name) or resolve_ref(
            self._common, self._common, _REMOTE + name
        )

    def renamed(self, name: str) -> str:
        """The name that a branch has now, as the log of that says; "" = it has its name, or nobody knows."""
        try:
            logs = self._common / "logs" / "refs" / "heads"
            if self.tip_of(name) or not logs.is_dir():
                return ""
            told = f"\tBranch: renamed {_HEADS}{name} to {_HEADS}"
            for log in islice((path for path in logs.rglob("*") if path.is_file()), MAX_LOGS):
                now = log.relative_to(logs).as_posix()
                if any(
                    line.endswith(f"{told}{now}") for line in log_lines(log, max_bytes=MAX_LOG_BYTES)
                ) and self.tip_of(now):
                    return now
        except OSError:
            return ""
        return ""

    def judge(self, name: str, before: BranchState, *, since_s: int) -> tuple[BranchFate, BranchState]:
        """What became of the branch `name`, and what is known of it now.

        Args:
            name: of the branch.
            before: what was known of it.
            since_s: when the first statement on it was made; a later merge of a branch of that name is one of this branch.
        """
        try:
            tip = self.tip_of(name)
        except OSError:
            return "unknown", before
        logged = self._logged.get(name)
        if not tip and before.folder != self.folder and logged is None:
            return "unknown", before  # another repository has it, or had it
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
        """Whether the branch had commits of its own that are merged: it was seen with them, or its log tells."""
        if logged is not None and logged.own:
            return True
        return before.ahead and bool(before.tip) and self._walk(before.tip).reached

    def _log_of(self, name: str) -> Logged | None:
        """What the own log of a branch says, which ends with the branch."""
        if not is_branch_name(name):
            return None
        return read_log(self._common / "logs" / "refs" / "heads" / name, branch=name).get(name)

    def own_commits(self, commit: str) -> frozenset[str]:
        """The commits behind `commit` that are not merged."""
        return self._walk(commit).own if commit and self.targets else frozenset()

    def _walk(self, commit: str) -> _Walk:
        """Walk `commit` and the targets, newest commit first, until all that is left belongs to both.

        Clocks of committers differ: the walk goes on for a day behind the oldest commit that seems to be the first one's own.
        """
        mine, theirs = 1, 2
        flags: dict[str, int] = {commit: mine}
        for target in self.targets:
            flags[target] = flags.get(target, 0) | theirs
        whole = True
        queue: list[tuple[int, str]] = []
        for name in flags:
            whole &= self._push(queue, name)
        order: dict[str, int] = {}
        while queue:
            own = [at_s for name, at_s in order.items() if flags[name] == mine]
            passed = not own or -queue[0][0] < min(own) - SKEW_S
            if passed and all(flags[name] != mine for _, name in queue):
                break
            if len(order) >= MAX_WALKED:
                whole = False
                break
            at_s, name = heapq.heappop(queue)
            order[name] = -at_s
            for parent in self._objects.commit(name).parents:
                known = flags.get(parent, 0)
                if known | flags[name] != known:
                    flags[parent] = known | flags[name]
                    whole &= self._push(queue, parent)
        base = next((name for name in (*order, *(name for _, name in sorted(queue))) if flags[name] == 3), "")
        return _Walk(
            own=frozenset(name for name in order if flags[name] == mine),
            others=tuple(name for name in order if flags[name] == theirs),
            base=base,
            whole=whole,
        )

    def _push(self, queue: list[tuple[int, str]], name: str) -> bool:
        """Put a commit into the queue; False = it cannot be read, as where a clone is shallow."""
        try:
            commit = self._objects.commit(name)
        except Unreadable:
            return False
        heapq.heappush(queue, (-commit.at_s, name))
        return True

    def _holds_files(self, tip: str, walk: _Walk) -> bool:
        """Whether a commit of the default branch holds every file that the branch changed as the branch left it."""
        if not (walk.own and walk.base and walk.whole):
            return False
        try:
            changed: _Changed = {}
            for path, file in self._changes(
                self._objects.commit(walk.base).tree, self._objects.commit(tip).tree
            ):
                changed[path] = file
                if len(changed) > MAX_CHANGED:
                    return False
            return bool(changed) and any(
                all(
                    self._file(self._objects.commit(name).tree, path) == file
                    for path, file in changed.items()
                )
                for name in walk.others[:MAX_COMPARED]
            )
        except Unreadable:
            return False

    def _changes(
        self, before: str, after: str, within: tuple[bytes, ...] = ()
    ) -> Iterator[tuple[tuple[bytes, ...], str]]:
        """The files that differ between two trees, as they are in the second; a tree may be "" = there is none."""
        old = self._objects.tree(before) if before else {}
        new = self._objects.tree(after) if after else {}
        for name in old.keys() | new.keys():
            old_mode, old_id = old.get(name, (b"", ""))
            mode, new_id = new.get(name, (b"", ""))
            if (old_mode, old_id) == (mode, new_id):
                continue
            folders = (old_id if old_mode == _FOLDER else "", new_id if mode == _FOLDER else "")
            if any(folders):
                yield from self._changes(*folders, (*within, name))
            if mode != _FOLDER and (new_id or old_mode != _FOLDER):
                yield (*within, name), new_id

    def _file(self, tree: str, path: Sequence[bytes]) -> str:
        """The id of the file at `path` of a tree; "" = there is none."""
        at = tree
        for folder in path[:-1]:
            mode, at = self._objects.tree(at).get(folder, (b"", ""))
            if mode != _FOLDER:
                return ""
        mode, found = self._objects.tree(at).get(path[-1], (b"", ""))
        return "" if mode == _FOLDER else found

    def _names_merge(self, name: str, *, since_s: int) -> bool:
        """Whether a commit of the default branch since then says that it merges a branch of this name."""
        for target in self.targets:
            at = target
            for _ in range(MAX_COMPARED):
                try:
                    commit = self._objects.commit(at)
                except Unreadable:
                    break
                if commit.at_s < since_s:
                    break
                if _merges(commit, name):
                    return True
                if not commit.parents:
                    break
                at = commit.parents[0]
        return False


def _merges(commit: Commit, name: str) -> bool:
    """Whether a commit says that it merges the branch `name`, in the words of git and of the common hosts of repositories."""
    first = commit.message.split("\n", 1)[0]
    quoted = re.escape(name)
    return bool(
        re.match(rf"Merge (?:remote-tracking )?branch '(?:origin/)?{quoted}'", first)
        or re.match(rf"Merge pull request #\d+ from [^/\s]+/{quoted}$", first)
        or re.match(rf"Merged in {quoted} \(pull request #\d+\)", first)
    )


def read_log(path: Path, *, branch: str = "") -> dict[str, Logged]:
    """What the log of HEAD in a file says of each branch that HEAD left, or stands on; nothing where there is none.

    With `branch` it is the log of that branch. What was thrown away by a reset does not count as its own.
    """
    try:
        lines = log_lines(path, max_bytes=MAX_LOG_BYTES)
    except OSError:
        return {}
    found: dict[str, Logged] = {}
    here = branch
    for line in lines:
        head, _, message = line.partition("\t")
        ids = head.split(" ", 2)
        if len(ids) < 3:
            continue
        moved = _MOVED.match(message)
        if moved:
            left, here = moved.groups()
            known = found.get(left)
            found[left] = Logged(tip=ids[0], own=known is not None and known.own)
        elif here:
            known = found.get(here)
            kept = known is not None and known.own and not message.startswith("reset:")
            found[here] = Logged(tip=ids[1], own=kept or message.startswith(_OWN_WORK))
    return found
