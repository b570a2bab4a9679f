"""The dialect of the Anthropic Messages API: the answer is the input of a tool that the model has to call.

In: a question; a server's reply. Out: a request's body; what the reply says. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tacit.providers.extraction import questions
from tacit.providers.extraction.remote import Dialect, Question, Reply

VERSION = "2023-06-01"
_COSTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def _headers(key: str) -> Mapping[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def _body(question: Question) -> Mapping[str, object]:
    tool = {
        "name": questions.NAME,
        "description": questions.DESCRIPTION,
        "input_schema": question.schema,
    }
    return {
        "model": question.model,
        "max_tokens": question.most_output_tokens,
        "system": question.system,
        "messages": [{"role": "user", "content": question.user}],
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": questions.NAME},
    }


def _read(answer: Mapping[str, object]) -> Reply:
    content = answer.get("content")
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    calls = [questions.fields_of(block) for block in blocks]
    given = next((call.get("input") for call in calls if call.get("name") == questions.NAME), None)
    usage = questions.fields_of(answer.get("usage"))
    counts = [usage.get(name) for name in _COSTS]
    tokens = sum(count for count in counts if isinstance(count, int) and count > 0)
    match answer.get("stop_reason"):
        case "refusal":
            return Reply(given=given, tokens=tokens, ended="refused")
        case "max_tokens":
            return Reply(given=given, tokens=tokens, ended="cut off")
        case _:
            return Reply(given=given, tokens=tokens)


ANTHROPIC = Dialect(
    name="anthropic",
    endpoint="https://api.anthropic.com",
    model="claude-haiku-4-5",
    key_variable="ANTHROPIC_API_KEY",
    path="/v1/messages",
    headers=_headers,
    body=_body,
    read=_read,
)
