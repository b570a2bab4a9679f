"""A writer behind a server: one way to ask, in the dialect that the server speaks. In: a request. Out: the answer and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.errors import ProviderError
from tacit.ports.writer import WriterAnswer, WriterRequest
from tacit.providers.json_client import JsonClient
from tacit.providers.writing.answers import checked_text

SCHEMA_NAME = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server's reply says in any dialect; `text` is the JSON text where a schema was given."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    ended: Literal["", "refused", "cut off"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionApi:
    """How one kind of server is asked and answers. The functions are pure."""

    name: str
    endpoint: str
    model: str
    key_variable: str
    path: str
    headers: Callable[[str], Mapping[str, str]]
    """What every request with this key ("" = none) carries."""
    body: Callable[[WriterRequest, str], Mapping[str, object]]
    """The body of a request to a model."""
    read: Callable[[Mapping[str, object]], Reply]


class HttpWriter:
    """Asks one model of one server. Safe to share between threads."""

    def __init__(self, dialect: CompletionApi, *, model: str, client: JsonClient) -> None:
        self._dialect = dialect
        self._model = model
        self._client = client
        self.name = f"{dialect.name}:{model}"

    def write(self, request: WriterRequest) -> WriterAnswer:
        """See the port."""
        reply = self._dialect.read(
            self._client.post(self._dialect.path, self._dialect.body(request, self._model))
        )
        if reply.ended == "refused":
            raise ProviderError(f"The writer {self.name} refused to answer.", reason="refused")
        if reply.ended == "cut off":
            raise ProviderError(
                f"The answer of the writer {self.name} was cut off.",
                hint="Raise `capture.extractor.most_output_tokens`.",
                reason="garbage",
            )
        text = checked_text(reply.text, request, name=self.name)
        return WriterAnswer(
            text=text, model=self._model, tokens_in=reply.tokens_in, tokens_out=reply.tokens_out
        )

    def cancel(self) -> None:
        """Nothing can be ended early; the timeout ends it."""

    def close(self) -> None:
        """Close connections."""
        self._client.close()
