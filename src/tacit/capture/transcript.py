"""Reading any host's session. In: where it is. Out: a `Transcript` from a position on. Never writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.capture.transcripts.claude_code import read_claude_code
from tacit.capture.transcripts.opencode.database import read_opencode, read_opencode_messages
from tacit.capture.transcripts.plain import read_messages
from tacit.capture.transcripts.sessions import Since, read_sessions
from tacit.capture.turn import Position, Transcript
from tacit.errors import InvalidPayload


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSource:
    """Where a session's words are: messages at hand, or a file.

    Attributes:
        host: `claude-code`, `opencode`, or any other, whose file is recognised by what it holds.
        session_id: the host's session id.
        path: the file, or empty.
        cwd: working folder, or empty.
        messages: the messages themselves where the host hands them over, else None.
        ended: whether the session is over, as far as that is known.
    """

    host: str
    session_id: str
    path: str = ""
    cwd: str = ""
    messages: object = None
    ended: bool = False


def read_transcript(source: TranscriptSource, since: Position, *, subagents: bool = False) -> Transcript:
    """Read a session from `since` on, where its format lets that be.

    Raises:
        OSError: if the file cannot be read.
        HostError: if a host's database cannot be read.
        InvalidPayload: if there is nothing that could be read.
    """
    if source.messages is not None:
        read = read_opencode_messages if source.host == "opencode" else read_messages
        return read(source.messages)
    path = Path(source.path)
    if source.host == "claude-code":
        return read_claude_code(path, since, subagents=subagents)
    if source.host == "opencode" and path.suffix == ".db":
        return read_opencode(path, source.session_id)
    wanted = source.session_id
    always: Since = lambda host, session_id: since  # noqa: E731, ARG005
    found = list(
        read_sessions(path, since=always, host=source.host, session_ids=(wanted,), subagents=subagents)
    )
    named = [session.transcript for session in found if session.session_id == wanted]
    if not named and len(found) != 1:
        raise InvalidPayload(
            f"{path} holds no session {wanted}.", hint="Expected a transcript of that session."
        )
    return named[0] if named else found[0].transcript
