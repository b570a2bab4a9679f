"""Past transcripts on disk. In: the user's home folder and a project root. Out: what could be read. Reads no content.

Never follows the environment: only `config/` knows where a home is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tacit.capture.transcripts.opencode import list_opencode_sessions
from tacit.errors import HostError

CLAUDE_CODE, OPENCODE = "claude-code", "opencode"


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptInfo:
    """One file of past sessions.

    Attributes:
        host: whose it is.
        path: the file.
        size_bytes, modified_ms: of the file.
        sessions: how many sessions of this project it holds.
        session_ids: their ids, oldest first.
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
    home: Path, project_root: Path, *, subagents: bool = False
) -> tuple[TranscriptInfo, ...]:
    """Past sessions that ran in `project_root` (OpenCode: or below it), oldest first.

    Files that cannot be read are left out: backfill is an offer, not a promise.
    """
    root = str(project_root)
    found: list[TranscriptInfo] = []
    folder = home / ".claude" / "projects" / claude_folder_name(root)
    patterns = ("*.jsonl", "*/subagents/agent-*.jsonl") if subagents else ("*.jsonl",)
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        info = _info(CLAUDE_CODE, path, (path.stem,), root)
        if info and info.size_bytes:
            found.append(info)
    database = kept_transcripts(home, OPENCODE)
    if database is not None:
        try:
            sessions = list_opencode_sessions(database, root, subagents=subagents)
        except HostError:
            sessions = ()
        info = (
            _info(OPENCODE, database, tuple(session for session, _ in sessions), root) if sessions else None
        )
        if info:
            found.append(info)
    return tuple(sorted(found, key=lambda info: (info.modified_ms, str(info.path))))


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
        sessions=len(session_ids),
        session_ids=session_ids,
        cwd=root,
    )
