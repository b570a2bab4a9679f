"""Every session in a file, whatever host wrote it. In: a path and how far each session was read. Out: sessions, one by one.

One way for hooks, backfill and import. A session without an id of its own gets one made of the file's name and place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.hosts.opencode.database import every_opencode_session, read_opencode
from tacit.hosts.registry import readable_hosts
from tacit.hosts.transcripts.aider import read_aider
from tacit.hosts.transcripts.detection import DetectedFormat, Reader, detect_format
from tacit.hosts.transcripts.exports import read_conversations, read_kimi
from tacit.hosts.transcripts.specstory import read_specstory
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position

Since = Callable[[str, str], Position]
"""Where reading of a session stopped: (host, session id) -> position."""
_MANY: dict[str, Callable[[Path], Iterator[Transcript]]] = {
    "aider": read_aider,
    "conversations": read_conversations,
    "kimi": read_kimi,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of a file: its host and id, and what was said since the position it was read from."""

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
) -> Iterator[Session]:
    """The sessions in a file, in order.

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
        for name in session_ids or every_opencode_session(path, subagents=subagents):
            yield Session(host=host_name, session_id=name, transcript=read_opencode(path, name))
    elif format_found.format in _MANY:
        for number, transcript in enumerate(_MANY[format_found.format](path)):
            name = transcript.session_id or _made_id(path, number)
            if format_found.format == "aider":
                name = f"{_made_id(path.parent, 0)}-{name}"
            yield Session(host=host_name, session_id=name, transcript=transcript)
    elif format_found.format:
        name = (
            (session_ids[0] if len(session_ids) == 1 else "") or format_found.session_id or _made_id(path, 0)
        )
        transcript = read_one(path, format_found.format, since(host_name, name), subagents=subagents)
        if format_found.cwd:  # of the beginning, which `since` may leave out
            transcript = replace(transcript, cwd=format_found.cwd)
        yield Session(host=host_name, session_id=name, transcript=transcript)


def read_one(path: Path, format_: str, since: Position, *, subagents: bool = False) -> Transcript:
    """Read the session of a file whose format is known, from `since` on.

    Raises:
        OSError: if the file cannot be read.
    """
    readers: dict[str, Reader] = {}
    for host in readable_hosts():
        readers |= host.part("transcript").FORMATS
    if (reader := readers.get(format_)) is not None:
        return reader(path, since, subagents=subagents)
    if format_ == "specstory":
        return read_specstory(path, since, subagents=subagents)
    return next(_MANY[format_](path), Transcript()) if format_ in _MANY else Transcript()


def _made_id(path: Path, number: int) -> str:
    place = hashlib.sha256(str(path.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{path.stem[:60]}-{place}" + (f"-{number + 1}" if number else "")
