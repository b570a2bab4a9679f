"""Reading any host's session. In: where it is. Out: a `Transcript` from a position on. Never writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from tacit.errors import InvalidPayload
from tacit.frozen import frozen
from tacit.hosts.claude_code.transcript import read_claude_code
from tacit.hosts.opencode.transcript import read_opencode
from tacit.hosts.registry import readable_hosts
from tacit.hosts.transcripts import Transcript
from tacit.hosts.transcripts.exports import read_messages
from tacit.hosts.transcripts.sessions import Since, read_sessions
from tacit.model.memory import LearnedOn
from tacit.ports.store import Handover
from tacit.state.captured import Position


@frozen
class TranscriptSource:
    """Where a session's words are: messages in memory, or a file.

    Attributes:
        host: `claude-code`, `opencode`, or any other, whose file is recognized by what it holds.
        session_id: the host's session id.
        path: the file, or empty.
        cwd: working folder, or empty.
        messages: the messages themselves where the host hands them over, else None.
        ended: whether the session is over, as far as that is known.
        branch: the unmerged branch that its newest messages were said on, or None.
    """

    host: str
    session_id: str
    path: str = ""
    cwd: str = ""
    messages: object = None
    ended: bool = False
    branch: LearnedOn | None = None


def read_transcript(source: TranscriptSource, since: Position) -> Transcript:
    """Return the transcript from `since` on, or the whole of it where its format cannot start there; without what subagents were told.

    Raises:
        OSError: if the file cannot be read.
        HostError: if a host's database cannot be read.
        InvalidPayload: if there is nothing that could be read.
    """
    if source.messages is not None:
        return read_messages(source.messages)
    path = Path(source.path)
    if source.host == "claude-code":
        return read_claude_code(path, since)
    if source.host == "opencode" and path.suffix == ".db":
        return read_opencode(path, source.session_id)
    session_id = source.session_id
    always: Since = lambda host, session_id: since  # noqa: E731, ARG005
    sessions = list(read_sessions(path, since=always, host=source.host, session_ids=(session_id,)))
    matches = [session.transcript for session in sessions if session.session_id == session_id]
    if not matches and len(sessions) != 1:
        raise InvalidPayload(
            f"{path} holds no session {session_id}.", hint="Expected a transcript of that session."
        )
    return matches[0] if matches else sessions[0].transcript


def last_reply(host: str, path: Path) -> str:
    """Return the main agent's last message, read from the end of the transcript at `path`.

    "" = there is none, or this host sends the message with its event, so that nobody has to read it here.
    """
    known = next((each for each in readable_hosts() if each.name == host), None)
    reads = known.offered("transcript", "last_reply") if known else None
    return reads(path) if reads is not None else ""


def source_of(handover: Handover) -> TranscriptSource:
    """Return the source that a handover's payload names.

    Raises:
        InvalidPayload: naming what is missing.
    """
    try:
        raw = cast("object", json.loads(handover.payload))
    except ValueError as error:
        raise InvalidPayload(f"Handover {handover.key} is no JSON: {error}.") from error
    if not isinstance(raw, dict):
        raise InvalidPayload(f"Handover {handover.key} is no JSON object.")
    payload = cast("dict[str, object]", raw)

    def text(name: str, default: str = "") -> str:
        value = payload.get(name, default)
        return value if isinstance(value, str) else default

    source = TranscriptSource(
        host=text("host", handover.session.host),
        session_id=text("session_id", handover.session.session_id),
        path=text("transcript_path"),
        cwd=text("cwd"),
        messages=payload.get("messages"),
        ended=payload.get("ended") is True,
        branch=LearnedOn(name=name, commit=text("commit")) if (name := text("branch")) else None,
    )
    if not source.path and source.messages is None:
        raise InvalidPayload(f"Handover {handover.key} has neither `transcript_path` nor `messages`.")
    return source
