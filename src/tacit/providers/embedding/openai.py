"""Embeddings from any server that speaks OpenAI's `/embeddings`.

In: texts. Out: unit vectors. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from tacit.errors import ProviderError
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.http import embed_distinct, sendable, unit_rows
from tacit.providers.json_client import JsonClient

ENDPOINT = "https://api.openai.com/v1"
MODEL = "text-embedding-3-small"
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_SHORTENABLE = ("text-embedding-3-",)  # these accept a smaller `dimensions`
_BATCH = 64
_MOST_CHARS = 8000  # the models read 8191 tokens; a longer text is cut instead of refused


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible endpoint. Safe to share between threads."""

    def __init__(
        self, *, model: str, dimensions: int, client: JsonClient, prepare: Callable[[str], str] = str
    ) -> None:
        self._model = model
        self._client = client
        self._prepare = prepare
        self._identity = EmbedderIdentity(name=f"openai:{model}", dimensions=dimensions)
        self._asks_length = model.startswith(_SHORTENABLE) and dimensions != DIMENSIONS.get(model)

    @property
    def identity(self) -> EmbedderIdentity:
        """The model's name and vector length; the vendor's name is the version."""
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
        body: dict[str, object] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asks_length:
            body["dimensions"] = self._identity.dimensions
        data = self._client.post("/embeddings", body).get("data")
        if not isinstance(data, list):
            raise ProviderError("The embedding server's reply has no list `data`.")
        placed: dict[object, object] = {}
        for position, item in enumerate(cast("list[object]", data)):
            if isinstance(item, dict):
                entry = cast("Mapping[str, object]", item)
                placed[entry.get("index", position)] = entry.get("embedding")
        rows = [placed.get(position) for position in range(len(placed))]
        return unit_rows(
            rows, count=len(texts), dimensions=self._identity.dimensions, server="The embedding server"
        )

    def close(self) -> None:
        """Close connections."""
        self._client.close()
