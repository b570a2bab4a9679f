"""Requests and answers of model APIs, as the stub model reads and writes them.

In: a request body in the format of Anthropic Messages, OpenAI Chat Completions, OpenAI Responses or Gemini. Out: its turns and places of text; an answer as a
JSON object or server-sent events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, cast

from tacit.frozen import frozen

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
    r"<(system[-_]reminder|hook_context|session_context|current_datetime)>(?:(?!<\1>).)*?</\1>"
    r"|\ATool \"[^\"\n]*\" failed\. Additional guidance from \w+ hooks:.*",
    re.DOTALL,
)
"""Matches what hosts add to a user message beside the user's words."""


@frozen
class WireTurn:
    """One entry of a conversation: who spoke, and the text. The text of a `tool` turn is the result that the model reads."""

    role: Role
    text: str


def find_text(body: object, pattern: str) -> list[str]:
    """Return the JSON path (as `messages[0].content[1].text`) of every match of `pattern` in `body`, in document order, one entry per match."""
    return [path for path, text in strings_in(body) for _ in re.finditer(pattern, text)]


def as_mapping(value: object) -> Mapping[str, object]:
    """Return `value` if it is a mapping, else an empty one."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[object]:
    """Return `value` if it is a list, else an empty sequence."""
    return cast(Sequence[object], value) if isinstance(value, list) else ()


def flat_text(content: object) -> str:
    """Return the text of a message's content: the string itself, or the texts of its blocks joined by line ends."""
    if isinstance(content, str):
        return content
    texts = (as_mapping(block).get("text") for block in as_list(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def read_turns(body: Mapping[str, object]) -> tuple[WireTurn, ...]:
    """Return the turns of a request's conversation, oldest first; () if the format is unknown."""
    if "input" in body:
        return tuple(_responses_turns(body["input"]))
    if "contents" in body:
        return tuple(turn for content in as_list(body["contents"]) for turn in _gemini_turns(content))
    return tuple(turn for message in as_list(body.get("messages")) for turn in _message_turns(message))


def newest_prompt(turns: Sequence[WireTurn]) -> tuple[str, int]:
    """Return (newest user text without the host's reminders, number of tool results that follow it)."""
    text, results = "", 0
    for turn in turns:
        prompt = _REMINDER.sub("", turn.text).strip() if turn.role == "user" else ""
        if prompt:
            text, results = prompt, 0
        elif turn.role == "tool":
            results += 1
    return text, results


def strings_in(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (JSON path, text) of every string in a JSON value, in document order; `path` = where the value itself stands."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, child in cast(Mapping[str, object], value).items():
            yield from strings_in(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, child in enumerate(cast(list[object], value)):
            yield from strings_in(child, f"{path}[{index}]")


def _message_turns(message: object) -> Iterator[WireTurn]:
    """Yield the turns of one message. If it has tool results, only these: text beside them comes from the host and is no new prompt."""
    fields = as_mapping(message)
    role = _ROLES.get(str(fields.get("role")), "user")
    content = fields.get("content")
    results = [block for block in as_list(content) if as_mapping(block).get("type") == "tool_result"]
    if role == "user" and results:
        for block in results:
            yield WireTurn(role="tool", text=flat_text(as_mapping(block).get("content")))
        return
    yield WireTurn(role=role, text=flat_text(content))


def _responses_turns(items: object) -> Iterator[WireTurn]:
    if isinstance(items, str):
        yield WireTurn(role="user", text=items)
        return
    for item in as_list(items):
        fields = as_mapping(item)
        kind = str(fields.get("type", "message"))
        if kind == "message":
            yield WireTurn(
                role=_ROLES.get(str(fields.get("role")), "user"), text=flat_text(fields.get("content"))
            )
        elif kind.endswith("_output"):
            yield WireTurn(role="tool", text=flat_text(fields.get("output")))


def _gemini_turns(content: object) -> Iterator[WireTurn]:
    """Yield the turns of one Gemini content. If it has function responses, only these, as in `_message_turns`."""
    fields = as_mapping(content)
    responses = [
        as_mapping(as_mapping(part).get("functionResponse"))
        for part in as_list(fields.get("parts"))
        if "functionResponse" in as_mapping(part)
    ]
    for response in responses:
        result = as_mapping(response.get("response"))
        yield WireTurn(role="tool", text=flat_text(result.get("output") or result.get("error")))
    if not responses:
        yield WireTurn(role=_ROLES.get(str(fields.get("role")), "user"), text=flat_text(fields.get("parts")))


DEFAULT_USAGE_TOKENS = 1000


@frozen
class Say:
    """An answer in which the model says `text` and ends its turn."""

    text: str


@frozen
class CallTool:
    """An answer in which the model calls a tool, by the host's own name for it.

    `namespace` = the group of tools that contains the name, if a host of the Responses API has such groups.
    """

    name: str
    input: dict[str, object] = field(default_factory=dict[str, object])
    namespace: str = ""


@frozen
class Refuse:
    """An answer that is an HTTP error with this status."""

    status: int


Answer = Say | CallTool | Refuse


Event = Mapping[str, object]

OUTPUT_TOKENS = 5


def encode_events(events: Sequence[Event], *, named: bool = False, done: bool = False) -> bytes:
    """Encode events as server-sent events. `named` writes each event's `type` as its name, `done` ends with OpenAI's `[DONE]`."""
    lines: list[str] = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    if done:
        lines.append("data: [DONE]\n\n")
    return "".join(lines).encode()


def anthropic_message(
    answer: Say | CallTool, *, model: str, number: int, usage_tokens: int
) -> dict[str, object]:
    """Return the complete JSON reply of POST /v1/messages for `answer`."""
    message = _anthropic_head(model=model, number=number, usage_tokens=usage_tokens)
    return {**message, "content": [_anthropic_block(answer, number)], "stop_reason": _anthropic_stop(answer)}


def anthropic_events(answer: Say | CallTool, *, model: str, number: int, usage_tokens: int) -> list[Event]:
    """Return the same reply as `anthropic_message`, as the events of a stream."""
    block = _anthropic_block(answer, number)
    if isinstance(answer, CallTool):
        opening: dict[str, object] = {**block, "input": {}}
        delta: dict[str, object] = {"type": "input_json_delta", "partial_json": json.dumps(answer.input)}
    else:
        opening = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": answer.text}
    head = _anthropic_head(model=model, number=number, usage_tokens=usage_tokens)
    return [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": opening},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": _anthropic_stop(answer), "stop_sequence": None},
            "usage": head["usage"],
        },
        {"type": "message_stop"},
    ]


def chat_completion(
    answer: Say | CallTool, *, model: str, number: int, usage_tokens: int
) -> dict[str, object]:
    """Return the complete JSON reply of POST /v1/chat/completions for `answer`."""
    delta, finish = _chat_delta(answer, number)
    return {
        "id": f"chatcmpl-stub{number:04d}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": delta, "finish_reason": finish}],
        "usage": _chat_usage(usage_tokens),
    }


