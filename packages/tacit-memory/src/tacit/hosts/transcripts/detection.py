"""Detection of a file's format by its content. In: the beginning of a file. Out: a format, the host and metadata of the file.

A name proves nothing: only the first lines count. A folder or file that holds no conversation of a person with an agent has
no format. Reads at most `LOOKED_AT_BYTES`, never the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tacit.errors import InvalidPayload
from tacit.hosts.registry import readable_hosts
from tacit.hosts.transcripts.aider import STARTED
from tacit.hosts.transcripts.exports import is_conversation, is_message
from tacit.hosts.transcripts.rows import (
    Fields,
    fields_of,
    is_object,
    list_of,
    parse_json,
    split_rows,
    text_in,
)
from tacit.hosts.transcripts.specstory import GENERATED, HEADED, heading_of
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position
from tacit.text.decoding import decode_text
from tacit.text.lazy_regex import lazy_regex

LOOKED_AT_BYTES = 300_000
NO_CONVERSATION = "no conversation of a person with an agent"
_ROWS = 40
_SQLITE = b"SQLite format 3\0"
_MARKDOWN_TURN = lazy_regex(r"^_\*\*(?:User|Assistant|Agent)\b[^\n]*\*\*_\s*$", re.MULTILINE)


class Reader(Protocol):
    """Reads the one session of a file from a position on, with what subagents were told if that is wanted."""

    def __call__(
        self, path: Path, since: Position | None = None, /, *, subagents: bool = False
    ) -> Transcript:
        """Read it.

        Raises:
            OSError: if the file cannot be read.
        """
        ...


Readers = Mapping[str, Reader]
"""How a host reads each of its formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedFormat:
    """The format of a file, and its metadata.

    Attributes:
        format: how it is read; "" = it holds no conversation.
        host: whose conversations these are, where the file says it.
        session_id: the id of its one session; empty where it says none, or holds several.
        cwd: where the session ran, or empty.
        reason: why there is no format.
    """

    format: str
    host: str = ""
    session_id: str = ""
    cwd: str = ""
    reason: str = ""


def detect_format(path: Path) -> DetectedFormat:
    """Look at the beginning of a file.

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
        found = _markdown(bare)
    if not found.format and bare != text:
        raise InvalidPayload(
            f"{path} is no text.", hint="Expected a transcript: JSON, JSON lines or Markdown."
        )
    return found


def _markdown(text: str) -> DetectedFormat:
    if STARTED.search(text):
        return DetectedFormat(format="aider", host="aider")
    if text.startswith(GENERATED) or _MARKDOWN_TURN.search(text):
        heading = heading_of(text)
        return DetectedFormat(
            format="specstory", host=heading.host or "specstory", session_id=heading.session_id
        )
    if len({match[1].lower()[0] for line in text.split("\n") if (match := HEADED.match(line))}) > 1:
        return DetectedFormat(format="specstory", host="plain")
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _json(path: Path, text: str, *, more: bool) -> DetectedFormat:
    rows: list[object] = []
    lines = re.split(r"\r\n?|\n", text)
    for line in lines[:-1] if more else lines:
        rows += split_rows(line.encode("utf-8", "replace"))[0]
        if len(rows) >= _ROWS:
            break
    objects = [fields_of(row) for row in rows if is_object(row)]
    by_rows = _of_rows(objects) if objects else None
    if by_rows is not None:
        return by_rows
    document = parse_json(text) if not more else None
    return _of_document(path, document, text, more=more, rows=objects)


def _of_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """By the rows of JSON lines; None where they tell nothing."""
    first = rows[0]
    kinds = {text_in(row, "type") for row in rows}
    if {"context.append_message", "context.append_loop_event"} & kinds:
        return DetectedFormat(format="kimi", host="kimi")
    for host in reversed(readable_hosts()):
        detect = host.offered("transcript", "detect_rows")
        if detect is not None and (detected := detect(rows)) is not None:
            return detected
    if any(is_conversation(row) for row in rows):
        return DetectedFormat(format="conversations", host=_host_of(first))
    if any(is_message(row) for row in rows):
        return DetectedFormat(format="conversations", host=_host_of(first))
    return None


def _of_document(
    path: Path, document: object, text: str, *, more: bool, rows: Sequence[Fields]
) -> DetectedFormat:
    """By a JSON document as a whole, or by how a long one begins."""
    if document is None and more:
        return _of_beginning(text)
    if document is None and not rows:
        raise InvalidPayload(f"{path} begins like JSON and is none.", hint="Is the file cut off?")
    fields = fields_of(document)
    for host in readable_hosts():
        detect = host.offered("transcript", "detect_document")
        if detect is not None and (detected := detect(fields)) is not None:
            return detected
    entries = list_of(document)
    entry = fields_of(entries[0]) if entries else fields
    for host in readable_hosts():
        detect = host.offered("transcript", "detect_entry")
        if detect is not None and (detected := detect(entry)) is not None:
            return detected
    if is_conversation(entry) or is_message(entry):
        return DetectedFormat(format="conversations", host=_host_of(entry))
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _of_beginning(text: str) -> DetectedFormat:
    """A document too long to be looked at whole: the names of its first fields tell."""
    begun = text[:20_000]
    for host in readable_hosts():
        detect = host.offered("transcript", "detect_beginning")
        if detect is not None and (detected := detect(begun)) is not None:
            return detected
    if '"mapping"' in text:
        return DetectedFormat(format="conversations", host="chatgpt")
    if '"chat_messages"' in text:
        return DetectedFormat(format="conversations", host="claude-ai")
    if re.search(r'"(?:role|sender)"\s*:', text):
        return DetectedFormat(format="conversations", host="opencode" if '"parts"' in begun else "plain")
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _host_of(fields: Fields) -> str:
    if "mapping" in fields:
        return "chatgpt"
    if "chat_messages" in fields:
        return "claude-ai"
    if is_object(fields.get("message")):
        return "cursor"
    messages = list_of(fields.get("messages"))
    return "opencode" if "info" in fields or (messages and "info" in fields_of(messages[0])) else "plain"
