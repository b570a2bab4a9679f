"""Past transcripts on disk. In: the user's home folder, a project root, or files and folders by name. Out: what could be read.

Reads no more of a file than its beginning, to know whose it is and where it ran. Never follows the environment: only
`config/` knows where a home is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.capture.transcripts.gemini import project_root_of
from tacit.capture.transcripts.opencode import every_opencode_session, list_opencode_sessions
from tacit.capture.transcripts.recognise import Recognised, recognise
from tacit.errors import HostError, InvalidPayload, NotFound

CLAUDE_CODE, OPENCODE = "claude-code", "opencode"
HOSTS = ("claude-code", "opencode", "codex", "gemini", "copilot", "specstory", "aider")
_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".txt", ".db"})
_SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", "site-packages", "target", "dist"}
)
MAX_FILES = 100_000
"""Most files looked at in one search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptInfo:
    """One file of past sessions.

    Attributes:
        host: whose it is; empty where only its content tells.
        path: the file.
        size_bytes, modified_ms: of the file.
        sessions: how many sessions it holds, as far as that is known without reading it.
        session_ids: their ids, oldest first; () = all there are.
        cwd: the project root it was looked up for.
    """

    host: str
    path: Path
    size_bytes: int
    modified_ms: int
    sessions: int
    session_ids: tuple[str, ...] = ()
    cwd: str = ""


