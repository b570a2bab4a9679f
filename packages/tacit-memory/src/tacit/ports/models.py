"""Models that Tacit can use. None of them is a language model on the hook path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from tacit.frozen import frozen

if TYPE_CHECKING:  # every command would load numpy for nothing
    import numpy as np
    from numpy.typing import NDArray

    from tacit.config.settings import EmbedderSettings

Vectors: TypeAlias = "NDArray[np.float32]"


@frozen
class EmbedderIdentity:
    """The name of an embedding model and the length of its vectors, stored with every vector. Vectors of different identities are never compared.

    `name` includes the version of the weights (`all-minilm-l6-v2-int8@1`), `dimensions` the vector length.
    """

    name: str
    dimensions: int

    def __str__(self) -> str:
        return f"{self.name}/{self.dimensions}"


class Embedder(Protocol):
    """A model that turns texts into unit vectors.

    It may declare which natural languages it reads: an attribute `languages`, a frozenset of ISO 639-1 codes. Vectors of texts
    in other languages are no evidence then. Without it, the embedder is expected to read all languages.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """The model that makes the vectors. Known without loading the model."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of `texts`: float32 of shape (len(texts), dimensions), every row of Euclidean length 1.

        Order is kept, equal texts give equal rows, an empty sequence gives shape (0, dimensions); lone surrogates
        and NUL are tolerated. Blocking; safe to call from several threads.

        Raises:
            ProviderError: if the model cannot be loaded or reached.
        """
        ...


class EmbedderFactory(Protocol):
    """A function that builds an embedder from its settings and the API key, without loading or calling the model.

    Another package registers one as an entry point of `tacit.embedders`.
    """

    def __call__(self, settings: EmbedderSettings, *, api_key: str) -> Embedder:
        """Return an embedder without loading or calling the model; `api_key` is the value of `settings.api_key_env`, or "".

        Raises:
            ProviderError: if it cannot be used as configured.
        """
        ...


@runtime_checkable
class TokenEmbedder(Protocol):
    """An embedder that can also compare the single tokens of texts. Optional; see the late space."""

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        """Return the best cosine (0 to 1) of each token of `text` in each of `others`.

        Shape (len(others), tokens of `text`), float32; a text without tokens matches nothing (zeros). Equal tokens give 1.
        Quick (about a millisecond for twenty sentences) and safe to call from several threads.
        """
        ...


class Reranker(Protocol):
    """A second-stage model that reads a question and a text together. Optional: without one nothing is missing."""

    @property
    def name(self) -> str:
        """The name of the model, for the trace."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it can answer now. The first access starts loading the model in the background; False until it is loaded. Never waits.

        Raises:
            ProviderError: if it cannot be loaded.
        """
        ...

    def score(self, text: str, other: str) -> float:
        """Score how well `other` answers `text`, 0 to 1; equal arguments give equal scores, whatever characters they hold.

        Blocking, one forward pass; safe to call from several threads.

        Raises:
            ProviderError: if the model cannot be loaded or run.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens of the o200k vocabulary, or an upper estimate."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`; 0 for the empty text."""
        ...
