"""Past transcripts on disk. In: the hosts' folders, a project root, or files and folders by name. Out: what could be read.

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

from tacit.capture.transcripts.detection import DetectedFormat, detect_format
from tacit.capture.transcripts.gemini import project_root_of
from tacit.capture.transcripts.opencode.database import every_opencode_session, list_opencode_sessions
from tacit.capture.transcripts.opencode.server import served_sessions
from tacit.capture.transcripts.opencode.storage import session_facts, storage_sessions
from tacit.config.host_folders import HostFolders
from tacit.errors import HostError, InvalidPayload, NotFound

CLAUDE_CODE, OPENCODE, COPILOT = "claude-code", "opencode", "copilot"
HOSTS = ("claude-code", "opencode", "codex", "gemini", "copilot", "specstory", "aider")
DATABASE = "opencode.db"
_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".txt", ".db"})
_SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", "site-packages", "target", "dist"}
)
MAX_FILES = 100_000
"""Most files looked at in one search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptInfo:
    """A file of past sessions.

    Attributes:
        host: whose it is; empty where only its content tells.
        path: the file.
        size_bytes, modified_ms: of the file.
        sessions: how many sessions it holds, as far as that is known without reading it.
        session_ids: their ids, oldest first; () = all there are.
        cwd: the project root it was looked up for.
        server: address of the server that tells of them, instead of a file.
    """

    host: str
    path: Path
    size_bytes: int
    modified_ms: int
    sessions: int
    session_ids: tuple[str, ...] = ()
    cwd: str = ""
    server: str = ""

    @property
    def place(self) -> str:
        """The place of the sessions: the file, or the server."""
        return self.server or str(self.path)


