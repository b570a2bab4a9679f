"""Embeddings from an Ollama server (`/api/embed`).

In: texts. Out: unit vectors. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.http import embed_distinct, sendable, unit_rows
from tacit.providers.json_client import JsonClient

ENDPOINT = "http://localhost:11434"
MODEL = "nomic-embed-text"
DIMENSIONS = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "snowflake-arctic-embed": 1024,
}
_BATCH = 32
_MOST_CHARS = 8000  # Ollama itself cuts to the model's window


class OllamaEmbedder:
    """A model of an Ollama server. Safe to share between threads."""

    def __init__(
        self, *, model: str, dimensions: int, client: JsonClient, prepare: Callable[[str], str] = str
    ) -> None:
        self._model = model
        self._client = client
        self._prepare = prepare
        self._identity = EmbedderIdentity(name=f"ollama:{model}", dimensions=dimensions)

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's name with its tag, and its vector length."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit float32 vectors, shape (len(texts), dimensions).

        Raises:
            ProviderError: if the server cannot be reached, refuses, or answers with something else.
        """
        return embed_distinct(
            texts,
            self._ask,
            dimensions=self._identity.dimensions,
            batch=_BATCH,
            prepare=lambda text: sendable(self._prepare(text), most_chars=_MOST_CHARS),
        )

    def _ask(self, texts: list[str]) -> Vectors:
        reply = self._client.post("/api/embed", {"model": self._model, "input": texts, "truncate": True})
        return unit_rows(
            reply.get("embeddings"),
            count=len(texts),
            dimensions=self._identity.dimensions,
            server="The Ollama server",
        )

    def close(self) -> None:
        """Close connections."""
        self._client.close()
