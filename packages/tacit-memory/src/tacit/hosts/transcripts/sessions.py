"""Sessions on disk: detects the format of a file, finds the files of a project or of named folders, and reads the sessions in them.

In: the hosts' folders, a project root, or files and folders by name. Out: what is known of each file, and its sessions one by one. Hooks, backfill and
import all read through `read_sessions`. The name of a file proves nothing: only its first lines count, of which at most `LOOKED_AT_BYTES` are read. A
session without an id of its own gets one made of the file's name and place. Reads no environment: only `config/` knows where a home is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tacit.errors import InvalidPayload, NotFound
from tacit.frozen import frozen
from tacit.hosts.opencode.transcript import opencode_sessions, read_opencode
from tacit.hosts.registry import BuiltInHost, HostFolders, readable_hosts
from tacit.hosts.transcripts import Transcript
from tacit.hosts.transcripts.exports import is_conversation, is_message, read_conversations
from tacit.hosts.transcripts.rows import (
    DetectedFormat,
    Fields,
    Reader,
    TranscriptInfo,
    fields_of,
    is_object,
    list_of,
    parse_json,
    split_rows,
    transcript_info,
)
from tacit.state.captured import Position
from tacit.text.decoding import decode_text

LOOKED_AT_BYTES = 300_000
NO_CONVERSATION = "no conversation of a person with an agent"
_ROWS = 40
_SQLITE = b"SQLite format 3\0"


def detect_format(path: Path) -> DetectedFormat:
    """Detect the format of a transcript file from its first `LOOKED_AT_BYTES`; `format` "" = it holds no conversation, and `reason` says why.

    Raises:
        OSError: if it cannot be read.
        InvalidPayload: if it is neither text nor a database of a known kind.
    """
    with path.open("rb") as file:
        head = file.read(LOOKED_AT_BYTES)
        more = bool(file.read(1))
    if head.startswith(_SQLITE):
        return DetectedFormat(format="opencode", host="opencode")
    text = decode_text(head)
    bare = text.replace("\0", "")
    found = DetectedFormat(format="", reason="empty")
    if bare.lstrip()[:1] in ("{", "["):
        found = _json(path, text, more=more)
    elif bare.strip():
        found = DetectedFormat(format="", reason=NO_CONVERSATION)
    if not found.format and bare != text:
        raise InvalidPayload(f"{path} is no text.", hint="Expected a transcript: JSON or JSON lines.")
    return found


def _json(path: Path, text: str, *, more: bool) -> DetectedFormat:
    rows: list[object] = []
    lines = re.split(r"\r\n?|\n", text)
    for line in lines[:-1] if more else lines:
        rows += split_rows(line.encode("utf-8", "replace"))[0]
        if len(rows) >= _ROWS:
            break
    objects = [fields_of(row) for row in rows if is_object(row)]
    by_rows = _format_of_rows(objects) if objects else None
    if by_rows is not None:
        return by_rows
    document = parse_json(text) if not more else None
    return _of_document(path, document, text, more=more, rows=objects)


def _format_of_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """Return the format, host and session that rows of JSON lines (at least one) show; None = they do not tell."""
    if (detected := _detected_by_hosts("detect_rows", rows)) is not None:
        return detected
    if any(is_conversation(row) or is_message(row) for row in rows):
        return DetectedFormat(format="conversations", host=_host_of(rows[0]))
    return None


def _of_document(
    path: Path, document: object, text: str, *, more: bool, rows: Sequence[Fields]
) -> DetectedFormat:
    """Return the format, host and session of a file that is one JSON document; one too long to be parsed (`document` None and `more`) is told by its beginning. Raise InvalidPayload if it is not JSON."""
    if document is None and more:
        return _of_beginning(text)
    if document is None and not rows:
        raise InvalidPayload(f"{path} begins like JSON and is none.", hint="Is the file cut off?")
    fields = fields_of(document)
    if (detected := _detected_by_hosts("detect_document", fields)) is not None:
        return detected
    entries = list_of(document)
    entry = fields_of(entries[0]) if entries else fields
    if is_conversation(entry) or is_message(entry):
        return DetectedFormat(format="conversations", host=_host_of(entry))
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _of_beginning(text: str) -> DetectedFormat:
    """Detect the format of a document that is too long to be parsed, by the names of its first fields."""
    begun = text[:20_000]
    if (detected := _detected_by_hosts("detect_beginning", begun)) is not None:
        return detected
    if re.search(r'"role"\s*:', text):
        return DetectedFormat(format="conversations", host="opencode" if '"parts"' in begun else "plain")
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _detected_by_hosts(function: str, content: object) -> DetectedFormat | None:
    """Return what the first host says that knows `content`, by the function of that name in its module `transcript`; None = none knows it."""
    for host in reversed(readable_hosts()):
        detect = host.offered("transcript", function)
        if detect is not None and (detected := detect(content)) is not None:
            return detected
    return None


def _host_of(fields: Fields) -> str:
    if is_object(fields.get("message")):
        return "cursor"
    messages = list_of(fields.get("messages"))
    return "opencode" if "info" in fields or (messages and "info" in fields_of(messages[0])) else "plain"


_SUFFIXES = frozenset({".jsonl", ".json", ".md", ".txt", ".db"})
_SKIPPED = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", "site-packages", "target", "dist"}
)
MAX_FILES = 100_000
"""The most files that one search looks at."""


def kept_transcript(folders: HostFolders, host: str, session_id: str) -> Path | None:
    """Return the file that should hold a session of `host`; None = the host cannot tell it by the session's id alone, or there is none. Whether the session is in it is not checked."""
    known = next((each for each in readable_hosts() if each.name == host), None)
    keeps = known.offered("transcript", "file_of_session") if known else None
    return keeps(folders.of(host), session_id) if keeps is not None else None


