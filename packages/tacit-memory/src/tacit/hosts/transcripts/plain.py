"""Plain lists of messages. In: role/content messages (Anthropic, OpenAI or our OpenCode plugin's shape). Out: turns.

One message: `role`, and `content` or `text` (a string or blocks); a time in `timestamp`, `at_ms` or `time`; tool calls
in `tools` or `tool_calls`, each with `tool` or `name`, `input` or `arguments`, and `error`, `failed`, `exit` or
`status` saying how it went. Roles other than user, assistant and tool say nothing to us.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import cast

from tacit.errors import InvalidPayload
from tacit.hosts.transcripts.assemble import TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

_Fields = Mapping[str, object]
_TIMES = ("at_ms", "timestamp", "time", "created_at", "meta")
_QUERY = lazy_regex(r"<user_query>(.*?)</user_query>", re.DOTALL)
_STAMP = lazy_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?$")


def read_messages(messages: object) -> Transcript:
    """Read a list of messages, or a mapping that holds one under `messages` or `turns`.

    Raises:
        InvalidPayload: if there is no list of messages.
    """
    if isinstance(messages, Mapping):
        outer = cast("_Fields", messages)
        messages = outer.get("messages", outer.get("turns"))
    if not isinstance(messages, list):
        raise InvalidPayload(
            "A plain transcript is a list of messages.", hint='Expected [{"role": ..., "content": ...}].'
        )
    builder = TurnBuilder()
    bad = 0
    for message in cast("list[object]", messages):
        if isinstance(message, Mapping):
            take_message(builder, cast("_Fields", message))
        else:
            bad += 1
    turns = builder.done()
    return Transcript(turns=turns, end=Position(prompts=builder.prompts), bad_lines=bad)


def take_message(builder: TurnBuilder, message: _Fields) -> None:
    """Add one message to `builder`."""
    inner = message.get("message")
    if isinstance(inner, Mapping) and "content" in inner:  # Cursor wraps what was said once more
        message = {**message, **cast("_Fields", inner), "role": message.get("role")}
    at_ms = next((t for name in _TIMES if name in message and (t := _when(message[name]))), 0)
    content = message.get("content", message.get("text"))
    match message.get("role"):
        case "user" | "human":
            for block in _blocks(content, "tool_result"):
                _take_result(builder, block, str(block.get("tool_use_id", "")), at_ms)
            builder.user(_asked(text_of(content)), at_ms)
        case "assistant" | "ai" | "model":
            builder.reply(text_of(content), at_ms)
            for block in _blocks(content, "tool_use"):
                builder.call(str(block.get("name", "")), str(block.get("id", "")), block.get("input"), at_ms)
            for name in ("tools", "tool_calls"):
                for number, call in enumerate(_mappings(message.get(name))):
                    _take_call(builder, call, f"{name}-{number}", at_ms)
        case "tool":
            _take_result(builder, message, str(message.get("tool_call_id", "")), at_ms)
        case _:
            pass


def _asked(text: str) -> str:
    """Return the words in Cursor's `<user_query>`, without what Cursor adds to a prompt; else the whole text."""
    query = _QUERY.search(text)
    return query[1].strip() if query else text


def _when(value: object) -> int:
    """A time, also one that stands at the end of a note ("model 2026-01-16 22:18:20Z")."""
    if isinstance(value, str) and len(value) > 32 and (stamp := _STAMP.search(value)):
        return time_of(stamp[0].replace(" ", "T"))
    return time_of(value.strip().replace(" ", "T", 1) if isinstance(value, str) else value)


def _take_call(builder: TurnBuilder, call: _Fields, fallback_id: str, at_ms: int) -> None:
    function = call.get("function")
    fields: _Fields = cast("_Fields", function) if isinstance(function, Mapping) else call
    name = fields.get("tool") or fields.get("name") or ""
    raw = fields.get("input", fields.get("arguments", fields.get("args")))
    if isinstance(raw, str):
        try:
            raw = cast("object", json.loads(raw))
        except ValueError:
            raw = {"command": raw}
    if raw is None:
        paths = call.get("paths")
        first = cast("list[object]", paths)[0] if isinstance(paths, list) and paths else ""
        raw = {"command": call.get("command", ""), "path": first, "todos": call.get("todos")}
    call_id = str(call.get("call_id") or call.get("callID") or call.get("id") or fallback_id)
    builder.call(str(name), call_id, raw, at_ms)
    if function is None:
        _take_result(builder, call, call_id, at_ms)


def _take_result(builder: TurnBuilder, fields: _Fields, call_id: str, at_ms: int) -> None:
    exit_code = fields.get("exit", fields.get("exit_code"))
    error = fields.get("error")
    failed = (
        bool(fields.get("is_error") or fields.get("failed") or error)
        or fields.get("status") == "error"
        or (isinstance(exit_code, int) and exit_code != 0)
    )
    text = (
        error if isinstance(error, str) and error else text_of(fields.get("content") or fields.get("output"))
    )
    builder.result(call_id, failed=failed, text=text, at_ms=at_ms)


def _blocks(content: object, kind: str) -> Iterable[_Fields]:
    return (block for block in _mappings(content) if block.get("type") == kind)


def _mappings(value: object) -> Iterable[_Fields]:
    if isinstance(value, list):
        for item in cast("list[object]", value):
            if isinstance(item, Mapping):
                yield cast("_Fields", item)
