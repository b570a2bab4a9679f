"""A writer behind a server: one way to ask, and the APIs of OpenAI and Anthropic. In: a request. Out: the answer and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Literal

from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.ports.writer import WriterAnswer, WriterRequest
from tacit.providers.json_client import JsonClient, bearer
from tacit.providers.writing.answers import checked_text, count_of, items_of, object_of

SCHEMA_NAME = "answer"


@frozen
class ServerReply:
    """The content of a server's reply, the same for all APIs. `text` is JSON if the request has a schema; `ended` = why it is incomplete, "" = it is whole."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    ended: Literal["", "refused", "cut off"] = ""


@frozen
class CompletionApi:
    """The API of one kind of model server: how a request is made and a reply read. The functions are pure."""

    name: str
    endpoint: str
    model: str
    key_variable: str
    path: str
    headers: Callable[[str], Mapping[str, str]]
    """Returns the headers of every request with this key; "" = no key."""
    body: Callable[[WriterRequest, str], Mapping[str, object]]
    """Returns the body of a request to this model."""
    read: Callable[[Mapping[str, object]], ServerReply]


class HttpWriter:
    """A writer that asks one model of one server over HTTP. Safe to share between threads."""

    def __init__(self, dialect: CompletionApi, *, model: str, client: JsonClient) -> None:
        self._dialect = dialect
        self._model = model
        self._client = client
        self.name = f"{dialect.name}:{model}"

    def write(self, request: WriterRequest) -> WriterAnswer:
        """Post the request to the server, and return its answer. Blocks, at most for the timeout.

        Raises:
            ProviderError: if the server does not answer, the model refuses, or its answer is cut off or does not fit the request.
        """
        reply = self._dialect.read(
            self._client.post(self._dialect.path, self._dialect.body(request, self._model))
        )
        if reply.ended == "refused":
            raise ProviderError(f"The writer {self.name} refused to answer.", reason="refused")
        if reply.ended == "cut off":
            raise ProviderError(
                f"The answer of the writer {self.name} was cut off.",
                hint="It wrote more than one answer may have; another model may be briefer.",
                reason="garbage",
            )
        text = checked_text(reply.text, request, name=self.name)
        return WriterAnswer(
            text=text, model=self._model, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out
        )

    def cancel(self) -> None:
        """Do nothing: a running request ends by itself, at the latest with its timeout."""

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()


def _openai_body(request: WriterRequest, model: str) -> Mapping[str, object]:
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


def _read_openai(answer: Mapping[str, object]) -> ServerReply:
    choice = object_of(next(iter(items_of(answer.get("choices"))), None))
    message, finish = object_of(choice.get("message")), choice.get("finish_reason")
    usage = object_of(answer.get("usage"))
    content = message.get("content")
    refused = message.get("refusal") or finish == "content_filter"
    return ServerReply(
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
    headers=bearer,
    body=_openai_body,
    read=_read_openai,
)


ANTHROPIC_VERSION = "2023-06-01"
_TOKENS_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _anthropic_headers(key: str) -> Mapping[str, str]:
    return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}


def _anthropic_body(request: WriterRequest, model: str) -> Mapping[str, object]:
    body: dict[str, object] = {
        "model": model,
        "max_tokens": request.most_output_tokens,
        "system": request.system,
        "messages": [{"role": "user", "content": _anthropic_content(request)}],
    }
    if request.schema is not None:
        tool = {"name": SCHEMA_NAME, "description": "Give the answer.", "input_schema": request.schema}
        body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": SCHEMA_NAME}}
    return body


def _anthropic_content(request: WriterRequest) -> object:
    """Return the user's text; as two blocks if its beginning is to be cached."""
    cached, uncached = request.user[: request.stable_chars], request.user[request.stable_chars :]
    if not cached or not uncached:
        return request.user
    return [
        {"type": "text", "text": cached, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": uncached},
    ]


def _read_anthropic(answer: Mapping[str, object]) -> ServerReply:
    blocks = [object_of(block) for block in items_of(answer.get("content"))]
    call = next((block for block in blocks if block.get("type") == "tool_use"), None)
    texts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
    usage = object_of(answer.get("usage"))
    stop = answer.get("stop_reason")
    return ServerReply(
        text=json.dumps(call.get("input"), ensure_ascii=False) if call else "".join(texts),
        tokens_in=count_of(*(usage.get(name) for name in _TOKENS_READ)),
        tokens_out=count_of(usage.get("output_tokens")),
        ended="refused" if stop == "refusal" else "cut off" if stop == "max_tokens" else "",
    )


ANTHROPIC = CompletionApi(
    name="anthropic",
    endpoint="https://api.anthropic.com",
    model="claude-haiku-4-5",
    key_variable="ANTHROPIC_API_KEY",
    path="/v1/messages",
    headers=_anthropic_headers,
    body=_anthropic_body,
    read=_read_anthropic,
)

APIS: Mapping[str, CompletionApi] = {api.name: api for api in (OPENAI, ANTHROPIC)}
"""The APIs by name: those of `MODEL_SERVERS` in `config/plugins.py`."""
