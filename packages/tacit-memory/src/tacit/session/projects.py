"""The project that a folder belongs to. In: a folder. Out: a `ProjectRecord`.

A project is the repository that its git remote names, else its folder. Git is asked what a configuration says, once for each state of the
file, since this happens before every prompt; without git a folder has no remote. Where a `.git` that is a file or a link leads is looked up
here, for git believes it: worktrees and submodules count as git's own only where the repository points back to them; otherwise the folder
is a project by itself. Whether a folder that names a known
repository may share its memories is not decided here: `tacit.app.projects` asks the user.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath, PureWindowsPath

from tacit.model.scope import USER_FOLDER, user_project_id
from tacit.ports.store import ProjectRecord
from tacit.session.remotes import name_remote
from tacit.system.git import Git

_MAX_POINTER_BYTES = 4_096
CONFIG_S = 2.0
"""How long git may take to read a configuration, while a prompt waits."""
_USER_CONFIGS = ("~/.config/git/config", "~/.gitconfig")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_DRIVE_OF_A_SHELL = re.compile(r"^/([A-Za-z])(?=/)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A folder with a `.git`. `own` and `common` are its git folder and the one that worktrees share; None = not accepted."""

    root: Path
    own: Path | None
    common: Path | None


def find_checkout(start: Path) -> Checkout | None:
    """The checkout around `start`, a resolved path; None outside of any.

    A folder whose `.git` is an empty folder is passed over, as git does: Codex's sandbox makes such folders in `/tmp` and in
    working folders while a command runs, and leaves them there if it is killed (openai/codex issue 31599).
    """
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if os.path.lexists(dot_git) and not _empty_folder(dot_git):
            own, common = _git_folders(dot_git)
            return Checkout(root=folder, own=own, common=common)
    return None


def _empty_folder(path: Path) -> bool:
    try:
        return next(path.iterdir(), None) is None
    except OSError:  # a file, a link to nowhere, or a folder that cannot be read
        return False


def git_at(root: Path) -> Git | None:
    """Git for the work tree whose root is `root`, a resolved path; None if it is the root of none."""
    checkout = find_checkout(root)
    if checkout is None or checkout.root != root or checkout.own is None:
        return None
    return Git(folder=checkout.own, work_tree=root)


def _git_folders(dot_git: Path) -> tuple[Path, Path] | tuple[None, None]:
    """The git folder and the shared one. A `.git` that leads out of its folder is accepted only if its target points back."""
    if dot_git.is_dir() and not dot_git.is_symlink():
        return dot_git, dot_git
    folder = dot_git.parent
    if dot_git.is_file():
        text = _read(dot_git)
        if not text.startswith("gitdir:"):
            return None, None
        target = _resolved(folder / text.removeprefix("gitdir:").strip())
    else:
        target = _resolved(dot_git)
    if target is None or not target.is_dir():
        return None, None
    commondir = _read(target / "commondir").strip()
    if commondir:  # a worktree: its administrative folder lies in the repository and names the worktree
        common = _resolved(target / commondir)
        back = _read(target / "gitdir").strip()
        place = _resolved((target / back).parent) if back else None
        if common is not None and target.parent == common / "worktrees" and place == folder:
            return target, common
        return None, None
    if target.is_relative_to(folder) or _work_tree(target) == folder:
        return target, target
    return None, None


