"""An extractor behind any server that speaks OpenAI's `/chat/completions` with structured output.

In: utterances. Out: statements and what they cost. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tacit.errors import ProviderError
from tacit.ports.extraction import Extraction, Utterance
from tacit.providers.extraction import questions
from tacit.providers.json_client import JsonClient

ENDPOINT = "https://api.openai.com/v1"
MODEL = "gpt-4.1-mini"
KEY_VARIABLE = "OPENAI_API_KEY"


class OpenAIExtractor:
    """A model behind an OpenAI-compatible endpoint. Safe to share between threads."""

    def __init__(
        self, *, model: str, most_output_tokens: int, client: JsonClient, prepare: Callable[[str], str] = str
    ) -> None:
        self._model = model
        self._most = most_output_tokens
        self._client = client
        self._prepare = prepare

    @property
    def name(self) -> str:
        """`openai:` and the model."""
        return f"openai:{self._model}"

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
        answer = self._client.post("/chat/completions", self._body(utterances, kinds))
        choices = answer.get("choices")
        first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
        choice = questions.fields_of(first)
        said = questions.fields_of(choice.get("message"))
        if said.get("refusal") or choice.get("finish_reason") == "content_filter":
            raise ProviderError(f"The extractor {self.name} refused to answer.")
        if choice.get("finish_reason") == "length":
            raise ProviderError(
                f"The answer of the extractor {self.name} was cut off.",
                hint="Raise `capture.extractor.most_output_tokens`.",
            )
        return Extraction(
            found=questions.read_answer(said.get("content"), kinds=kinds), tokens=_tokens(answer.get("usage"))
        )

    def _body(self, utterances: Sequence[Utterance], kinds: Sequence[str]) -> dict[str, object]:
        return {
            "model": self._model,
            # The newer name of `max_tokens`; OpenAI's reasoning models refuse the older one.
            "max_completion_tokens": self._most,
            "messages": [
                {"role": "system", "content": questions.INSTRUCTIONS},
                {"role": "user", "content": questions.question(utterances, kinds, self._prepare)},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": questions.NAME, "strict": True, "schema": questions.schema(kinds)},
            },
        }

    def close(self) -> None:
        """Close connections."""
        self._client.close()


def _tokens(usage: object) -> int:
    total = questions.fields_of(usage).get("total_tokens")
    return total if isinstance(total, int) and total > 0 else 0
