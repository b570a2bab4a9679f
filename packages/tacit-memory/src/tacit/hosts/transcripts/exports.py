"""Conversations as lists of messages with roles, or of OpenCode's messages: in files (one JSON object, a list of them, or one a line), or handed over.

In: a file, or a list of messages. Out: one `Transcript` for each conversation. A list of messages is one conversation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tacit.errors import InvalidPayload
from tacit.hosts.opencode.transcript import take_opencode
from tacit.hosts.transcripts import Transcript, TurnBuilder
from tacit.hosts.transcripts.rows import (
    Fields,
    fields_of,
    is_list,
    is_object,
    list_of,
    parse_json,
    read_whole,
    take_message,
    text_in,
    whole_transcript,
)
from tacit.state.captured import Position

_IDS = ("session_id", "sessionId", "conversation_id", "uuid", "id")


def is_conversation(value: object) -> bool:
    """Whether `value` is a JSON object that holds a whole conversation."""
    fields = fields_of(value)
    lists = (list_of(fields.get(name)) for name in ("turns", "messages"))
    return any(entries and is_message(entries[0]) for entries in lists)


def is_message(value: object) -> bool:
    """Return whether `value` is a JSON object that is one message with a role."""
    fields = fields_of(value)
    if is_object(fields.get("info")) and is_list(fields.get("parts")):
        return True
    return isinstance(fields.get("role"), str) and any(
        name in fields for name in ("content", "text", "message", "parts")
    )


def read_conversations(path: Path) -> Iterator[Transcript]:
    """Yield every conversation in the JSON or JSON lines file, in order. A list of messages is one conversation.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    document = parse_json(text)
    if document is None:
        yield from _by_line(text)
        return
    conversations = list_of(document) if is_list(document) else [document]
    if conversations and is_message(conversations[0]):
        yield _conversation({"messages": conversations}, end)
        return
    for conversation in conversations:
        if is_conversation(conversation):
            yield _conversation(fields_of(conversation), _position(json.dumps(conversation, sort_keys=True)))


def _by_line(text: str) -> Iterator[Transcript]:
    """Yield the conversations of JSON lines: each line is one, or the lines are the messages of one. Lines that are not JSON count as bad."""
    messages: list[object] = []
    bad = 0
    for line in text.splitlines():
        if not line.strip():
            continue
        row = parse_json(line)
        if is_conversation(row):
            yield _conversation(fields_of(row), _position(line))
        elif is_message(row):
            messages.append(row)
        else:
            bad += row is None
    if messages:
        yield _conversation({"messages": messages}, _position(text), bad=bad)


def _position(text: str) -> Position:
    """Return the position that stands for this exact text of a conversation: its length and a hash."""
    raw = text.encode("utf-8", "surrogatepass")
    return Position(offset=len(raw), head=hashlib.sha256(raw).hexdigest()[:16])


def _conversation(fields: Fields, end: Position, *, bad: int = 0) -> Transcript:
    builder = TurnBuilder()
    info = fields_of(fields.get("info"))
    session_id = next((name for key in _IDS if (name := text_in(fields, key) or text_in(info, key))), "")
    cwd = text_in(fields, "cwd") or text_in(info, "directory")
    for message in list_of(fields.get("turns")) or list_of(fields.get("messages")):
        _take(builder, fields_of(message))
    return whole_transcript(builder, end, session_id=session_id, cwd=cwd, bad=bad)


def read_messages(messages: object) -> Transcript:
    """Read a list of messages that a host hands over, or an object that has one under `messages` or `turns`, into a transcript.

    A message has a role, or is OpenCode's own `{info, parts}`. What is no object counts as a bad line.

    Raises:
        InvalidPayload: if there is no list of messages.
    """
    if is_object(messages):
        messages = fields_of(messages).get("messages", fields_of(messages).get("turns"))
    if not is_list(messages):
        raise InvalidPayload(
            "A plain transcript is a list of messages.", hint='Expected [{"role": ..., "content": ...}].'
        )
    builder = TurnBuilder()
    rows = list_of(messages)
    objects = [fields_of(message) for message in rows if is_object(message)]
    for message in objects:
        _take(builder, message)
    turns = builder.done()
    return Transcript(turns=turns, end=Position(prompts=builder.prompts), bad_lines=len(rows) - len(objects))


def _take(builder: TurnBuilder, message: Fields) -> None:
    parts = message.get("parts")
    if is_object(message.get("info")) and is_list(parts):
        take_opencode(builder, fields_of(message["info"]), list_of(parts))
    else:
        take_message(builder, message)
