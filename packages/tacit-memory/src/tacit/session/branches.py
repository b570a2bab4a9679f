"""The branch that is checked out in a work tree. In: a project's root. Out: its name.

HEAD, one small file, is read by itself, since this happens before every prompt; git is asked where the file does not tell. All else is asked of git.

The default branch is the one that `origin` names, else `main` or `master`. `develop` and `trunk` are treated like the default branch. If the default
branch is not known, no branch counts as unmerged. During a rebase, the branch that is being rebased counts as checked out.

Source: gitrepository-layout(5).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.session.projects import Checkout, find_checkout, remote_url
from tacit.system.git import Git
from tacit.text.lazy_regex import lazy_regex

SHARED = ("main", "master", "trunk", "develop")
"""Branches that count as merged wherever they exist, because teams merge their work into them."""
_DEFAULTS = ("main", "master")
_HEADS, _REMOTE, _REMOTES = "refs/heads/", "refs/remotes/origin/", "refs/remotes/"
_NOT_IN_FILES = "refs/heads/.invalid"
"""The content of HEAD in a repository with the `reftable` format: git knows more."""
_NAME = lazy_regex(r"[^\x00-\x20\x7f~^:?*\[\\/.-][^\x00-\x20\x7f~^:?*\[\\]{0,199}")
"""Source: git-check-ref-format(1)."""
_REBASES = ("rebase-merge/head-name", "rebase-apply/head-name")
_MAX_REF_BYTES = 4_096
HEAD_S, REFS_S = 0.5, 2.0
"""How long git may take to tell HEAD, or the default branch, while a prompt waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTree:
    """A work tree and the branches of its repository that count as merged.

    Attributes:
        checkout: its folders; both git folders are set.
        git: what answers for it.
        shared: the names of the default branch and of the other branches that count as merged; empty = the default branch is not known.
        remote: whether the repository has a remote. If so, a branch counts as merged when the remote has merged it.
    """

    checkout: Checkout
    git: Git
    shared: tuple[str, ...]
    remote: bool


def work_tree_of(root: str | Path) -> WorkTree | None:
    """The work tree at `root`, a resolved path; None if git would find none there."""
    checkout = find_checkout(Path(root)) if root else None
    if checkout is None or checkout.own is None or checkout.common is None:
        return None
    git = Git(folder=checkout.own, work_tree=checkout.root)
    refs = git.refs(_REMOTES, *(f"{_HEADS}{name}" for name in _DEFAULTS), timeout_s=REFS_S) or {}
    remote = any(name.startswith(_REMOTES) for name in refs) or bool(remote_url(checkout.common))
    named = refs.get(f"{_REMOTE}HEAD", ("", ""))[1].removeprefix(_REMOTE)
    default = next(
        (name for name in (named, *_DEFAULTS) if name and merged_ref(name, remote=remote) in refs), ""
    )
    shared = (default, *(name for name in SHARED if name != default)) if default else ()
    return WorkTree(checkout=checkout, git=git, shared=shared, remote=remote)


def branch_at(tree: WorkTree) -> str:
    """The unmerged branch that is checked out or being rebased; "" = no branch, or one that counts as merged."""
    name = head_branch(tree.checkout)
    return name if tree.shared and name not in tree.shared else ""


def commit_at(tree: WorkTree, branch: str) -> str:
    """The commit at the tip of a local branch, or ""."""
    return (tree.git.refs(_HEADS + branch) or {}).get(_HEADS + branch, ("", ""))[0]


def default_tip(tree: WorkTree) -> str:
    """The newest commit known of the default branch, or "". With a remote called `origin` that is what was fetched: what stands there was pushed or merged."""
    ref = merged_ref(tree.shared[0], remote=tree.remote) if tree.shared else ""
    return (tree.git.refs(ref) or {}).get(ref, ("", ""))[0] if ref else ""


def stand_of(tree: WorkTree) -> tuple[str, ...]:
    """A value that changes when another branch is checked out, or when a branch that counts as merged moves. It is made of names and times of files."""
    common = tree.checkout.common
    if common is None:
        return ()
    refs = (merged_ref(name, remote=tree.remote) for name in tree.shared)
    files = (common / "packed-refs", common / "reftable" / "tables.list", *(common / ref for ref in refs))
    return head_branch(tree.checkout), *map(_changed_at, files)


def refs_changed_at(root: str) -> tuple[str, ...]:
    """A value that changes when a branch of the repository at `root` is made, moved or removed, or its remotes change."""
    checkout = find_checkout(Path(root)) if root else None
    if checkout is None or checkout.common is None:
        return ()
    names = (
        "config",
        "packed-refs",
        "refs/heads",
        "refs/remotes/origin",
        "refs/remotes/origin/HEAD",
        "reftable/tables.list",
    )
    return str(checkout.own), *(_changed_at(checkout.common / name) for name in names)


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
    if head == f"ref: {_NOT_IN_FILES}" or (own / "HEAD").is_symlink():
        git = Git(folder=own, work_tree=checkout.root)
        answer = git.ask("symbolic-ref", "--quiet", "HEAD", timeout_s=HEAD_S) or b""
        head = f"ref: {answer.decode('utf-8', 'replace').strip()}" if answer else ""
    if not head.startswith("ref:"):
        head = next((text for name in _REBASES if (text := small_text(own / name))), "")
    name = head.removeprefix("ref:").strip()
    branch = name.removeprefix(_HEADS)
    return branch if name.startswith(_HEADS) and is_branch_name(branch) and name != _NOT_IN_FILES else ""


def is_branch_name(name: str) -> bool:
    """Whether git accepts `name` as the name of a branch. Checks what makes it safe in a path and in shown text."""
    return bool(_NAME.fullmatch(name)) and ".." not in name


def merged_ref(name: str, *, remote: bool) -> str:
    """The reference that says what is merged into the branch `name`: with a remote the fetched branch, else the local one."""
    return f"{_REMOTE if remote else _HEADS}{name}"


def small_text(path: Path) -> str:
    """The first 4 KB of a file, without surrounding white space; "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_REF_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