def claude_folder_name(folder: str) -> str:
    """The name Claude Code gives a working folder: everything but letters and digits becomes a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", folder)


def kept_transcripts(home: Path, host: str) -> Path | None:
    """The one file in which `host` keeps all sessions of the user at `home`; None for hosts with a file per session."""
    database = home / ".local" / "share" / "opencode" / "opencode.db"
    return database if host == OPENCODE and database.is_file() else None


def find_transcripts(
    home: Path, project_root: Path | None, *, subagents: bool = False
) -> tuple[TranscriptInfo, ...]:
    """Past sessions that ran in `project_root` (OpenCode: or below it), oldest first; of all projects for None.

    Files that cannot be read are left out: backfill is an offer, not a promise.
    """
    root = str(project_root) if project_root else ""
    found = [
        *_of_claude(home, root, subagents=subagents),
        *_of_opencode(home, root, subagents=subagents),
        *_of_others(home, root),
        *_in_project(project_root),
    ]
    return tuple(sorted(found, key=lambda info: (info.modified_ms, str(info.path))))


def named_transcripts(
    paths: Sequence[Path], *, cwd: str = "", host: str = "", since_ms: int = 0
) -> tuple[TranscriptInfo, ...]:
    """The transcripts at `paths`: files as they are, folders searched through; in the order of their last change.

    Args:
        paths: files and folders.
        cwd: project root of sessions that do not say where they ran.
        host: only sessions of this host.
        since_ms: only files changed since.

    Raises:
        NotFound: if a path does not exist.
    """
    found: dict[Path, TranscriptInfo] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(
                f"There is no file or folder {path}.", hint="Name existing transcripts, or folders of them."
            )
        for file in _files_below(path) if path.is_dir() else (path,):
            info = _named(file, cwd=cwd, given=not path.is_dir())
            if info and info.modified_ms >= since_ms and host in ("", info.host):
                found.setdefault(info.path, info)
    return tuple(sorted(found.values(), key=lambda info: (info.modified_ms, str(info.path))))


def _named(path: Path, *, cwd: str, given: bool) -> TranscriptInfo | None:
    """A file by its name; one in a folder counts only when it is a transcript, or a broken one."""
    try:
        known = recognise(path)
    except InvalidPayload:
        known = Recognised(format="") if given or path.suffix != ".db" else None
    except OSError:
        known = Recognised(format="")
    if known is None or (not given and not known.format and known.reason):
        return None
    # The file's own word on its host is asked again when it is read; a copy that says none is nobody's.
    info = _info("", path, (), cwd)
    return None if info is None else _with_host(info, known.host)


def _with_host(info: TranscriptInfo, host: str) -> TranscriptInfo:
    return TranscriptInfo(
        host=host, path=info.path, size_bytes=info.size_bytes, modified_ms=info.modified_ms, sessions=1, cwd=info.cwd
    )  # fmt: skip


def _files_below(folder: Path) -> Iterator[Path]:
    """Files that may be transcripts, in a fixed order. Never enters a link."""
    looked = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            looked += 1
            if looked > MAX_FILES:
                return
            if Path(name).suffix.lower() in _SUFFIXES:
                yield Path(place) / name


def _of_claude(home: Path, root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    projects = home / ".claude" / "projects"
    folders = (projects / claude_folder_name(root),) if root else tuple(sorted(projects.glob("*")))
    patterns = ("*.jsonl", "*/subagents/agent-*.jsonl") if subagents else ("*.jsonl",)
    for path in (path for folder in folders for pattern in patterns for path in folder.glob(pattern)):
        if subagents or not path.name.startswith("agent-"):
            info = _info(CLAUDE_CODE, path, (path.stem,), root)
            if info and info.size_bytes:
                yield info


def _of_opencode(home: Path, root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    database = kept_transcripts(home, OPENCODE)
    if database is None:
        return
    try:
        if root:
            names = tuple(name for name, _ in list_opencode_sessions(database, root, subagents=subagents))
        else:
            names = every_opencode_session(database, subagents=subagents)
    except HostError:
        return
    info = _info(OPENCODE, database, names, root) if names else None
    if info:
        yield info


def _of_others(home: Path, root: str) -> Iterator[TranscriptInfo]:
    """Hosts whose files say themselves where they ran."""
    places: tuple[tuple[str, Path, str], ...] = (
        ("codex", home / ".codex" / "sessions", "**/rollout-*.jsonl"),
        ("codex", home / ".codex" / "archived_sessions", "**/rollout-*.jsonl"),
        ("copilot", home / ".copilot" / "session-state", "*/events.jsonl"),
        ("gemini", home / ".gemini" / "tmp", "*/chats/session-*.json*"),
    )
    for host, folder, pattern in places:
        for path in folder.glob(pattern):
            try:
                known = recognise(path)
            except (OSError, InvalidPayload):
                continue
            ran = _gemini_root(path, root) if host == "gemini" else known.cwd
            if known.format and (not root or ran == root or ran.startswith(f"{root}/")):
                info = _info(host, path, (known.session_id,) if known.session_id else (), ran or root)
                if info:
                    yield info


def _gemini_root(path: Path, root: str) -> str:
    """Where a Gemini chat ran: its folder is named after the hash of the project's root, or holds a file that says it."""
    if root and path.parent.parent.name == hashlib.sha256(root.encode()).hexdigest():
        return root
    return project_root_of(path)


def _in_project(root: Path | None) -> Iterator[TranscriptInfo]:
    """Histories that tools keep in the project itself."""
    if root is None:
        return
    base = root.resolve()
    kept: Iterable[tuple[str, Path]] = (
        *(("specstory", path) for path in sorted((root / ".specstory" / "history").glob("*.md"))),
        ("aider", root / ".aider.chat.history.md"),
    )
    for host, path in kept:
        try:
            inside = path.is_file() and path.resolve().is_relative_to(
                base
            )  # a link may lead to the whole disk
            known = recognise(path) if inside else None
        except (OSError, InvalidPayload):
            known = None
        info = _info(known.host or host, path, (), str(root)) if known and known.format else None
        if info:
            yield info


def _info(host: str, path: Path, session_ids: tuple[str, ...], root: str) -> TranscriptInfo | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return TranscriptInfo(
        host=host,
        path=path,
        size_bytes=stat.st_size,
        modified_ms=stat.st_mtime_ns // 1_000_000,
        sessions=max(1, len(session_ids)),
        session_ids=session_ids,
        cwd=root,
    )
