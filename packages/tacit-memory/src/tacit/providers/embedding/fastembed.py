"""Embeddings from the optional library `fastembed`, which downloads its models.

In: texts. Out: unit vectors. Imports the library at the first text, never before.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProviderError, install_extra
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.embedding.http import sendable, unit_rows

MODEL = "BAAI/bge-small-en-v1.5"
DIMENSIONS = {MODEL: 384, "BAAI/bge-base-en-v1.5": 768, "sentence-transformers/all-MiniLM-L6-v2": 384}
_MOST_CHARS = 16_000


class _Model(Protocol):
    def embed(self, documents: Iterable[str]) -> Iterable[NDArray[Any]]: ...


def load_fastembed(model: str) -> _Model:
    """Load `model` with the library fastembed, which downloads it if it is not there yet.

    Raises:
        ProviderError: if the library is not installed or the model cannot be loaded.
    """
    if importlib.util.find_spec("fastembed") is None:
        raise ProviderError("The library fastembed is not installed.", hint=install_extra("fastembed"))
    library = cast(Any, importlib.import_module("fastembed"))
    try:
        return cast(_Model, library.TextEmbedding(model_name=model, threads=1))
    except (OSError, ValueError, RuntimeError) as error:
        raise ProviderError(
            f"fastembed cannot load {model!r}: {error}",
            hint="It downloads models; check the network and the name.",
        ) from error


class FastembedEmbedder:
    """An embedder with a model of the library fastembed. Safe to share between threads: they take turns."""

    def __init__(
        self, *, model: str, dimensions: int, load: Callable[[str], _Model] = load_fastembed
    ) -> None:
        self._model = model
        self._load = load
        self._lock = threading.Lock()
        self._loaded: _Model | None = None
        self._identity = EmbedderIdentity(name=f"fastembed:{model}", dimensions=dimensions)

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the model's name and its vector length."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit float32 vectors, shape (len(texts), dimensions).

        Raises:
            ProviderError: if the library is missing or its model cannot be loaded.
        """
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        if not distinct:
            return np.empty((0, self._identity.dimensions), dtype=np.float32)
        ready = [sendable(text, most_chars=_MOST_CHARS) for text in distinct]
        with self._lock:
            self._loaded = self._loaded or self._load(self._model)
            rows = list(self._loaded.embed(ready))
        vectors = unit_rows(rows, count=len(ready), dimensions=self._identity.dimensions, server="fastembed")
        return vectors[[distinct[text] for text in texts]]
