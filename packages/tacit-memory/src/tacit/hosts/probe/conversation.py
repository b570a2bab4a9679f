"""Parser of a recorded model request in any wire format. In: a request body. Out: turns, places of text.

Knows the Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini formats. Never changes a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
}

_REMINDER = re.compile(
    r"<(system[-_]reminder|hook_context|session_context|current_datetime)>.*?</\1>"
    r"|\ATool \"[^\"\n]*\" failed\. Additional guidance from \w+ hooks:.*",
    re.DOTALL,
)
"""What hosts put into messages of the user beside the user's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One entry of a conversation. `text` of a tool result is what the model reads as its output."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One match of a pattern in a request body.

    Attributes:
        path: where, as `messages[0].content[1].text`.
        offset: index of the match in that string.
        text: the whole string at that path.
    """

    path: str
    offset: int
    text: str


def find_places(body: object, pattern: str) -> tuple[Place, ...]:
    """Every match of the regular expression `pattern` in any string of `body`, in document order."""
    compiled = re.compile(pattern)
    return tuple(
        Place(path=path, offset=match.start(), text=text)
        for path, text in _strings(body, "")
        for match in compiled.finditer(text)
    )


def find_text(body: object, pattern: str) -> list[str]:
    """JSON paths of every match of `pattern` in `body`, in document order, one entry per match."""
    return [place.path for place in find_places(body, pattern)]


def as_mapping(value: object) -> Mapping[str, object]:
    """`value` where it is a JSON object, else an empty one."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[object]:
    """`value` where it is a JSON array, else an empty one."""
    return cast(Sequence[object], value) if isinstance(value, list) else ()


def flat_text(content: object) -> str:
    """All text of a content value: a string, or the text of its blocks joined by line ends."""
    if isinstance(content, str):
        return content
    texts = (as_mapping(block).get("text") for block in as_list(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def read_turns(body: Mapping[str, object]) -> tuple[Turn, ...]:
    """The conversation of a request, oldest first; empty where the format is not known."""
    if "input" in body:
        return tuple(_responses_turns(body["input"]))
    if "contents" in body:
        return tuple(turn for content in as_list(body["contents"]) for turn in _gemini_turns(content))
    return tuple(turn for message in as_list(body.get("messages")) for turn in _message_turns(message))


def newest_prompt(turns: Sequence[Turn]) -> tuple[str, int]:
    """The newest text of the user without the host's reminders, and how many tool results follow it."""
    text, results = "", 0
    for turn in turns:
        prompt = _REMINDER.sub("", turn.text).strip() if turn.role == "user" else ""
        if prompt:
            text, results = prompt, 0
        elif turn.role == "tool":
            results += 1
    return text, results


def _strings(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, child in cast(Mapping[str, object], value).items():
            yield from _strings(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, child in enumerate(cast(list[object], value)):
            yield from _strings(child, f"{path}[{index}]")


def _message_turns(message: object) -> Iterator[Turn]:
    """Turns of one message. Text beside tool results is the host's, not a new prompt: it belongs to the result."""
    fields = as_mapping(message)
    role = _ROLES.get(str(fields.get("role")), "user")
    content = fields.get("content")
    results = [block for block in as_list(content) if as_mapping(block).get("type") == "tool_result"]
    if role == "user" and results:
        for block in results:
            yield Turn(role="tool", text=flat_text(as_mapping(block).get("content")))
        return
    yield Turn(role=role, text=flat_text(content))


def _responses_turns(items: object) -> Iterator[Turn]:
    if isinstance(items, str):
        yield Turn(role="user", text=items)
        return
    for item in as_list(items):
        fields = as_mapping(item)
        kind = str(fields.get("type", "message"))
        if kind == "message":
            yield Turn(
                role=_ROLES.get(str(fields.get("role")), "user"), text=flat_text(fields.get("content"))
            )
        elif kind.endswith("_output"):
            yield Turn(role="tool", text=flat_text(fields.get("output")))


def _gemini_turns(content: object) -> Iterator[Turn]:
    """Turns of one content. Text beside function responses is the host's, as in `_message_turns`."""
    fields = as_mapping(content)
    responses = [
        as_mapping(as_mapping(part).get("functionResponse"))
        for part in as_list(fields.get("parts"))
        if "functionResponse" in as_mapping(part)
    ]
    for response in responses:
        result = as_mapping(response.get("response"))
        yield Turn(role="tool", text=flat_text(result.get("output") or result.get("error")))
    if not responses:
        yield Turn(role=_ROLES.get(str(fields.get("role")), "user"), text=flat_text(fields.get("parts")))
