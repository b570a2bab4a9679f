"""Files that hold many conversations. In: a file. Out: one `Transcript` per conversation, with its id.

Knows a conversation by what it holds: `turns` or `messages` with roles (one JSON object, a list of them, or one a line),
`chat_messages` (Claude.ai's export), `mapping` (ChatGPT's export, of which the branch shown last is read), `info` and
`messages` (`opencode export`). A list of messages is one conversation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from tacit.hosts.opencode.database import take_opencode
from tacit.hosts.transcripts.assemble import TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.plain import take_message
from tacit.hosts.transcripts.rows import (
    Fields,
    fields_of,
    is_list,
    is_object,
    list_of,
    parse_json,
    read_whole,
    text_in,
    whole,
)
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position

_IDS = ("session_id", "sessionId", "conversation_id", "uuid", "id")
_ROLES = {"human": "user"}


def is_conversation(value: object) -> bool:
    """Whether `value` is one object that holds a conversation of its own."""
    fields = fields_of(value)
    if is_object(fields.get("mapping")):
        return True
    lists = (list_of(fields.get(name)) for name in ("turns", "messages", "chat_messages"))
    return any(entries and _is_message(entries[0]) for entries in lists)


def is_message(value: object) -> bool:
    """Whether `value` is a message with a role."""
    return _is_message(value)


def _is_message(value: object) -> bool:
    fields = fields_of(value)
    if is_object(fields.get("info")) and is_list(fields.get("parts")):
        return True
    speaker = fields.get("role", fields.get("sender"))
    return isinstance(speaker, str) and any(
        name in fields for name in ("content", "text", "message", "parts")
    )


def read_conversations(path: Path) -> Iterator[Transcript]:
    """Every conversation in the file, in order.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    document = parse_json(text)
    if document is None:
        yield from _by_line(text)
        return
    conversations = list_of(document) if is_list(document) else [document]
    if conversations and _is_message(conversations[0]):
        yield _conversation({"messages": conversations}, end)
        return
    for conversation in conversations:
        if is_conversation(conversation):
            yield _conversation(fields_of(conversation), _position(json.dumps(conversation, sort_keys=True)))


def _by_line(text: str) -> Iterator[Transcript]:
    """Lines that are conversations, or lines that are the messages of one."""
    messages: list[object] = []
    bad = 0
    for line in text.splitlines():
        if not line.strip():
            continue
        row = parse_json(line)
        if is_conversation(row):
            yield _conversation(fields_of(row), _position(line))
        elif _is_message(row):
            messages.append(row)
        else:
            bad += row is None
    if messages:
        yield _conversation({"messages": messages}, _position(text), bad=bad)


def _position(text: str) -> Position:
    """Stands for one conversation as it is now."""
    raw = text.encode("utf-8", "surrogatepass")
    return Position(offset=len(raw), head=hashlib.sha256(raw).hexdigest()[:16])


def _conversation(fields: Fields, end: Position, *, bad: int = 0) -> Transcript:
    builder = TurnBuilder()
    info = fields_of(fields.get("info"))
    session_id = next((name for key in _IDS if (name := text_in(fields, key) or text_in(info, key))), "")
    cwd = text_in(fields, "cwd") or text_in(info, "directory")
    for message in _messages(fields):
        parts = message.get("parts")
        if is_object(message.get("info")) and is_list(parts):
            take_opencode(builder, fields_of(message["info"]), list_of(parts))
        elif "chat_messages" in fields:
            _take_exported(builder, message)
        else:
            take_message(builder, message)
    return whole(builder, end, session_id=session_id, cwd=cwd, bad=bad)


def _messages(fields: Fields) -> list[Fields]:
    for name in ("turns", "messages", "chat_messages"):
        if rows := list_of(fields.get(name)):
            return [fields_of(message) for message in rows]
    return _branch(fields_of(fields.get("mapping")), text_in(fields, "current_node"))


def _branch(mapping: Fields, current: str) -> list[Fields]:
    """The messages of a ChatGPT conversation from its root to the node shown last (the first leaf where it is not named)."""
    chain: list[Fields] = []
    visited: set[str] = set()
    at = current or _leaf(mapping)
    while at in mapping and at not in visited:
        visited.add(at)
        node = fields_of(mapping[at])
        message = fields_of(node.get("message"))
        role = text_in(fields_of(message.get("author")), "role")
        parts = [
            part for part in list_of(fields_of(message.get("content")).get("parts")) if isinstance(part, str)
        ]
        if role in ("user", "assistant") and parts:
            chain.append({"role": role, "content": "\n".join(parts), "timestamp": message.get("create_time")})
        at = text_in(node, "parent")
    return chain[::-1]


def _leaf(mapping: Fields) -> str:
    at = next((name for name, node in mapping.items() if not fields_of(node).get("parent")), "")
    visited: set[str] = set()
    while at and at not in visited:
        visited.add(at)
        children = list_of(fields_of(mapping.get(at)).get("children"))
        if not children:
            break
        at = str(children[0])
    return at


def _take_exported(builder: TurnBuilder, message: Fields) -> None:
    words = text_in(message, "text") or text_of(message.get("content"))
    at_ms = time_of(message.get("created_at"))
    speaker = text_in(message, "sender") or text_in(message, "role")
    if _ROLES.get(speaker, speaker) == "user":
        builder.user(words, at_ms)
    elif speaker == "assistant":
        builder.reply(words, at_ms)


def read_kimi(path: Path) -> Iterator[Transcript]:
    """Kimi's wire log: prompts as whole messages, the agent's words and calls as events.

    Raises:
        OSError: if the file cannot be read.
    """
    text, end = read_whole(path)
    builder = TurnBuilder()
    bad = 0
    for line in text.splitlines():
        row = parse_json(line)
        if not is_object(row):
            bad += bool(line.strip())
            continue
        fields = fields_of(row)
        event = fields_of(fields.get("event"))
        at_ms = time_of(fields.get("time"))
        part = fields_of(event.get("part"))
        if fields.get("type") == "context.append_message":
            take_message(builder, fields_of(fields.get("message")))
        elif event.get("type") == "content.part" and part.get("type") == "text":
            builder.reply(text_in(part, "text"), at_ms)
        elif event.get("type") == "tool.call":
            builder.call(text_in(event, "toolName"), text_in(event, "callId"), event.get("input"), at_ms)
    yield whole(builder, end, bad=bad)