def _resolved(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _work_tree(git_folder: Path) -> Path | None:
    """The folder that a submodule's git folder says it belongs to."""
    for name in ("config.worktree", "config"):
        for setting, value in _settings(git_folder / name):
            if setting == "core.worktree" and value:
                return _resolved(git_folder / value)
    return None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_POINTER_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _settings(file: Path) -> tuple[tuple[str, str], ...]:
    """Every setting of a configuration file, `section.name.key` with its value; none where git gives no answer. What it includes is left out."""
    try:
        state = file.stat()
        return _settings_of(file, state.st_mtime_ns, state.st_size)
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _settings_of(file: Path, _changed_ns: int, _size: int) -> tuple[tuple[str, str], ...]:
    git = Git(folder=file.parent, work_tree=file.parent)
    out = git.ask("config", "--file", str(file), "--null", "--list", timeout_s=CONFIG_S)
    if out is None:
        raise OSError(f"git cannot read {file}")
    pairs = (entry.partition("\n") for entry in out.decode("utf-8", "replace").split("\0") if entry)
    return tuple((name, value) for name, _, value in pairs)


def remote_url(common: Path) -> str:
    """The url of `origin`, else of the first other remote, with the rewriting that git is told to do."""
    settings = list(_settings(common / "config"))
    urls: dict[str, str] = {}
    for setting, value in settings:
        if setting.startswith("remote.") and setting.endswith(".url") and value:
            urls.setdefault(setting[len("remote.") : -len(".url")], value)
    if not urls:
        return ""
    url = urls[min(urls, key=lambda name: (name != "origin", name))]
    for file in _USER_CONFIGS:
        settings += _settings(Path(os.path.expanduser(file)))  # noqa: PTH111 - raises nothing without a home
    rules = [
        (value, setting[len("url.") : -len(".insteadof")])
        for setting, value in settings
        if setting.startswith("url.") and setting.endswith(".insteadof") and value and url.startswith(value)
    ]
    if not rules:
        return url
    prefix, base = max(rules, key=lambda rule: len(rule[0]))
    return base + url.removeprefix(prefix)


def project_id(key: str, taken: Iterable[str] = ()) -> str:
    """The id of the project that `key` names: its last part for people, ten hexadecimal digits of SHA-256 for machines.

    Args:
        key: `remote:` or `path:` and the name.
        taken: ids that other projects have.
    """
    name = last_name(key.partition(":")[2])
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "project"
    taken_ids = set(taken)
    source = key
    while True:
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        if f"{slug}-{digest}" not in taken_ids:
            return f"{slug}-{digest}"
        source += "\n"


def resolve_folder(cwd: str | Path) -> Path:
    """`cwd`, an existing folder or not, as an absolute path without links."""
    start = Path(os.path.expanduser(cwd))  # noqa: PTH111 - leaves an unknown user's `~` as it is
    return _resolved(start) or start.absolute()  # a loop of links: keep the path as given


def is_user_folder(cwd: str | Path) -> bool:
    """Whether `cwd` stands for one user of a program with many, and for no folder."""
    return isinstance(cwd, str) and cwd.startswith(USER_FOLDER)


def identify_project(cwd: str | Path, *, by_remote: bool = True) -> ProjectRecord:
    """Identify the project around `cwd` (an existing folder or not), by what the folder says of itself.

    Without `by_remote` it is the project that the folder is without its remote. `folders` holds the one folder that stands
    for the repository on this machine: its worktrees share it. `user:NAME` is the space of one user of a program, without any folder.
    """
    if is_user_folder(cwd):
        name = str(cwd).removeprefix(USER_FOLDER)
        return ProjectRecord(id=user_project_id(name), name=f"user {name}", root="", key=str(cwd))
    start = resolve_folder(cwd)
    checkout = find_checkout(start)
    root = checkout.root if checkout else start
    main, remote = root, ""
    if checkout and checkout.common is not None:
        common = checkout.common
        main = common.parent if common.name == ".git" else common
        if by_remote:
            linked = checkout.own != common
            remote = name_remote(remote_url(common), base=main if linked else root)
    key = f"remote:{remote}" if remote else f"path:{main}"
    return ProjectRecord(
        id=project_id(key),
        name=last_name(key.partition(":")[2]),
        root=str(root),
        remote=remote,
        key=key,
        folders=(str(main),),
    )


def last_name(path: str) -> str:
    """Return the last part of a path of any system, or of the name of a repository; `root` if there is none."""
    if _WINDOWS_PATH.match(path):
        return PureWindowsPath(path).name or "root"
    return path.rstrip("/").rsplit("/", 1)[-1] or "root"


def relative_path(path: str, *, root: str, cwd: str = "") -> str:
    """Write `path` relative to `root` with forward slashes; when it lies outside, as it is, or whole where it was relative to `cwd`.

    A root or path with a drive letter or a share is one of Windows: there case does not count, and `/c/Users`, as a shell of
    Git writes it, is `C:/Users`.
    """
    if not path or not root:
        return path
    windows = _WINDOWS_PATH.match(root) or _WINDOWS_PATH.match(path)
    kind = PureWindowsPath if windows else PurePosixPath
    if windows:
        path = _DRIVE_OF_A_SHELL.sub(r"\1:/", path)
        path = path.replace("\\\\?\\UNC\\", "\\\\").removeprefix("\\\\?\\").replace("\\", "/")
    raw = kind(path)
    whole = raw if raw.is_absolute() else kind(cwd or root) / raw
    segments: list[str] = []
    for segment in whole.parts:
        if segment == "..":
            if len(segments) > 1:
                segments.pop()
        elif segment != ".":
            segments.append(segment)
    flat = kind(*segments) if segments else whole
    try:
        return flat.relative_to(root).as_posix()
    except ValueError:
        return path if raw.is_absolute() else flat.as_posix()
