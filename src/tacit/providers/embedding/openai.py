"""The dialect of OpenAI's `/embeddings`, which many servers speak.

In: texts; a server's reply. Out: a request's body; the reply's rows in the order of the texts. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tacit.errors import ProviderError
from tacit.ports.models import EmbedderIdentity
from tacit.providers.embedding.http import EmbeddingApi

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
_SHORTENABLE = ("text-embedding-3-",)  # these accept a smaller `dimensions`


def _body(texts: Sequence[str], model: str, identity: EmbedderIdentity) -> Mapping[str, object]:
    body: dict[str, object] = {"model": model, "input": texts, "encoding_format": "float"}
    if model.startswith(_SHORTENABLE) and identity.dimensions != DIMENSIONS.get(model):
        body["dimensions"] = identity.dimensions
    return body


def _rows(reply: Mapping[str, object]) -> object:
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
    dimensions=DIMENSIONS,
    path="/embeddings",
    batch=64,
    most_chars=8000,  # the models read 8191 tokens; a longer text is cut instead of refused
    body=_body,
    rows=_rows,
)
