"""The dialect of an Ollama server (`/api/embed`). In: texts; a server's reply. Out: a request's body; the reply's rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.ports.models import EmbedderIdentity
from tacit.providers.embedding.http import EmbeddingApi

DIMENSIONS = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "snowflake-arctic-embed": 1024,
}


def _body(texts: Sequence[str], model: str, identity: EmbedderIdentity) -> Mapping[str, object]:  # noqa: ARG001 - the shape of a dialect
    return {"model": model, "input": texts, "truncate": True}


def _rows(reply: Mapping[str, object]) -> object:
    return reply.get("embeddings")


OLLAMA = EmbeddingApi(
    name="ollama",
    server="The Ollama server",
    endpoint="http://localhost:11434",
    model="nomic-embed-text",
    dimensions=DIMENSIONS,
    path="/api/embed",
    batch=32,
    most_chars=8000,  # Ollama itself cuts to the model's window
    body=_body,
    rows=_rows,
)