def find_transcripts(folders: HostFolders, project_root: Path | None) -> tuple[TranscriptInfo, ...]:
    """Find the past sessions that ran in `project_root` (OpenCode: or below it), oldest first; None = of all projects.

    Sessions of subagents are not among them. Files that cannot be read are left out: backfill is an offer, not a promise.
    """
    root = str(project_root) if project_root else ""
    transcripts = [
        info
        for host in readable_hosts()
        for info in (host.offered("transcript", "find") or partial(_find_in_places, host))(
            folders.of(host.name), root
        )
    ]
    return tuple(sorted(transcripts, key=lambda info: (info.modified_ms, str(info.path))))


def named_transcripts(
    paths: Sequence[Path], *, cwd: str = "", host: str = "", since_ms: int = 0
) -> tuple[TranscriptInfo, ...]:
    """Find the transcripts at `paths`, searching through folders, and return them in the order of their last change.

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


def _named(path: Path, *, cwd: str, by_user: bool) -> TranscriptInfo | None:
    """Return what is known of the file at `path`. None = it is not there, or the user did not name it and it is no transcript; a broken one counts."""
    try:
        detected = detect_format(path)
    except InvalidPayload:
        detected = DetectedFormat(format="") if by_user or path.suffix != ".db" else None
    except OSError:
        detected = DetectedFormat(format="")
    if detected is None or (not by_user and not detected.format and detected.reason):
        return None
    # The file's own word on its host is asked again when it is read; a copy that says none is nobody's.
    return transcript_info(detected.host, path, (), cwd)


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files below `folder` that may be transcripts by their suffix, in a fixed order, at most `MAX_FILES`. Follows no links."""
    looked = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            looked += 1
            if looked > MAX_FILES:
                return
            if Path(name).suffix.lower() in _SUFFIXES:
                yield Path(place) / name


def _find_in_places(host: BuiltInHost, folders: Sequence[Path], root: str) -> Iterator[TranscriptInfo]:
    """Yield the sessions of a host that keeps them in the fixed `PLACES` and names the working folder in the file; `root` "" = those of all projects."""
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


Since = Callable[[str, str], Position]
"""Returns where reading of a session stopped: (host, session id) -> position."""


@frozen
class FileSession:
    """A session of a file: host, id, and what was said after the position from which it was read."""

    host: str
    session_id: str
    transcript: Transcript


def read_sessions(
    path: Path,
    *,
    since: Since,
    host: str = "",
    session_ids: tuple[str, ...] = (),
    subagents: bool = False,
    detected: DetectedFormat | None = None,
) -> Iterator[FileSession]:
    """Yield the sessions in a file, each from the position that `since(host, session_id)` gives.

    A format with several sessions in one file is read whole.

    Args:
        path: the file.
        since: how far each was read before.
        host: whose it is where that is known; else the file's own word counts.
        session_ids: for OpenCode's database, only these; where one id is given, the one session of a file has it.
        subagents: read what subagents were told, too.
        detected: the format of the file, if it is detected already.

    Raises:
        OSError: if the file cannot be read.
        HostError: if a host's database cannot be read.
        InvalidPayload: if it is no transcript.
    """
    format_found = detected or detect_format(path)
    host_name = host or format_found.host
    if format_found.format == "opencode":
        for name in session_ids or opencode_sessions(path, subagents=subagents):
            yield FileSession(host=host_name, session_id=name, transcript=read_opencode(path, name))
    elif format_found.format == "conversations":
        for number, transcript in enumerate(read_conversations(path)):
            name = transcript.session_id or _made_id(path, number)
            yield FileSession(host=host_name, session_id=name, transcript=transcript)
    elif format_found.format:
        name = (
            (session_ids[0] if len(session_ids) == 1 else "") or format_found.session_id or _made_id(path, 0)
        )
        transcript = read_one(path, format_found.format, since(host_name, name), subagents=subagents)
        if format_found.cwd:  # of the beginning, which `since` may leave out
            transcript = replace(transcript, cwd=format_found.cwd)
        yield FileSession(host=host_name, session_id=name, transcript=transcript)


def read_one(path: Path, format_: str, since: Position, *, subagents: bool = False) -> Transcript:
    """Read the one session of a file of format `format_` from `since` on; an empty transcript if the format is unknown.

    Raises:
        OSError: if the file cannot be read.
    """
    readers: dict[str, Reader] = {}
    for host in readable_hosts():
        readers |= getattr(host.part("transcript"), "FORMATS", {})
    if (reader := readers.get(format_)) is not None:
        return reader(path, since, subagents=subagents)
    return next(read_conversations(path), Transcript()) if format_ == "conversations" else Transcript()


def _made_id(path: Path, number: int) -> str:
    place = hashlib.sha256(str(path.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{path.stem[:60]}-{place}" + (f"-{number + 1}" if number else "")
