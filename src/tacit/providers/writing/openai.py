"""The dialect of OpenAI's `/chat/completions` with structured output, which many servers speak.

In: a request; a server's reply. Out: a request's body; what the reply says. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.ports.writer import WriterRequest
from tacit.providers.writing.answers import count_of, items_of, object_of
from tacit.providers.writing.http import SCHEMA_NAME, CompletionApi, Reply


def _headers(key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _body(request: WriterRequest, model: str) -> Mapping[str, object]:
    body: dict[str, object] = {
        "model": model,
        # The newer name of `max_tokens`; OpenAI's reasoning models refuse the older one.
        "max_completion_tokens": request.most_output_tokens,
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ],
    }
    if request.schema is not None:
        schema = {"name": SCHEMA_NAME, "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _read(answer: Mapping[str, object]) -> Reply:
    choice = object_of(next(iter(items_of(answer.get("choices"))), None))
    message, finish = object_of(choice.get("message")), choice.get("finish_reason")
    usage = object_of(answer.get("usage"))
    content = message.get("content")
    refused = message.get("refusal") or finish == "content_filter"
    return Reply(
        text=content if isinstance(content, str) else "",
        tokens_in=count_of(usage.get("prompt_tokens")),
        tokens_out=count_of(usage.get("completion_tokens")),
        ended="refused" if refused else "cut off" if finish == "length" else "",
    )


OPENAI = CompletionApi(
    name="openai",
    endpoint="https://api.openai.com/v1",
    model="gpt-4.1-mini",
    key_variable="OPENAI_API_KEY",
    path="/chat/completions",
    headers=_headers,
    body=_body,
    read=_read,
)
