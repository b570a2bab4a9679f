"""The dialect of the Anthropic Messages API: with a schema the answer is the input of a tool that the model has to call.

In: a request; a server's reply. Out: a request's body; what the reply says. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tacit.ports.writer import WriterRequest
from tacit.providers.writing.answers import count_of, items_of, object_of
from tacit.providers.writing.http import SCHEMA_NAME, CompletionApi, Reply

VERSION = "2023-06-01"
_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _headers(key: str) -> Mapping[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def _body(request: WriterRequest, model: str) -> Mapping[str, object]:
    body: dict[str, object] = {
        "model": model,
        "max_tokens": request.most_output_tokens,
        "system": request.system,
        "messages": [{"role": "user", "content": request.user}],
    }
    if request.schema is not None:
        tool = {"name": SCHEMA_NAME, "description": "Give the answer.", "input_schema": request.schema}
        body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": SCHEMA_NAME}}
    return body


def _read(answer: Mapping[str, object]) -> Reply:
    blocks = [object_of(block) for block in items_of(answer.get("content"))]
    call = next((block for block in blocks if block.get("type") == "tool_use"), None)
    texts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
    usage = object_of(answer.get("usage"))
    stop = answer.get("stop_reason")
    return Reply(
        text=json.dumps(call.get("input"), ensure_ascii=False) if call else "".join(texts),
        tokens_in=count_of(*(usage.get(name) for name in _READ)),
        tokens_out=count_of(usage.get("output_tokens")),
        ended="refused" if stop == "refusal" else "cut off" if stop == "max_tokens" else "",
    )


ANTHROPIC = CompletionApi(
    name="anthropic",
    endpoint="https://api.anthropic.com",
    model="claude-haiku-4-5",
    key_variable="ANTHROPIC_API_KEY",
    path="/v1/messages",
    headers=_headers,
    body=_body,
    read=_read,
)
