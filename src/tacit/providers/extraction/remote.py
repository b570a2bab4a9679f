"""An extractor behind a server: one way to ask, in the dialect that the server speaks.

In: utterances, a dialect. Out: statements and what they cost. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.errors import ProviderError
from tacit.ports.extraction import Extraction, Utterance
from tacit.providers.extraction import questions
from tacit.providers.json_client import JsonClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked in any dialect: texts, the JSON schema of an answer, its most tokens."""

    model: str
    system: str
    user: str
    schema: Mapping[str, object]
    most_output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server's reply says in any dialect."""

    given: object
    """The answer: a JSON value, or its text; None where there is none."""
    tokens: int
    ended: Literal["", "refused", "cut off"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of server is asked and answers. The functions are pure."""

    name: str
    endpoint: str
    model: str
    key_variable: str
    path: str
    headers: Callable[[str], Mapping[str, str]]
    """What every request with this key ("" = none) carries."""
    body: Callable[[Question], Mapping[str, object]]
    read: Callable[[Mapping[str, object]], Reply]


class RemoteExtractor:
    """A model behind an endpoint that speaks `dialect`. Safe to share between threads."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        model: str,
        most_output_tokens: int,
        client: JsonClient,
        prepare: Callable[[str], str] = str,
    ) -> None:
        self._dialect = dialect
        self._model = model
        self._most = most_output_tokens
        self._client = client
        self._prepare = prepare

    @property
    def name(self) -> str:
        """The dialect and the model: `openai:gpt-4.1-mini`."""
        return f"{self._dialect.name}:{self._model}"

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
        question = Question(
            model=self._model,
            system=questions.INSTRUCTIONS,
            user=questions.question(utterances, kinds, self._prepare),
            schema=questions.schema(kinds),
            most_output_tokens=self._most,
        )
        reply = self._dialect.read(self._client.post(self._dialect.path, self._dialect.body(question)))
        if reply.ended == "refused":
            raise ProviderError(f"The extractor {self.name} refused to answer.")
        if reply.ended == "cut off":
            raise ProviderError(
                f"The answer of the extractor {self.name} was cut off.",
                hint="Raise `capture.extractor.most_output_tokens`.",
            )
        return Extraction(found=questions.read_answer(reply.given, kinds=kinds), tokens=reply.tokens)

    def close(self) -> None:
        """Close connections."""
        self._client.close()
