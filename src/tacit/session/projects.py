"""Which project a folder belongs to. In: a folder. Out: a `ProjectRecord`. Reads `.git` files; never runs git.

A project is its normalised git remote, else its root path. Worktrees share it (they share the repository's config),
forks do not (their remote differs). Monorepo parts are paths below it.
"""

from __future__ import annotations

import configparser
import hashlib
import re
from pathlib import Path

from tacit.ports.store import ProjectRecord

_SCP_LIKE = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
_URL_LIKE = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^@/\s]+@)?([^/:\s]+)(?::\d+)?/(.+)$", re.IGNORECASE)
_MAX_CONFIG_BYTES = 1_000_000


def normalise_remote(url: str) -> str:
    """Bring a git remote to `host/path`, lower case, without user, port, password or `.git`; "" if it is none.

    A local path stays a path: two clones of a local repository share it.
    """
    text = url.strip()
    if not text:
        return ""
    match = _URL_LIKE.match(text) or _SCP_LIKE.match(text)
    joined = f"{match.group(1)}/{match.group(2)}" if match else text
    return joined.rstrip("/").removesuffix(".git").rstrip("/").lower()


def git_folders(start: Path) -> tuple[Path, Path] | None:
    """Return (work tree root, folder that holds `config`) of the repository around `start`, or None."""
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return folder, dot_git
        if dot_git.is_file():
            return folder, _common_folder(dot_git)
    return None


def _common_folder(dot_git: Path) -> Path:
    """Follow a `.git` file of a worktree or submodule to the folder with the shared `config`."""
    text = _read(dot_git)
    if not text.startswith("gitdir:"):
        return dot_git.parent
    target = (dot_git.parent / text.removeprefix("gitdir:").strip()).resolve()
    common = _read(target / "commondir").strip()
    return (target / common).resolve() if common else target


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _remote_url(config_folder: Path) -> str:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(re.sub(r"(?m)^[ \t]+", "", _read(config_folder / "config")))
    except configparser.Error:
        return ""
    remotes = [name for name in parser.sections() if name.startswith('remote "')]
    for name in sorted(remotes, key=lambda n: (n != 'remote "origin"', n)):
        url = parser.get(name, "url", fallback="") or ""
        if url:
            return url
    return ""


def identify_project(cwd: str | Path, *, by_remote: bool = True) -> ProjectRecord:
    """Identify the project around `cwd` (an existing folder or not).

    The id is `name-hash`: the last part of remote or path for people, ten hexadecimal digits of SHA-256 for machines.
    Without `by_remote` it is the one that the folder had before it got its first remote.
    """
    start = Path(cwd).expanduser()
    try:
        start = start.resolve()
    except (OSError, RuntimeError):  # a loop of links: keep the path as given
        start = start.absolute()
    found = git_folders(start)
    root = found[0] if found else start
    url = _remote_url(found[1]) if found and by_remote else ""
    if found and url.startswith(
        "."
    ):  # a remote beside this folder: the same words elsewhere mean another repository
        url = str((found[0] / url).resolve())
    remote = normalise_remote(url)
    if found and not remote:
        # Worktrees of a repository without a remote share its main folder.
        shared = found[1]
        root_key = str(shared.parent if shared.name == ".git" else shared)
    else:
        root_key = str(root)
    source = f"remote:{remote}" if remote else f"path:{root_key}"
    name = (remote or root_key).rstrip("/").rsplit("/", 1)[-1] or "root"
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "project"
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return ProjectRecord(id=f"{slug}-{digest}", name=name, root=str(root), remote=remote)


def relative_path(path: str, *, root: str, cwd: str = "") -> str:
    """Write `path` relative to `root` with forward slashes; unchanged when it lies outside."""
    if not path or not root:
        return path
    raw = Path(path)
    whole = raw if raw.is_absolute() else Path(cwd or root) / raw
    parts: list[str] = []
    for part in whole.parts:
        if part == "..":
            if len(parts) > 1:
                parts.pop()
        elif part != ".":
            parts.append(part)
    flat = Path(*parts) if parts else whole
    try:
        return flat.relative_to(root).as_posix()
    except ValueError:
        return path
