"""Whether a branch is open, merged or gone. In: a work tree, the name of a branch, its earlier state. Out: its fate and its new state.

Reads git's own files and a limited number of commits; never runs git, never fetches. A branch counts as merged if one of these is true of the
default branch as it was last fetched:

- It contains the tip of the branch, and the branch had commits of its own. (Without the second condition a new branch would count as merged.)
- One of its commits contains every file that the branch changed, in the branch's version. So a squashed or rebased branch is recognized.
- The branch no longer exists, and a commit that is newer than the first statement on the branch says that it merges a branch of this name.

A branch is gone if it was deleted from the repository that had it and no merge is found. If git's files cannot be read, the fate is unknown and
nothing is changed.

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
"""Most commits that one walk reads. A branch that is further away from the default branch is left as it is."""
MAX_COMPARED = 200
"""Most commits of the default branch whose files are compared with those of the branch."""
MAX_CHANGED = 500
"""Most changed files of a branch that is compared by its files."""
MAX_LOG_BYTES = 1_000_000
MAX_LOGS = 1_000
SKEW_S = 86_400
_OWN_WORK = ("commit", "cherry-pick", "revert", "am:", "am ")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_HEADS, _REMOTE = "refs/heads/", "refs/remotes/origin/"
_FOLDER = b"40000"

BranchFate = Literal["open", "merged", "gone", "unknown"]
_Changed = dict[tuple[bytes, ...], str]
"""The id of each changed file by its path; "" = the file was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What a log of git says about a branch: `tip` = its last commit; `own` = whether commits were made on it."""

    tip: str
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """Two histories, followed back to the point where they meet.

    Attributes:
        own: commits that only the first history has.
        others: commits that only the second history has, newest first.
        base: the newest commit that both have, or empty.
        whole: whether every commit on the way could be read.
    """

    own: frozenset[str]
    others: tuple[str, ...] = ()
    base: str = ""
    whole: bool = False

    @property
    def reached(self) -> bool:
        """Whether the second history contains all of the first one."""
        return bool(self.base) and not self.own


_NO_WALK = _Walk(own=frozenset())


class History:
    """The branches of one repository. Make a new one for each look at them."""

    def __init__(self, tree: WorkTree) -> None:
        """Read the references of the repository of `tree`.

        Raises:
            OSError: if git's files cannot be read.
        """
        own, common = tree.checkout.own, tree.checkout.common
        assert own is not None and common is not None  # noqa: PT018 - `work_tree_of` promises it
        self._common = common
        self._objects = ObjectReader(common / "objects")
        tips = (resolve_ref(common, common, merged_ref(name, remote=tree.remote)) for name in tree.shared)
        self.targets = tuple(dict.fromkeys(filter(None, tips)))
        """The commits at the tips of the branches that count as merged."""
        self._logged = read_log(own / "logs" / "HEAD")
        if own != common:
            self._logged = {**read_log(common / "logs" / "HEAD"), **self._logged}

    @property
    def folder(self) -> str:
        """The git folder that identifies this repository."""
        return str(self._common)

    def tip_of(self, name: str) -> str:
        """The tip of the local branch `name`, or else of the fetched one; "" = there is no such branch.

        Raises:
            OSError: if git's files cannot be read.
        """
        return resolve_ref(self._common, self._common, _HEADS + name) or resolve_ref(
            self._common, self._common, _REMOTE + name
        )

    def renamed(self, name: str) -> str:
        """The new name of a branch that was renamed, read from git's logs; "" = it was not renamed, or this is not known."""
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
        """The fate of the branch `name`, and its new state.

        Args:
            name: the name of the branch.
            before: its state at the last look.
            since_s: when the first statement on it was made, in seconds since the epoch. Older merge commits belong to another branch of that name.
        """
        try:
            tip = self.tip_of(name)
        except OSError:
            return "unknown", before
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
        """Whether the branch had commits of its own, which are merged now: they were seen at an earlier look, or its log shows them."""
        if logged is not None and logged.own:
            return True
        return before.ahead and bool(before.tip) and self._walk(before.tip).reached

    def _log_of(self, name: str) -> Logged | None:
        """What the log of the branch itself says; git deletes that log together with the branch."""
        if not is_branch_name(name):
            return None
        return read_log(self._common / "logs" / "refs" / "heads" / name, branch=name).get(name)

    def own_commits(self, commit: str) -> frozenset[str]:
        """The ancestors of `commit`, itself included, that are not merged."""
        return self._walk(commit).own if commit and self.targets else frozenset()

    def _walk(self, commit: str) -> _Walk:
        """Follow `commit` and the targets back, newest commit first, until all remaining commits belong to both histories.

        The clocks of committers differ, so the walk continues until one day before the oldest commit that seems to belong to `commit` alone.
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
        """Put a commit into the queue; False = it cannot be read, for example in a shallow clone."""
        try:
            commit = self._objects.commit(name)
        except Unreadable:
            return False
        heapq.heappush(queue, (-commit.at_s, name))
        return True

    def _holds_files(self, tip: str, walk: _Walk) -> bool:
        """Whether some commit of the default branch contains the branch's version of every file that the branch changed."""
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
        """The path and the new id of every file that differs between two trees; a tree of "" is empty."""
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
        """The id of the file at `path` in a tree; "" = there is no such file."""
        at = tree
        for folder in path[:-1]:
            mode, at = self._objects.tree(at).get(folder, (b"", ""))
            if mode != _FOLDER:
                return ""
        mode, found = self._objects.tree(at).get(path[-1], (b"", ""))
        return "" if mode == _FOLDER else found

    def _names_merge(self, name: str, *, since_s: int) -> bool:
        """Whether a commit of the default branch since `since_s` says that it merges a branch of this name."""
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
    """Whether the first line of a commit message is one that git, GitHub, GitLab or Bitbucket write for a merge of the branch `name`."""
    first = commit.message.split("\n", 1)[0]
    quoted = re.escape(name)
    return bool(
        re.match(rf"Merge (?:remote-tracking )?branch '(?:origin/)?{quoted}'", first)
        or re.match(rf"Merge pull request #\d+ from [^/\s]+/{quoted}$", first)
        or re.match(rf"Merged in {quoted} \(pull request #\d+\)", first)
    )


def read_log(path: Path, *, branch: str = "") -> dict[str, Logged]:
    """Read what a log of git says about branches, by the name of the branch; empty if it cannot be read.

    Args:
        path: the log of HEAD, which tells about every branch that HEAD was on, or the log of one branch.
        branch: the branch whose log it is; "" = it is the log of HEAD.

    Commits that a later reset threw away do not count as made on the branch.
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
