"""An answer in the words of a model API. In: an answer and the request. Out: a JSON object or server-sent events.

Formats: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini. Never decides what to answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tacit.hosts.probe.script import CallTool, Say

Event = Mapping[str, object]

OUTPUT_TOKENS = 5


def encode_events(events: Sequence[Event], *, named: bool = False, done: bool = False) -> bytes:
    """Server-sent events; `named` writes each event's `type` as its name, `done` ends with OpenAI's marker."""
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
    """The whole message of POST /v1/messages."""
    message = _anthropic_head(model=model, number=number, usage_tokens=usage_tokens)
    return {**message, "content": [_anthropic_block(answer, number)], "stop_reason": _anthropic_stop(answer)}


def anthropic_events(answer: Say | CallTool, *, model: str, number: int, usage_tokens: int) -> list[Event]:
    """The same message as a stream."""
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
    """The whole reply of POST /v1/chat/completions."""
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
    """The same reply as a stream."""
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
    """The whole reply of POST /v1/responses."""
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
    """The same reply as a stream."""
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
    """The whole reply of POST /v1beta/models/MODEL:generateContent."""
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
    """The same reply as a stream: one chunk that holds all of it."""
    return [gemini_response(answer, model=model, number=number, usage_tokens=usage_tokens)]


def error_object(status: int) -> dict[str, object]:
    """An error body that every client understands."""
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