def claude_folder_name(folder: str) -> str:
    """The name Claude Code gives a working folder: everything but letters and digits becomes a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", folder)


def kept_transcript(folders: HostFolders, host: str, session_id: str) -> Path | None:
    """Return the file in which `host` keeps a session, if its place is known without a message of the host; else None."""
    places: Iterable[Path] = ()
    if host == OPENCODE:
        places = (folder / DATABASE for folder in folders.opencode)
    elif host == COPILOT and re.fullmatch(r"[A-Za-z0-9-]+", session_id):
        places = (folder / "session-state" / session_id / "events.jsonl" for folder in folders.copilot)
    return next((path for path in places if path.is_file()), None)


def find_transcripts(
    folders: HostFolders, project_root: Path | None, *, subagents: bool = False
) -> tuple[TranscriptInfo, ...]:
    """Past sessions that ran in `project_root` (OpenCode: or below it), oldest first; of all projects for None.

    Files that cannot be read are left out: backfill is an offer, not a promise.
    """
    root = str(project_root) if project_root else ""
    transcripts = [
        *_of_claude(folders, root, subagents=subagents),
        *_of_opencode(folders, root, subagents=subagents),
        *_of_others(folders, root),
        *_in_project(project_root),
    ]
    return tuple(sorted(transcripts, key=lambda info: (info.modified_ms, str(info.path))))


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
    by_path: dict[Path, TranscriptInfo] = {}
    for path in paths:
        if not path.exists():
            raise NotFound(
                f"There is no file or folder {path}.", hint="Name existing transcripts, or folders of them."
            )
        for file in _files_below(path) if path.is_dir() else (path,):
            info = _named(file, cwd=cwd, by_user=not path.is_dir())
            if info and info.modified_ms >= since_ms and host in ("", info.host):
                by_path.setdefault(info.path, info)
    return tuple(sorted(by_path.values(), key=lambda info: (info.modified_ms, str(info.path))))


def served_transcripts(address: str, *, since_ms: int = 0) -> tuple[TranscriptInfo, ...]:
    """The sessions that a running OpenCode server tells of, those of people; nothing where it has none.

    Raises:
        InvalidInput: if the address is not one of this machine.
        HostError: if nothing that speaks like OpenCode answers there.
    """
    sessions = [
        session
        for session in served_sessions(address)
        if not session.parent and session.changed_ms >= since_ms
    ]
    if not sessions:
        return ()
    info = TranscriptInfo(
        host=OPENCODE,
        path=Path(),
        size_bytes=0,
        modified_ms=sessions[-1].changed_ms,
        sessions=len(sessions),
        session_ids=tuple(session.session_id for session in sessions),
        server=address,
    )
    return (info,)


def _named(path: Path, *, cwd: str, by_user: bool) -> TranscriptInfo | None:
    """A file by its name; one in a folder counts only when it is a transcript, or a broken one."""
    try:
        detected = detect_format(path)
    except InvalidPayload:
        detected = DetectedFormat(format="") if by_user or path.suffix != ".db" else None
    except OSError:
        detected = DetectedFormat(format="")
    if detected is None or (not by_user and not detected.format and detected.reason):
        return None
    # The file's own word on its host is asked again when it is read; a copy that says none is nobody's.
    info = _info("", path, (), cwd)
    return None if info is None else _with_host(info, detected.host)


def _with_host(info: TranscriptInfo, host: str) -> TranscriptInfo:
    return TranscriptInfo(
        host=host,
        path=info.path,
        size_bytes=info.size_bytes,
        modified_ms=info.modified_ms,
        sessions=1,
        cwd=info.cwd,
    )


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


def _of_claude(hosts: HostFolders, root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    folder_glob = claude_folder_name(root) if root else "*"
    folders = [
        folder
        for host_folder in hosts.claude
        for folder in sorted((host_folder / "projects").glob(folder_glob))
    ]
    patterns = ("*.jsonl", "*/subagents/agent-*.jsonl") if subagents else ("*.jsonl",)
    for path in (path for folder in folders for pattern in patterns for path in folder.glob(pattern)):
        if subagents or not path.name.startswith("agent-"):
            info = _info(CLAUDE_CODE, path, (path.stem,), root)
            if info and info.size_bytes:
                yield info


def _of_opencode(folders: HostFolders, root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    """Its databases, and what it wrote before it had one; a session that moved from there is read where it is now."""
    moved: set[str] = set()
    for database in (folder / DATABASE for folder in folders.opencode):
        try:
            if not database.is_file():
                continue
            if root:
                listed = list_opencode_sessions(database, root, subagents=subagents)
                names = tuple(name for name, _ in listed if name not in moved)
            else:
                session_ids = every_opencode_session(database, subagents=subagents)
                names = tuple(name for name in session_ids if name not in moved)
        except HostError:
            continue
        moved.update(names)
        info = _info(OPENCODE, database, names, root) if names else None
        if info:
            yield info
    for path in (path for folder in folders.opencode for path in storage_sessions(folder / "storage")):
        try:
            name, directory, parent = session_facts(path)
        except OSError:
            continue
        inside = not root or directory == root or directory.startswith(f"{root}/")
        if name and name not in moved and inside and (subagents or not parent):
            moved.add(name)
            info = _info(OPENCODE, path, (name,), directory or root)
            if info:
                yield info


def _of_others(folders: HostFolders, root: str) -> Iterator[TranscriptInfo]:
    """Hosts whose files say themselves where they ran."""
    places: tuple[tuple[str, Path, str], ...] = (
        *(("codex", folder / "sessions", "**/rollout-*.jsonl") for folder in folders.codex),
        *(("codex", folder / "archived_sessions", "**/rollout-*.jsonl") for folder in folders.codex),
        *(("copilot", folder / "session-state", "*/events.jsonl") for folder in folders.copilot),
        *(("gemini", folder / "tmp", "*/chats/session-*.json*") for folder in folders.gemini),
    )
    for host, folder, pattern in places:
        for path in folder.glob(pattern):
            try:
                detected = detect_format(path)
            except (OSError, InvalidPayload):
                continue
            ran = _gemini_root(path, root) if host == "gemini" else detected.cwd
            if detected.format and (not root or ran == root or ran.startswith(f"{root}/")):
                info = _info(host, path, (detected.session_id,) if detected.session_id else (), ran or root)
                if info:
                    yield info


def _gemini_root(path: Path, root: str) -> str:
    """Return the folder of a Gemini chat: its folder is named after the hash of the project's root, or holds a file that says it."""
    if root and path.parent.parent.name == hashlib.sha256(root.encode()).hexdigest():
        return root
    return project_root_of(path)


def _in_project(root: Path | None) -> Iterator[TranscriptInfo]:
    """Histories that tools keep in the project itself."""
    if root is None:
        return
    base = root.resolve()
    entries: Iterable[tuple[str, Path]] = (
        *(("specstory", path) for path in sorted((root / ".specstory" / "history").glob("*.md"))),
        ("aider", root / ".aider.chat.history.md"),
    )
    for host, path in entries:
        try:
            inside = path.is_file() and path.resolve().is_relative_to(
                base
            )  # a link may lead to the whole disk
            detected = detect_format(path) if inside else None
        except (OSError, InvalidPayload):
            detected = None
        info = _info(detected.host or host, path, (), str(root)) if detected and detected.format else None
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
