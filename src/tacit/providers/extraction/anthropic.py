"""An extractor behind the Anthropic Messages API: the answer is the input of a tool that the model has to call.

In: utterances. Out: statements and what they cost. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tacit.errors import ProviderError
from tacit.ports.extraction import Extraction, Utterance
from tacit.providers.extraction import questions
from tacit.providers.json_client import JsonClient

ENDPOINT = "https://api.anthropic.com"
MODEL = "claude-haiku-4-5"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
_COSTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def headers(key: str) -> dict[str, str]:
    """What every request carries."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


class AnthropicExtractor:
    """A model behind an endpoint that speaks the Messages API. Safe to share between threads."""

    def __init__(
        self, *, model: str, most_output_tokens: int, client: JsonClient, prepare: Callable[[str], str] = str
    ) -> None:
        self._model = model
        self._most = most_output_tokens
        self._client = client
        self._prepare = prepare

    @property
    def name(self) -> str:
        """`anthropic:` and the model."""
        return f"anthropic:{self._model}"

    @property
    def most_output_tokens(self) -> int:
        """As set."""
        return self._most

    def extract(self, utterances: Sequence[Utterance], *, kinds: Sequence[str]) -> Extraction:
        """See the port.

        Raises:
            ProviderError: if the server cannot be reached, refuses, or answers with something else.
        """
        if not utterances:
            return Extraction(found=())
        answer = self._client.post("/v1/messages", self._body(utterances, kinds))
        stopped = answer.get("stop_reason")
        if stopped == "refusal":
            raise ProviderError(f"The extractor {self.name} refused to answer.")
        if stopped == "max_tokens":
            raise ProviderError(
                f"The answer of the extractor {self.name} was cut off.",
                hint="Raise `capture.extractor.most_output_tokens`.",
            )
        content = answer.get("content")
        blocks = cast("list[object]", content) if isinstance(content, list) else []
        calls = [questions.fields_of(block) for block in blocks]
        given = next((call.get("input") for call in calls if call.get("name") == questions.NAME), None)
        return Extraction(
            found=questions.read_answer(given, kinds=kinds), tokens=_tokens(answer.get("usage"))
        )

    def _body(self, utterances: Sequence[Utterance], kinds: Sequence[str]) -> dict[str, object]:
        tool: dict[str, object] = {
            "name": questions.NAME,
            "description": questions.DESCRIPTION,
            "input_schema": questions.schema(kinds),
        }
        return {
            "model": self._model,
            "max_tokens": self._most,
            "system": questions.INSTRUCTIONS,
            "messages": [{"role": "user", "content": questions.question(utterances, kinds, self._prepare)}],
            "tools": [tool],
            "tool_choice": {"type": "tool", "name": questions.NAME},
        }

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def _tokens(usage: object) -> int:
    given = questions.fields_of(usage)
    counts = [given.get(name) for name in _COSTS]
    return sum(count for count in counts if isinstance(count, int) and count > 0)
