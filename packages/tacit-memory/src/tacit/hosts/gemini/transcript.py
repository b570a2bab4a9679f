"""Gemini CLI's chats. In: a chat file (`session-*.json`, or JSON lines of later versions). Out: a `Transcript`.

Messages have an id and a type: `user`, `gemini`, `info`, `error`. The JSON lines repeat a message when it grows, and write the
whole list again when a session is resumed or compressed. So the file is read whole, and the last line of a message counts. A list that is
written again only adds messages: those before it stay, with their times. Ignores the session context that the host writes, the summary of
a compression, hook context and the files that the host adds to a prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    DetectedFormat,
    Fields,
    Readers,
    fields_of,
    is_object,
    list_of,
    parse_json,
    read_whole,
    text_in,
    unchanged,
    whole_transcript,
)
from tacit.reading.prompts import SUMMARY_TAKEN, without_added_files
from tacit.safety.escape import strip_blocks
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

_CONTEXT = lazy_regex(r"\s*(?:<session_context>|This is the Gemini CLI\. We are setting up the context)")
_EXIT = lazy_regex(r"^Exit Code: (\d+)", re.MULTILINE)


def read_gemini(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read a chat file whole; no turns if it has not changed since `since`. A subagent's chat gives no turns unless `subagents`.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    if (as_it_was := unchanged(since, end)) is not None:
        return as_it_was
    meta, messages, bad = _messages(text)
    builder = TurnBuilder()
    if subagents or meta.get("kind", "main") == "main":
        for message in messages:
            _take(builder, message)
    return whole_transcript(
        builder, end, session_id=text_in(meta, "sessionId"), cwd=project_root_of(path), bad=bad
    )


def project_root_of(path: Path) -> str:
    """Return the folder in which a chat ran, from the file `.project_root` above the chats; "" = it is not there."""
    try:
        return (path.parent.parent / ".project_root").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _messages(text: str) -> tuple[Fields, Iterable[Fields], int]:
    """Return (the session's own fields, its messages in order, the number of unreadable lines)."""
    document = parse_json(text)
    if is_object(document) and "messages" in fields_of(document):
        session = fields_of(document)
        return session, [fields_of(message) for message in list_of(session.get("messages"))], 0
    meta: dict[str, object] = {}
    messages: dict[str, Fields] = {}
    bad = 0
    for line in text.splitlines():
        row = parse_json(line)
        if not is_object(row):
            bad += bool(line.strip())
            continue
        fields = fields_of(row)
        changed = fields_of(fields.get("$set"))
        if "messages" in changed:
            for message in _unless_compressed(
                [fields_of(message) for message in list_of(changed.get("messages"))]
            ):
                messages.setdefault(str(message.get("id")), message)
        elif "$rewindTo" in fields:
            messages_before = list(messages)
            target = str(fields["$rewindTo"])
            for name in messages_before[messages_before.index(target) :] if target in messages_before else ():
                del messages[name]
        elif "type" in fields and "id" in fields:
            messages[str(fields["id"])] = fields
        else:
            meta.update({k: v for k, v in {**fields, **changed}.items() if not k.startswith("$")})
    return meta, list(messages.values()), bad


def _unless_compressed(messages: list[Fields]) -> list[Fields]:
    """Return `messages`, the list of a `$set` row, or [] if it is a compressed conversation.

    Such a list repeats old messages under new ids and times.
    """
    compressed = any(text_of(message.get("content")).startswith(SUMMARY_TAKEN) for message in messages)
    return [] if compressed else messages


def _take(builder: TurnBuilder, message: Fields) -> None:
    at_ms = time_of(message.get("timestamp"))
    content = message.get("content")
    if message.get("type") == "user":
        words = without_added_files(text_of(content))
        if not _CONTEXT.match(words):
            builder.user(words, at_ms)
    elif message.get("type") == "gemini":
        builder.reply(text_of(content), at_ms)
        for raw in list_of(message.get("toolCalls")):
            _take_call(builder, fields_of(raw), at_ms)


def _take_call(builder: TurnBuilder, call: Fields, at_ms: int) -> None:
    call_id = text_in(call, "id")
    builder.call(text_in(call, "name"), call_id, call.get("args"), at_ms)
    status = text_in(call, "status")
    if status == "cancelled":
        return
    output = text_in(call, "resultDisplay")
    for raw in list_of(call.get("result")):
        response = fields_of(fields_of(fields_of(raw).get("functionResponse")).get("response"))
        output = strip_blocks(text_in(response, "output") or text_in(response, "error")) or output
    code = _EXIT.search(output)
    failed = status == "error" or bool(code and code[1] != "0")
    text = f"Exit code {code[1]}\n{output}" if code and failed else output
    builder.result(call_id, failed=failed, text=text, at_ms=at_ms)


PLACES = (("tmp", "*/chats/session-*.json*"),)
"""Where Gemini keeps sessions: (folder below its data folder, glob of the files in it)."""
FORMATS: Readers = {"gemini": read_gemini}


def detect_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """Return format and session if the first rows of a file (at least one) are those of a Gemini session; else None."""
    first = rows[0]
    if "projectHash" in first or ("sessionId" in first and any("$set" in row for row in rows)):
        return DetectedFormat(format="gemini", host="gemini", session_id=text_in(first, "sessionId"))
    return None


def detect_document(fields: Fields) -> DetectedFormat | None:
    """Return format and session if a JSON object is a Gemini session; else None."""
    if {"projectHash", "messages"} <= set(fields):
        return DetectedFormat(format="gemini", host="gemini", session_id=text_in(fields, "sessionId"))
    return None


def detect_beginning(text: str) -> DetectedFormat | None:
    """Return the format if a file too long to be parsed begins like a Gemini session; else None."""
    if '"projectHash"' in text and '"messages"' in text:
        return DetectedFormat(format="gemini", host="gemini")
    return None


def ran_in(path: Path, root: str) -> str:
    """Return the folder in which a chat ran: `root` if the chat's folder is named after its hash, else what `project_root_of` says."""
    if root and path.parent.parent.name == hashlib.sha256(root.encode()).hexdigest():
        return root
    return project_root_of(path)
