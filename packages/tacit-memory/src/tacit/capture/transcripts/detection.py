"""Detection of a file's format by its content. In: the beginning of a file. Out: a format, the host and metadata of the file.

A name proves nothing: only the first lines count. A folder or file that holds no conversation of a person with an agent has
no format. Reads at most `LOOKED_AT_BYTES`, never the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.capture.transcripts.aider import STARTED
from tacit.capture.transcripts.exports import is_conversation, is_message
from tacit.capture.transcripts.opencode.storage import is_storage_piece, is_storage_session
from tacit.capture.transcripts.rows import (
    Fields,
    fields_of,
    is_object,
    list_of,
    parse_json,
    split_rows,
    text_in,
)
from tacit.capture.transcripts.specstory import GENERATED, HEADED, heading_of
from tacit.errors import InvalidPayload
from tacit.text.decoding import decode_text
from tacit.text.lazy_regex import lazy_regex

LOOKED_AT_BYTES = 300_000
Format = Literal[
    "claude-code",
    "codex",
    "gemini",
    "copilot",
    "copilot-chat",
    "opencode",
    "opencode-storage",
    "specstory",
    "aider",
    "kimi",
    "conversations",
    "",
]
"""How a file is read; "" = it holds no conversation."""

NO_CONVERSATION = "no conversation of a person with an agent"
_ROWS = 40
_SQLITE = b"SQLite format 3\0"
_COPILOT = ("session.start", "session.info", "user.message", "assistant.message", "assistant.turn_start")
_CLAUDE = (
    "user",
    "human",
    "assistant",
    "summary",
    "system",
    "attachment",
    "queue-operation",
    "file-history-snapshot",
)
_MARKDOWN_TURN = lazy_regex(r"^_\*\*(?:User|Assistant|Agent)\b[^\n]*\*\*_\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectedFormat:
    """The format of a file, and its metadata.

    Attributes:
        format: how it is read.
        host: whose conversations these are, where the file says it.
        session_id: the id of its one session; empty where it says none, or holds several.
        cwd: where the session ran, or empty.
        reason: why there is no format.
    """

    format: Format
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
    kinds = [text_in(row, "type") for row in rows]
    if kinds[0] == "session_meta" or {"response_item", "event_msg"} & set(kinds):
        meta = fields_of(first.get("payload"))
        return DetectedFormat(
            format="codex",
            host="codex",
            cwd=text_in(meta, "cwd"),
            session_id=text_in(meta, "session_id") or text_in(meta, "id"),
        )
    if "git" in first and "instructions" in first and "id" in first and "type" not in first:
        return DetectedFormat(format="codex", host="codex", session_id=text_in(first, "id"))
    if "projectHash" in first or ("sessionId" in first and any("$set" in row for row in rows)):
        return DetectedFormat(format="gemini", host="gemini", session_id=text_in(first, "sessionId"))
    if kinds[0] in _COPILOT and "data" in first:
        data = fields_of(first.get("data"))
        cwd = text_in(fields_of(data.get("context")), "cwd")
        return DetectedFormat(
            format="copilot", host="copilot", session_id=text_in(data, "sessionId"), cwd=cwd
        )
    if "context.append_message" in kinds or "context.append_loop_event" in kinds:
        return DetectedFormat(format="kimi", host="kimi")
    if any(_is_claude(row) for row in rows):
        sessions = [row for row in rows if text_in(row, "sessionId") or text_in(row, "session_id")]
        row = sessions[0] if sessions else first
        session_id = text_in(row, "sessionId") or text_in(row, "session_id")
        cwd = next((text_in(row, "cwd") for row in rows if text_in(row, "cwd")), "")
        return DetectedFormat(format="claude-code", host="claude-code", session_id=session_id, cwd=cwd)
    if any(is_conversation(row) for row in rows):
        return DetectedFormat(format="conversations", host=_host_of(first))
    if any(is_message(row) for row in rows):
        return DetectedFormat(format="conversations", host=_host_of(first))
    return None


def _is_claude(row: Fields) -> bool:
    if row.get("type") not in _CLAUDE:
        return False
    return (
        is_object(row.get("message"))
        or "sessionId" in row
        or "leafUuid" in row
        or (row.get("type") == "system" and row.get("subtype") == "init" and "session_id" in row)
    )


def _of_document(
    path: Path, document: object, text: str, *, more: bool, rows: Sequence[Fields]
) -> DetectedFormat:
    """By a JSON document as a whole, or by how a long one begins."""
    if document is None and more:
        return _of_beginning(text)
    if document is None and not rows:
        raise InvalidPayload(f"{path} begins like JSON and is none.", hint="Is the file cut off?")
    fields = fields_of(document)
    if "projectHash" in fields and "messages" in fields:
        return DetectedFormat(format="gemini", host="gemini", session_id=text_in(fields, "sessionId"))
    if "requests" in fields and ("responderUsername" in fields or "requesterUsername" in fields):
        return DetectedFormat(format="copilot-chat", host="copilot", session_id=text_in(fields, "sessionId"))
    if is_storage_session(fields):
        return DetectedFormat(
            format="opencode-storage",
            host="opencode",
            session_id=text_in(fields, "id"),
            cwd=text_in(fields, "directory"),
        )
    if is_storage_piece(fields):
        return DetectedFormat(format="", reason="a piece of a session, which is read with it")
    entries = list_of(document)
    entry = fields_of(entries[0]) if entries else fields
    if {"sessionId", "messageId", "message"} <= set(entry):
        return DetectedFormat(format="gemini", host="gemini", session_id=text_in(entry, "sessionId"))
    if is_conversation(entry) or is_message(entry):
        return DetectedFormat(format="conversations", host=_host_of(entry))
    return DetectedFormat(format="", reason=NO_CONVERSATION)


def _of_beginning(text: str) -> DetectedFormat:
    """A document too long to be looked at whole: the names of its first fields tell."""
    begun = text[:20_000]
    if '"projectHash"' in begun and '"messages"' in begun:
        return DetectedFormat(format="gemini", host="gemini")
    if '"responderUsername"' in begun or '"requesterUsername"' in begun:
        return DetectedFormat(format="copilot-chat", host="copilot")
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
