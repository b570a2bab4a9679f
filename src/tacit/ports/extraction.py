"""A model of language that reads finished sessions. Optional: without one nothing is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What one side said, under a number that the answer refers to."""

    number: int
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One statement that the model found worth keeping. Nothing of it is to be believed before it was checked.

    Attributes:
        content: the statement in the model's words.
        kind: name of a kind.
        quote: the words that say it; verbatim, if the model did as it was told.
        number: of the utterance that holds the quote.
        confidence: 0-1, the model's own.
    """

    content: str
    kind: str
    quote: str
    number: int
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """An answer and what it cost; `tokens` is what the model read and wrote, 0 where the server does not tell."""

    found: tuple[Extracted, ...]
    tokens: int = 0


class Extractor(Protocol):
    """Reads a session and says what it teaches."""

    @property
    def name(self) -> str:
        """Who reads, for provenance: `openai:gpt-4.1-mini`."""
        ...

    @property
    def most_output_tokens(self) -> int:
        """Most tokens that one answer may cost."""
        ...

    def extract(self, utterances: Sequence[Utterance], *, kinds: Sequence[str]) -> Extraction:
        """What `utterances` teach, each as one of `kinds`; nothing is asked for no utterances.

        Every text is redacted before it leaves the process; lone surrogates and NUL are tolerated. Blocking, within the
        deadline it was made with; safe to call from several threads.

        Raises:
            ProviderError: if the model cannot be reached in time, refuses, or answers with something else.
        """
        ...

    def close(self) -> None:
        """Close connections; the next question opens new ones."""
        ...
