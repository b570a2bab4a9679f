"""Past transcripts on disk. In: the hosts' folders, a project root, or files and folders by name. Out: what could be read.

Reads no more of a file than its beginning, to know whose it is and where it ran. Never follows the environment: only
`config/` knows where a home is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tacit.errors import InvalidPayload, NotFound
from tacit.hosts.built_in import BuiltInHost
from tacit.hosts.opencode import OPENCODE
from tacit.hosts.registry import HostFolders, readable_hosts
from tacit.hosts.transcripts.detection import DetectedFormat, detect_format

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


def kept_transcript(folders: HostFolders, host: str, session_id: str) -> Path | None:
    """Return the file in which `host` keeps a session, if its place is known without a message of the host; else None."""
    known = next((each for each in readable_hosts() if each.name == host), None)
    keeps = known.offered("transcript", "kept") if known else None
    return keeps(folders.of(host), session_id) if keeps is not None else None


def find_transcripts(
    folders: HostFolders, project_root: Path | None, *, subagents: bool = False
) -> tuple[TranscriptInfo, ...]:
    """Past sessions that ran in `project_root` (OpenCode: or below it), oldest first; of all projects for None.

    Files that cannot be read are left out: backfill is an offer, not a promise.
    """
    root = str(project_root) if project_root else ""
    transcripts = [
        *(
            info
            for host in readable_hosts()
            for info in (host.offered("transcript", "find") or partial(_find_in_places, host))(
                folders.of(host.name), root, subagents=subagents
            )
        ),
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
    from tacit.hosts.opencode.server import served_sessions  # noqa: PLC0415 - hardly ever asked for

    sessions = [
        session
        for session in served_sessions(address)
        if not session.parent and session.changed_ms >= since_ms
    ]
    if not sessions:
        return ()
    info = TranscriptInfo(
        host=OPENCODE.name,
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
    info = transcript_info("", path, (), cwd)
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


def _find_in_places(
    host: BuiltInHost, folders: Sequence[Path], root: str, *, subagents: bool
) -> Iterator[TranscriptInfo]:
    """Sessions of a host whose files lie in fixed places and say themselves where they ran."""
    del subagents
    ran_in = host.offered("transcript", "ran_in")
    places: Sequence[tuple[str, str]] = host.part("transcript").PLACES
    for path in (
        path for place, glob in places for folder in folders for path in (folder / place).glob(glob)
    ):
        try:
            detected = detect_format(path)
        except (OSError, InvalidPayload):
            continue
        ran = detected.cwd if ran_in is None else ran_in(path, root)
        if detected.format and (not root or ran == root or ran.startswith(f"{root}/")):
            names = (detected.session_id,) if detected.session_id else ()
            info = transcript_info(host.name, path, names, ran or root)
            if info:
                yield info


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
        info = (
            transcript_info(detected.host or host, path, (), str(root))
            if detected and detected.format
            else None
        )
        if info:
            yield info


def transcript_info(host: str, path: Path, session_ids: tuple[str, ...], root: str) -> TranscriptInfo | None:
    """Return what is known of a file of sessions without reading it; None = it is gone."""
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
