"""Formats of message lists, and how a block is added to a message and removed again.

In: messages of the Chat Completions and Messages APIs, with `role` and `content` (a text, or a list of parts): mappings, or objects of
the SDKs with these attributes. Out: the content of each message as a `MessageFacts`; new messages with blocks. Never changes a
message; a message without a block is returned as the same object.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Protocol, cast

from tacit.frozen import frozen
from tacit.safety.escape import OPEN_TAG
from tacit.session.ledger import MARKS

Role = Literal["user", "assistant", "tool", "system", ""]
GAP = "\n\n"
MAX_RESULT_CHARS = 16_000
LONG_CHARS = 4000
_TEXT_TYPES = ("text", "input_text", "output_text")
CLOSING = f"</{OPEN_TAG}>"
_OPENING = re.compile(rf"{GAP}<{OPEN_TAG}\b[^<>]*>")
_REMINDER = re.compile(r"<(system-reminder|hook_context|environment_context)>")
"""The beginnings of texts that agents add to a user's message, and may remove in a later request."""
_PASSING = frozenset({"cache_control"})
"""Fields that move from message to message between two requests, and are not part of the content."""
_FAILED = re.compile(
    r"\s*(?:error\b|an error occurred\b|encountered error\b|traceback \(most recent call last\)|exception\b|(?:process )?exit(?:ed with)?(?: status| code)?:? [1-9])",
    re.IGNORECASE,
)


@frozen
class ToolRequest:
    """A tool call that the model asked for."""

    call_id: str
    tool: str
    args: Mapping[str, object]


@frozen
class ToolOutcome:
    """The result of a tool call."""

    call_id: str
    text: str
    failed: bool


@frozen
class MessageFacts:
    """The parts of one message that the memory uses.

    Attributes:
        role: who speaks; "" = unknown.
        text: the text without Tacit's blocks.
        digest: identifies a user's message by its content; "" for other messages and for one without text.
        calls, results: tool calls and results in it.
    """

    role: Role
    text: str = ""
    digest: str = ""
    calls: tuple[ToolRequest, ...] = ()
    results: tuple[ToolOutcome, ...] = ()

    @property
    def takes_block(self) -> bool:
        """Return whether a block can be added to the message: it has words of the user or a tool result."""
        return bool(self.digest or self.results)


class MessageFormat(Protocol):
    """One format of messages."""

    def read(self, message: object) -> MessageFacts:
        """Return the content of a message."""
        ...

    def place(self, message: Any, text: str) -> Any:
        """Return the message with `text` at its end as its only block; the same object if nothing changes."""
        ...


class JsonFormat(MessageFormat, Protocol):
    """A format of messages in the JSON of an API."""

    def block_place(self, message: object) -> tuple[str, str]:
        """Return the field of a message to which a block is appended, and the type of the part that holds it in a list."""
        ...


class RoleContentFormat:
    """Messages with `role` and `content`: Anthropic Messages, OpenAI Chat Completions, plain lists."""

    def read(self, message: object) -> MessageFacts:
        """Return the content of a message."""
        role, content = field(message, "role"), field(message, "content")
        parts = parts_of(content)
        text = own_text(content, parts)
        match role:
            case "user" | "human":
                text = _without_reminders(text)
                other_parts = [part for part in parts if not is_text(part)]
                results = tuple(_result(p) for p in parts if field(p, "type") == "tool_result")
                name = digest(text, [canonical(part) for part in other_parts]) if text.strip() else ""
                return MessageFacts(role="user", text=text, digest=name, results=results)
            case "assistant" | "ai" | "model":
                calls = [_call(p) for p in parts if field(p, "type") == "tool_use"]
                calls += [_chat_call(c) for c in sequence(field(message, "tool_calls"))]
                return MessageFacts(role="assistant", text=text, calls=tuple(calls))
            case "tool":
                call_id = str(field(message, "tool_call_id") or "")
                return MessageFacts(
                    role="tool", results=(ToolOutcome(call_id=call_id, text=text, failed=looks_failed(text)),)
                )
            case "system" | "developer":
                return MessageFacts(role="system", text=text)
            case _:
                return MessageFacts(role="")

    def block_place(self, message: object) -> tuple[str, str]:
        """Return the field of a message to which a block is appended, and the type of the part that holds it in a list."""
        del message
        return "content", "text"

    def place(self, message: Any, text: str) -> Any:
        """Return the message with `text` at its end as its only block; the same object if nothing changes."""
        return place_in_message(message, text, self.block_place(message))


def place_in_message(message: Any, text: str, place: tuple[str, str]) -> Any:
    """Return a message with `text` at its end as its only block. `place` = the field to which it is appended, and the type of its part."""
    name, kind = place
    content = field(message, name)
    placed = place_in_content(content, text, kind=kind)
    if placed is content or not isinstance(message, Mapping):
        return message
    return {**cast("Mapping[str, object]", message), name: placed}


ROLE_CONTENT = RoleContentFormat()


def place_in_content(content: object, text: str, *, kind: str = "text") -> object:
    """Return a text or a list of parts with `text` appended as its only block. `kind` is the type of the part that holds it."""
    if isinstance(content, str):
        if text and content.endswith(GAP + text):
            return content
        base = strip_own_blocks(content)
        return f"{base}{GAP}{text}" if text else base if base != content else content
    parts = sequence(content)
    if not parts:
        return content
    own_blocks = [part for part in parts if is_block_part(part)]
    if [field(part, "text") for part in own_blocks] == ([text] if text else []):
        return content
    other_parts = [part for part in parts if not is_block_part(part)]
    return [*other_parts, {"type": kind, "text": text}] if text else other_parts


