"""The sessions of OpenCode: its database, and the files that it wrote before it had one. In: folders. Out: sessions. Never writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tacit.errors import HostError
from tacit.hosts.opencode.database import every_opencode_session, list_opencode_sessions
from tacit.hosts.opencode.storage import (
    is_storage_piece,
    is_storage_session,
    read_opencode_storage,
    session_facts,
    storage_sessions,
)
from tacit.hosts.transcripts.detection import DetectedFormat, Readers
from tacit.hosts.transcripts.discover import TranscriptInfo, transcript_info
from tacit.hosts.transcripts.rows import Fields, text_in
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position

DATABASE = "opencode.db"


def detect_document(fields: Fields) -> DetectedFormat | None:
    """Recognize a session from before OpenCode had a database, or a piece of one."""
    if is_storage_session(fields):
        return DetectedFormat(
            format="opencode-storage",
            host="opencode",
            session_id=text_in(fields, "id"),
            cwd=text_in(fields, "directory"),
        )
    if is_storage_piece(fields):
        return DetectedFormat(format="", reason="a piece of a session, which is read with it")
    return None


def kept(folders: Sequence[Path], session_id: str) -> Path | None:
    """Return the database, which holds every session."""
    del session_id
    return next((folder / DATABASE for folder in folders if (folder / DATABASE).is_file()), None)


def find(folders: Sequence[Path], root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    """Find its databases, and what it wrote before it had one; a session that moved from there is read where it is now."""
    moved: set[str] = set()
    for database in (folder / DATABASE for folder in folders):
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
        info = transcript_info("opencode", database, names, root) if names else None
        if info:
            yield info
    for path in (path for folder in folders for path in storage_sessions(folder / "storage")):
        try:
            name, directory, parent = session_facts(path)
        except OSError:
            continue
        inside = not root or directory == root or directory.startswith(f"{root}/")
        if name and name not in moved and inside and (subagents or not parent):
            moved.add(name)
            info = transcript_info("opencode", path, (name,), directory or root)
            if info:
                yield info


def _read_storage(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    del since, subagents
    return read_opencode_storage(path)


FORMATS: Readers = {"opencode-storage": _read_storage}