def chat_events(answer: Say | CallTool, *, model: str, number: int, usage_tokens: int) -> list[Event]:
    """Return the same reply as `chat_completion`, as the chunks of a stream."""
    delta, finish = _chat_delta(answer, number)
    head: dict[str, object] = {
        "id": f"chatcmpl-stub{number:04d}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": model,
    }
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**head, "choices": [], "usage": _chat_usage(usage_tokens)},
    ]


def response_object(
    answer: Say | CallTool, *, model: str, number: int, usage_tokens: int
) -> dict[str, object]:
    """Return the complete JSON reply of POST /v1/responses for `answer`."""
    return {
        "id": f"resp_stub{number:04d}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": model,
        "output": [_response_item(answer, number)],
        "usage": {
            "input_tokens": usage_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage_tokens + OUTPUT_TOKENS,
        },
    }


def response_events(answer: Say | CallTool, *, model: str, number: int, usage_tokens: int) -> list[Event]:
    """Return the same reply as `response_object`, as the events of a stream."""
    item = _response_item(answer, number)
    whole = response_object(answer, model=model, number=number, usage_tokens=usage_tokens)
    events: list[dict[str, object]] = [
        {
            "type": "response.created",
            "response": {**whole, "status": "in_progress", "output": [], "usage": None},
        },
        {"type": "response.output_item.added", "output_index": 0, "item": item},
    ]
    if isinstance(answer, Say):
        events.append(
            {
                "type": "response.output_text.delta",
                "item_id": item["id"],
                "output_index": 0,
                "content_index": 0,
                "delta": answer.text,
            }
        )
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": index} for index, event in enumerate(events)]


