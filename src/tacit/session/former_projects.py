"""The id that an earlier version gave to the project of a folder, so that its memories are found. In: a folder. Out: an id.

That version dropped ports, users and the case of paths, and followed every `.git` file: several projects can have one former id.
Nothing new is stored under these ids. Kept word for word; do not correct it.
"""

from __future__ import annotations

import configparser
import hashlib
import re
from pathlib import Path

_SCP_LIKE = re.compile(r"^(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)$")
_URL_LIKE = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^@/\s]+@)?([^/:\s]+)(?::\d+)?/(.+)$", re.IGNORECASE)
_MAX_CONFIG_BYTES = 1_000_000


def former_id(start: Path) -> str:
    """The id of the project around `start`, a resolved path."""
    folders = _git_folders(start)
    root = folders[0] if folders else start
    url = _remote_url(folders[1]) if folders else ""
    if folders and url.startswith("."):
        url = str((folders[0] / url).resolve())
    remote = _normalise(url)
    if folders and not remote:
        shared = folders[1]
        root_key = str(shared.parent if shared.name == ".git" else shared)
    else:
        root_key = str(root)
    source = f"remote:{remote}" if remote else f"path:{root_key}"
    name = (remote or root_key).rstrip("/").rsplit("/", 1)[-1] or "root"
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "project"
    return f"{slug}-{hashlib.sha256(source.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def _normalise(url: str) -> str:
    text = url.strip()
    if not text:
        return ""
    match = _URL_LIKE.match(text) or _SCP_LIKE.match(text)
    joined = f"{match.group(1)}/{match.group(2)}" if match else text
    return joined.rstrip("/").removesuffix(".git").rstrip("/").lower()


def _git_folders(start: Path) -> tuple[Path, Path] | None:
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return folder, dot_git
        if dot_git.is_file():
            return folder, _common_folder(dot_git)
    return None


def _common_folder(dot_git: Path) -> Path:
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
