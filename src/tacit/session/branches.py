"""The branch that is checked out in a work tree. In: a project's root. Out: its name. Reads a few small files of git; never runs git.

The default branch is the one that `origin` names, else `main` or `master`. `develop` and `trunk` are treated like the default branch. If the default
branch is not known, no branch counts as unmerged. During a rebase, the branch that is being rebased counts as checked out.

Source: gitrepository-layout(5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.session.projects import Checkout, find_checkout
from tacit.text.lazy_regex import lazy_regex

SHARED = ("main", "master", "trunk", "develop")
"""Branches that count as merged wherever they exist, because teams merge their work into them."""
_DEFAULTS = ("main", "master")
_HEADS, _REMOTE = "refs/heads/", "refs/remotes/origin/"
_NOT_IN_FILES = "refs/heads/.invalid"
"""The content of HEAD in a repository with the `reftable` format, which is not read here."""
_NAME = lazy_regex(r"[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]{0,199}")
"""Source: git-check-ref-format(1)."""
_REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")
_MAX_REF_BYTES = 4_096
OBJECT_ID = lazy_regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""The id of an object of git, by SHA-1 or SHA-256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """A work tree and the branches of its repository that count as merged.

    Attributes:
        checkout: its folders; both git folders are set.
        shared: the names of the default branch and of the other branches that count as merged; empty = the default branch is not known.
        remote: whether the repository has a remote. If so, a branch counts as merged when the remote has merged it.
    """

    checkout: Checkout
    shared: tuple[str, ...]
    remote: bool


def work_tree_of(root: str | Path) -> WorkTree | None:
    """The work tree at `root`, a resolved path; None if git would find none there."""
    checkout = find_checkout(Path(root)) if root else None
    if checkout is None or checkout.own is None or checkout.common is None:
        return None
    remote = has_remotes(checkout.common)
    try:
        default = default_branch(checkout.common, remote=remote)
    except OSError:
        default = ""
    if not default:
        return WorkTree(checkout=checkout, shared=(), remote=remote)
    shared = (default, *(name for name in SHARED if name != default))
    return WorkTree(checkout=checkout, shared=shared, remote=remote)


def branch_at(tree: WorkTree) -> str:
    """The unmerged branch that is checked out or being rebased; "" = no branch, or one that counts as merged."""
    name = head_branch(tree.checkout)
    return name if tree.shared and name not in tree.shared else ""


def commit_at(tree: WorkTree, branch: str) -> str:
    """The commit at the tip of a local branch, or ""."""
    checkout = tree.checkout
    if checkout.own is None or checkout.common is None:
        return ""
    try:
        return resolve_ref(checkout.common, checkout.own, _HEADS + branch)
    except OSError:
        return ""


def stand_of(tree: WorkTree) -> tuple[str, ...]:
    """A value that changes when another branch is checked out, or when a branch that counts as merged moves. It is made of names and times of files."""
    common = tree.checkout.common
    if common is None:
        return ()
    refs = (merged_ref(name, remote=tree.remote) for name in tree.shared)
    files = (common / "packed-refs", *(common / ref for ref in refs))
    return head_branch(tree.checkout), *map(_changed_at, files)


def _changed_at(file: Path) -> str:
    try:
        return str(file.stat().st_mtime_ns)
    except OSError:
        return ""


def head_branch(checkout: Checkout) -> str:
    """The branch that is checked out or being rebased; "" = none."""
    own = checkout.own
    if own is None:
        return ""
    head = small_text(own / "HEAD")
    if not head.startswith("ref:"):
        head = next((text for name in _REBASES if (text := small_text(own / name))), "")
    name = head.removeprefix("ref:").strip()
    branch = name.removeprefix(_HEADS)
    return branch if name.startswith(_HEADS) and is_branch_name(branch) and name != _NOT_IN_FILES else ""


def is_branch_name(name: str) -> bool:
    """Whether git accepts `name` as the name of a branch. Checks what makes it safe in a path and in shown text."""
    return bool(_NAME.fullmatch(name)) and ".." not in name


def has_remotes(common: Path) -> bool:
    """Whether the repository has or had a remote."""
    config = common / "config"
    try:
        named = config.is_file() and "[remote " in config.read_text("utf-8", "replace")
    except OSError:
        named = False
    return named or (common / "refs" / "remotes").is_dir()


def merged_ref(name: str, *, remote: bool) -> str:
    """The reference that says what is merged into the branch `name`: with a remote the fetched branch, else the local one."""
    return f"{_REMOTE if remote else _HEADS}{name}"


def default_branch(common: Path, *, remote: bool) -> str:
    """The name of the default branch of a repository; "" if none is known.

    Args:
        common: the git folder that all work trees share.
        remote: whether the repository has a remote.

    Raises:
        OSError: if a file of git cannot be read.
    """
    head = small_text(common / _REMOTE / "HEAD").removeprefix("ref:").strip() if remote else ""
    named = (head.removeprefix(_REMOTE),) if head.startswith(_REMOTE) else ()
    refs = ((name, merged_ref(name, remote=remote)) for name in (*named, *_DEFAULTS))
    return next((name for name, ref in refs if resolve_ref(common, common, ref)), "")


def resolve_ref(common: Path, own: Path, name: str) -> str:
    """The commit that a reference points at, read from its own file or from `packed-refs`; "" = there is no such reference.

    Raises:
        OSError: if it cannot be read.
    """
    if not name.startswith("refs/") or ".." in name:
        return ""
    for folder in (own, common):
        file = folder / name
        if file.is_file():
            text = file.read_text("utf-8", "replace").strip()
            return text if OBJECT_ID.fullmatch(text) else ""
    packed = common / "packed-refs"
    if packed.is_file():
        for line in packed.read_text("utf-8", "replace").splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and OBJECT_ID.fullmatch(commit):
                return commit
    return ""


def log_lines(path: Path, *, max_bytes: int) -> list[str]:
    """The lines in the last `max_bytes` of a log of git. Only a line feed ends a line, because a commit message can hold any other separator.

    Raises:
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - max_bytes))
        return file.read().decode("utf-8", "replace").split("\n")


def small_text(path: Path) -> str:
    """The first 4 KB of a file, without surrounding white space; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_REF_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