def gemini_response(
    answer: Say | CallTool,
    *,
    model: str,
    number: int,  # noqa: ARG001 - one signature for all formats; a Gemini answer names no request
    usage_tokens: int,
) -> dict[str, object]:
    """Return the complete JSON reply of POST /v1beta/models/MODEL:generateContent for `answer`."""
    if isinstance(answer, CallTool):
        part: dict[str, object] = {"functionCall": {"name": answer.name, "args": answer.input}}
    else:
        part = {"text": answer.text}
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0},
        ],
        "usageMetadata": {
            "promptTokenCount": usage_tokens,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": usage_tokens + OUTPUT_TOKENS,
        },
        "modelVersion": model,
    }


def gemini_events(answer: Say | CallTool, *, model: str, number: int, usage_tokens: int) -> list[Event]:
    """Return the same reply as `gemini_response`, as a stream of one chunk."""
    return [gemini_response(answer, model=model, number=number, usage_tokens=usage_tokens)]


def error_object(status: int) -> dict[str, object]:
    """Return the JSON body of an error, in a form that every client understands."""
    return {"type": "error", "error": {"type": "api_error", "message": f"the stub model answers {status}"}}


def _anthropic_head(*, model: str, number: int, usage_tokens: int) -> dict[str, object]:
    return {
        "id": f"msg_stub{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage_tokens,
            "output_tokens": OUTPUT_TOKENS,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _anthropic_block(answer: Say | CallTool, number: int) -> dict[str, object]:
    if isinstance(answer, CallTool):
        return {
            "type": "tool_use",
            "id": f"toolu_stub{number:04d}",
            "name": answer.name,
            "input": answer.input,
        }
    return {"type": "text", "text": answer.text}


def _anthropic_stop(answer: Say | CallTool) -> str:
    return "tool_use" if isinstance(answer, CallTool) else "end_turn"


def _chat_delta(answer: Say | CallTool, number: int) -> tuple[dict[str, object], str]:
    if isinstance(answer, Say):
        return {"role": "assistant", "content": answer.text}, "stop"
    call: dict[str, object] = {
        "index": 0,
        "id": f"call_stub{number:04d}",
        "type": "function",
        "function": {"name": answer.name, "arguments": json.dumps(answer.input)},
    }
    return {"role": "assistant", "tool_calls": [call]}, "tool_calls"


def _chat_usage(usage_tokens: int) -> dict[str, object]:
    return {
        "prompt_tokens": usage_tokens,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": usage_tokens + OUTPUT_TOKENS,
    }


def _response_item(answer: Say | CallTool, number: int) -> dict[str, object]:
    if isinstance(answer, CallTool):
        namespace = {"namespace": answer.namespace} if answer.namespace else {}
        return {
            "type": "function_call",
            **namespace,
            "id": f"fc_stub{number:04d}",
            "call_id": f"call_stub{number:04d}",
            "name": answer.name,
            "arguments": json.dumps(answer.input),
            "status": "completed",
        }
    return {
        "type": "message",
        "id": f"msg_stub{number:04d}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    }