def field(value: object, name: str) -> Any:
    """Return a field of a mapping or an attribute of an object; None if there is none."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value).get(name)
    return None if value is None or isinstance(value, str) else getattr(value, name, None)


def sequence(value: object) -> Sequence[Any]:
    """Return `value` if it is a list, else an empty sequence."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return cast("Sequence[Any]", value)


def parts_of(content: object) -> Sequence[Any]:
    """Return the parts of a message's content; a text has none."""
    return sequence(content)


def is_text(part: object) -> bool:
    """Return whether a part is a text."""
    return isinstance(part, str) or (
        field(part, "type") in (None, *_TEXT_TYPES) and isinstance(field(part, "text"), str)
    )


def is_block_part(part: object) -> bool:
    """Whether a part is a text that begins with the mark of a block.

    Tacit always puts its block into a part of its own, so the whole part counts as Tacit's.
    """
    text = part if isinstance(part, str) else field(part, "text")
    return is_text(part) and isinstance(text, str) and text.lstrip().startswith(MARKS)


def strip_own_blocks(text: str) -> str:
    """Return `text` exactly as it was before blocks were appended; "" if it is only a block."""
    if text.lstrip().startswith(MARKS):
        return ""
    end = len(text)
    while text.endswith(CLOSING, 0, end):
        inner_end = end - len(CLOSING)
        earlier = text.rfind(CLOSING, 0, inner_end)
        opening = _OPENING.search(text, earlier + len(CLOSING) if earlier >= 0 else 0, inner_end)
        if opening is None:
            break
        end = opening.start()
    return text[:end]


def _without_reminders(text: str) -> str:
    """Return `text` without reminders and the white space around them.

    The time grows with the length of the text only, because a program may pass on any text of its users.
    """
    kept: list[str] = []
    end, not_closed = 0, set[str]()
    for opening in _REMINDER.finditer(text) if "</" in text else ():
        name = opening[1]
        if opening.start() < end or name in not_closed:
            continue
        closing = f"</{name}>"
        at = text.find(closing, opening.end())
        if at < 0:
            not_closed.add(name)
            continue
        before = text[end : opening.start()].rstrip()
        kept.append(before.lstrip() if kept else before)
        end = at + len(closing)
    return "".join((*kept, text[end:].lstrip())) if kept else text


def own_text(content: object, parts: Sequence[object]) -> str:
    """Return the text of a message's content, without Tacit's blocks."""
    if isinstance(content, str):
        return strip_own_blocks(content)
    texts = [part if isinstance(part, str) else field(part, "text") for part in parts if is_text(part)]
    return "\n".join(text for text in texts if text and not text.lstrip().startswith(MARKS))


def canonical(value: object) -> object:
    """Return a part as plain values that are the same in every request, even if its cache marks change."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        return {name: canonical(mapping[name]) for name in sorted(mapping) if name not in _PASSING}
    if isinstance(value, str) and len(value) > LONG_CHARS:  # a picture, a document
        return f"{len(value)}:{zlib.crc32(value.encode('utf-8', 'surrogatepass'))}:{value[:40]}"
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, Sequence):
        return [canonical(item) for item in cast("Sequence[object]", value)]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return canonical(dump(mode="json"))
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: canonical(getattr(value, item.name)) for item in fields(value)}
    return type(value).__name__


def digest(text: str, other_parts: Sequence[object] = ()) -> str:
    """Return a digest of the content of a message, as sixteen hexadecimal digits."""
    blob = json.dumps([text, *other_parts], sort_keys=True, default=str)
    return hashlib.blake2b(blob.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def looks_failed(text: str) -> bool:
    """Return whether a tool's output begins like an error message, for APIs without a field for errors."""
    return bool(_FAILED.match(text))


def _result(part: object) -> ToolOutcome:
    content = field(part, "content")
    text = own_text(content, parts_of(content))[:MAX_RESULT_CHARS]
    return ToolOutcome(
        call_id=str(field(part, "tool_use_id") or ""), text=text, failed=bool(field(part, "is_error"))
    )


def _call(part: object) -> ToolRequest:
    raw_args = field(part, "input")
    args: Mapping[str, object] = (
        cast("Mapping[str, object]", raw_args) if isinstance(raw_args, Mapping) else {}
    )
    return ToolRequest(call_id=str(field(part, "id") or ""), tool=str(field(part, "name") or ""), args=args)


def _chat_call(call: object) -> ToolRequest:
    function = field(call, "function") or field(call, "custom")
    return tool_request_of(
        str(field(call, "id") or ""),
        field(function, "name"),
        field(function, "arguments") or field(function, "input"),
    )


def tool_request_of(call_id: str, name: object, arguments: object) -> ToolRequest:
    """Return a `ToolRequest` from a call whose arguments are JSON text; text that is no JSON object becomes `{"input": text}`."""
    args: Mapping[str, object] = {}
    if isinstance(arguments, str):
        try:
            parsed: object = json.loads(arguments)
        except ValueError:
            parsed = {"input": arguments}
        args = cast("Mapping[str, object]", parsed) if isinstance(parsed, Mapping) else {"input": arguments}
    return ToolRequest(call_id=call_id, tool=str(name or ""), args=args)
