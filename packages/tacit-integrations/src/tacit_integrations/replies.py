"""Parser of a model's answer. The body of a response is one JSON value, or a stream of server-sent events.

In: the body of a successful response. Out: a `Reply`, or None for a body without an answer (an error, an interrupted stream). Never
raises because of the content of a body.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any, Literal, cast

from tacit.library.message_formats import (
    ROLE_CONTENT,
    MessageFacts,
    ToolRequest,
    field,
    sequence,
    tool_request_of,
)
from tacit_integrations.items import RESPONSE_ITEMS

Api = Literal["messages", "chat", "responses"]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a model, with what the memory needs of it.

    Attributes:
        said: the text and the tool calls.
        ended: whether the agent's turn is over, because the answer has no tool call.
        response_id: the id under which the API stores the answer; "" = the API does not store it.
        input_tokens, cached_tokens: the tokens of the request, and how many of them came from the API's cache, as the API counts them.
    """

    said: MessageFacts
    ended: bool
    response_id: str = ""
    input_tokens: int = 0
    cached_tokens: int = 0


def read_reply(api: Api, body: bytes, *, stream: bool) -> Reply | None:
    """Return the answer in the body of a response to a request of `api`; None = it holds none, or cannot be read. `stream` = the body is a stream of events."""
    try:
        if stream:
            return _STREAMS[api](list(events(body)))
        value: object = json.loads(body)
        return read_value(api, cast("Json", value)) if isinstance(value, Mapping) else None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def read_value(api: Api, value: Json) -> Reply | None:
    """Return the answer in the parsed JSON of a body; None = it is an error or no answer."""
    return _WHOLE[api](value)


def read_chunks(api: Api, chunks: Sequence[Json]) -> Reply | None:
    """Return the answer in the parsed events of a stream; None = the stream was interrupted or holds none."""
    return _STREAMS[api](chunks)


def events(body: bytes) -> Iterator[Json]:
    """Yield the JSON objects in the `data:` lines of a stream."""
    for line in body.decode("utf-8", "replace").splitlines():
        text = line[5:].strip() if line.startswith("data:") else ""
        if text and text != "[DONE]":
            value: object = json.loads(text)
            if isinstance(value, Mapping):
                yield cast("Json", value)


def _of(value: object, name: str) -> Json:
    """Return a field that is a JSON object; an empty object if it is anything else."""
    inner: object = field(value, name)
    return cast("Json", inner) if isinstance(inner, Mapping) else {}


def _told(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _messages(value: Json) -> Reply | None:
    if value.get("type") != "message":
        return None
    message = ROLE_CONTENT.read(value)
    usage = _of(value, "usage")
    cached = int(usage.get("cache_read_input_tokens") or 0)
    read = cached + int(usage.get("cache_creation_input_tokens") or 0) + int(usage.get("input_tokens") or 0)
    ended = value.get("stop_reason") not in ("tool_use", "pause_turn")
    return Reply(said=message, ended=ended, input_tokens=read, cached_tokens=cached)


def _messages_stream(events: Sequence[Json]) -> Reply | None:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    arguments: dict[int, list[str]] = {}
    for event in events:
        match event.get("type"):
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                delta, block = event["delta"], blocks[event["index"]]
                if delta.get("type") == "text_delta":
                    block["text"] = block.get("text", "") + delta["text"]
                elif delta.get("type") == "input_json_delta":
                    arguments.setdefault(event["index"], []).append(delta["partial_json"])
            case "message_delta":
                message |= _told(event["delta"])
                message["usage"] = {**_of(message, "usage"), **_told(_of(event, "usage"))}
            case _:
                pass
    for index, fragments in arguments.items():
        blocks[index]["input"] = tool_request_of("", "", "".join(fragments) or "{}").args
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return _messages(message) if message.get("stop_reason") else None


def _chat(value: Json) -> Reply | None:
    choices = sequence(value.get("choices"))
    if not choices:
        return None
    message = ROLE_CONTENT.read({"role": "assistant", **_of(choices[0], "message")})
    read, cached = _openai_usage(value.get("usage"), "prompt_tokens")
    return Reply(
        said=message, ended=not message.calls, response_id="", input_tokens=read, cached_tokens=cached
    )


@dataclass(slots=True)
class _ToolCall:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field_of(default_factory=list[str])


def _chat_stream(events: Sequence[Json]) -> Reply | None:
    texts: list[str] = []
    calls: dict[int, _ToolCall] = {}
    finished = False
    usage: object = None
    for chunk in events:
        usage = chunk.get("usage") or usage
        for choice in sequence(chunk.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            delta = _of(choice, "delta")
            texts.append(delta.get("content") or "")
            for call_delta in sequence(delta.get("tool_calls")):
                call = calls.setdefault(int(call_delta.get("index", 0)), _ToolCall())
                function = _of(call_delta, "function")
                call.call_id = call_delta.get("id") or call.call_id
                call.name = function.get("name") or call.name
                call.arguments.append(function.get("arguments") or "")
            finished = finished or bool(choice.get("finish_reason"))
    if not finished:
        return None
    requests: list[ToolRequest] = [
        tool_request_of(item.call_id, item.name, "".join(item.arguments)) for _, item in sorted(calls.items())
    ]
    read, cached = _openai_usage(usage, "prompt_tokens")
    message = MessageFacts(role="assistant", text="".join(texts), calls=tuple(requests))
    return Reply(said=message, ended=not requests, input_tokens=read, cached_tokens=cached)


def _responses(value: Json) -> Reply | None:
    if value.get("object") != "response" or value.get("error"):
        return None
    if value.get("status") not in (
        "completed",
        "incomplete",
    ):  # the response is still being generated in the background
        return Reply(said=MessageFacts(role="assistant"), ended=False, response_id=str(value.get("id") or ""))
    messages = [RESPONSE_ITEMS.read(item) for item in sequence(value.get("output"))]
    ours = [message for message in messages if message.role == "assistant"]
    calls = tuple(call for message in ours for call in message.calls)
    read, cached = _openai_usage(value.get("usage"), "input_tokens")
    return Reply(
        said=MessageFacts(
            role="assistant", text="\n".join(message.text for message in ours if message.text), calls=calls
        ),
        ended=not calls,
        response_id=str(value.get("id") or ""),
        input_tokens=read,
        cached_tokens=cached,
    )


def _responses_stream(events: Sequence[Json]) -> Reply | None:
    for event in reversed(events):
        if event.get("type") in ("response.completed", "response.incomplete"):
            return _responses(event["response"])
    return None


def _openai_usage(usage: object, name: str) -> tuple[int, int]:
    details = field(usage, f"{name}_details")
    return int(field(usage, name) or 0), int(field(details, "cached_tokens") or 0)


_WHOLE = {"messages": _messages, "chat": _chat, "responses": _responses}
_STREAMS = {"messages": _messages_stream, "chat": _chat_stream, "responses": _responses_stream}
