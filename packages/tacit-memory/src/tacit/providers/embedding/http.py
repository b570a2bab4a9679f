"""An embedder behind a server: one way to ask, and the APIs of Ollama and OpenAI.

In: texts, an API. Out: unit vectors. Every text goes through `prepare` (redaction) before it leaves this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.json_client import JsonClient


@frozen
class EmbeddingApi:
    """The API of one kind of embedding server: how a request is made and a reply read. The functions are pure.

    Attributes:
        name: name of the provider.
        server: name of the server in errors.
        endpoint, model: address and model if the settings name none.
        dimensions: length of the vectors by known model.
        path: path of the request below the endpoint.
        batch: most texts of one request.
        most_chars: most characters of one text.
        body: makes the body of a request from texts, the model and the wanted identity.
        rows: returns the vectors in a reply in the order of the texts, unchecked.
    """

    name: str
    server: str
    endpoint: str
    model: str
    dimensions: Mapping[str, int]
    path: str
    batch: int
    most_chars: int
    body: Callable[[Sequence[str], str, EmbedderIdentity], Mapping[str, object]]
    rows: Callable[[Mapping[str, object]], object]


class RemoteEmbedder:
    """An embedder that asks a server with the API `dialect`. Safe to share between threads."""

    def __init__(
        self,
        dialect: EmbeddingApi,
        *,
        model: str,
        dimensions: int,
        client: JsonClient,
        prepare: Callable[[str], str] = str,
    ) -> None:
        self._dialect = dialect
        self._model = model
        self._client = client
        self._prepare = prepare
        self._identity = EmbedderIdentity(name=f"{dialect.name}:{model}", dimensions=dimensions)

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the names of the provider and the model, and the vector length; the version is the vendor's name of the model."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Ask the server, and return unit float32 vectors, shape (len(texts), dimensions).

        Raises:
            ProviderError: if the server cannot be reached, refuses, or answers with something else.
        """
        return embed_distinct(
            texts,
            self._ask,
            dimensions=self._identity.dimensions,
            batch=self._dialect.batch,
            prepare=lambda text: sendable(self._prepare(text), most_chars=self._dialect.most_chars),
        )

    def _ask(self, texts: list[str]) -> Vectors:
        spoken = self._dialect
        reply = self._client.post(spoken.path, spoken.body(texts, self._model, self._identity))
        return unit_rows(
            spoken.rows(reply), count=len(texts), dimensions=self._identity.dimensions, server=spoken.server
        )

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()


def sendable(text: str, *, most_chars: int) -> str:
    """Return `text` in a form that servers accept: valid Unicode without NUL, at most `most_chars` long, and not blank ("." instead)."""
    clean = text[:most_chars].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return clean if clean.strip() else "."


def embed_distinct(
    texts: Sequence[str],
    ask: Callable[[list[str]], Vectors],
    *,
    dimensions: int,
    batch: int,
    prepare: Callable[[str], str],
) -> Vectors:
    """Call `ask` with batches of the distinct texts, each changed by `prepare`, and return the rows in the order of `texts`."""
    place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    ready = [prepare(text) for text in place]
    batches = [ask(ready[start : start + batch]) for start in range(0, len(ready), batch)]
    rows = np.concatenate([np.empty((0, dimensions), dtype=np.float32), *batches])
    return rows[[place[text] for text in texts]]


def unit_rows(rows: object, *, count: int, dimensions: int, server: str) -> Vectors:
    """Check the vectors of a server's reply, and return them normalized: shape (count, dimensions), float32, length 1.

    Raises:
        ProviderError: if there are more or fewer rows, of another length, not numbers, or all zero.
    """
    hint = "Set `embedder.dimensions` to the length of this model's vectors."
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProviderError(
            f"{server} answered with vectors that are not numbers of one length.", hint=hint
        ) from error
    if array.shape != (count, dimensions):
        raise ProviderError(
            f"{server} answered with vectors of shape {array.shape}, expected ({count}, {dimensions}).",
            hint=hint,
        )
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0.0):
        raise ProviderError(
            f"{server} answered with a vector that has no direction (zero, infinite or not a number)."
        )
    return (array / lengths).astype(np.float32)


OLLAMA_DIMENSIONS = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "snowflake-arctic-embed": 1024,
}


def _ollama_body(texts: Sequence[str], model: str, identity: EmbedderIdentity) -> Mapping[str, object]:  # noqa: ARG001 - the shape of a dialect
    return {"model": model, "input": texts, "truncate": True}


def _ollama_rows(reply: Mapping[str, object]) -> object:
    return reply.get("embeddings")


OLLAMA = EmbeddingApi(
    name="ollama",
    server="The Ollama server",
    endpoint="http://localhost:11434",
    model="nomic-embed-text",
    dimensions=OLLAMA_DIMENSIONS,
    path="/api/embed",
    batch=32,
    most_chars=8000,  # Ollama itself cuts to the model's window
    body=_ollama_body,
    rows=_ollama_rows,
)


OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_SHORTENABLE = ("text-embedding-3-",)  # these accept a smaller `dimensions`


def _openai_body(texts: Sequence[str], model: str, identity: EmbedderIdentity) -> Mapping[str, object]:
    body: dict[str, object] = {"model": model, "input": texts, "encoding_format": "float"}
    if model.startswith(_SHORTENABLE) and identity.dimensions != OPENAI_DIMENSIONS.get(model):
        body["dimensions"] = identity.dimensions
    return body


def _openai_rows(reply: Mapping[str, object]) -> object:
    data = reply.get("data")
    if not isinstance(data, list):
        raise ProviderError("The embedding server's reply has no list `data`.")
    placed: dict[object, object] = {}
    for position, item in enumerate(cast("list[object]", data)):
        if isinstance(item, dict):
            entry = cast("Mapping[str, object]", item)
            placed[entry.get("index", position)] = entry.get("embedding")
    return [placed.get(position) for position in range(len(placed))]


OPENAI = EmbeddingApi(
    name="openai",
    server="The embedding server",
    endpoint="https://api.openai.com/v1",
    model="text-embedding-3-small",
    dimensions=OPENAI_DIMENSIONS,
    path="/embeddings",
    batch=64,
    most_chars=8000,  # the models read 8191 tokens; a longer text is cut instead of refused
    body=_openai_body,
    rows=_openai_rows,
)
