"""Models that turn texts into vectors, and `make_embedder`, which picks one from the settings.

In: the embedder section of the settings. Out: an `Embedder` that loads its model at first use. Never reads the environment, but for
the installed packages where one of them provides the embedder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from tacit.config.plugins import EMBEDDERS
from tacit.config.settings import EmbedderSettings
from tacit.errors import ProviderError
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder, EmbedderFactory, EmbedderIdentity, Vectors
from tacit.providers.embedding.cache import CachedEmbedder
from tacit.providers.embedding.fake import FakeEmbedder

__all__ = ["CachedEmbedder", "FakeEmbedder", "make_embedder", "waits_for_server"]

CACHE_ENTRIES, CACHE_TTL_S = 1024, 3600
"""Vectors kept in memory, and for how long."""
TIMEOUT_MS = 5000
LOCAL = ("minilm", "onnx", "fastembed", "fake")


def waits_for_server(settings: EmbedderSettings) -> bool:
    """Whether the embedder of `settings` may wait for a server, so that recall must not wait for it.

    What another package provides is treated so: nobody knows how it makes its vectors.
    """
    return settings.provider not in LOCAL


def make_embedder(
    settings: EmbedderSettings,
    *,
    api_key: str = "",
    redact: Callable[[str], str] | None = None,
    clock: Clock | None = None,
    cache_entries: int = CACHE_ENTRIES,
    timeout_ms: int = TIMEOUT_MS,
) -> Embedder:
    """Build the embedder that `settings` name, behind a cache; nothing is loaded or called before its first text.

    Args:
        settings: the `embedder` section.
        api_key: the value of the variable that `settings.api_key_env` names.
        redact: applied to every text that goes to a server or to another package's code; local models see the text as it is.
        clock: measures the age of cached vectors; the system's by default.
        cache_entries: vectors kept in memory; 0 = no cache.
        timeout_ms: milliseconds for one request to a server.

    Raises:
        ProviderError: if the provider cannot be used as configured.
    """
    embedder = _make(settings, api_key=api_key, redact=redact, timeout_ms=timeout_ms)
    if cache_entries == 0:
        return embedder
    return CachedEmbedder(embedder, entries=cache_entries, ttl_s=CACHE_TTL_S, clock=clock)


def _make(
    settings: EmbedderSettings, *, api_key: str, redact: Callable[[str], str] | None, timeout_ms: int
) -> Embedder:
    match settings.provider:
        case "minilm":
            from tacit.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - each provider loads only its own

            return MiniLM()
        case "fake":
            return FakeEmbedder()
        case "onnx":
            from tacit.providers.embedding.onnx_dir import OnnxFolder  # noqa: PLC0415

            return OnnxFolder(Path(settings.model).expanduser())
        case "fastembed":
            from tacit.providers.embedding import fastembed  # noqa: PLC0415

            model = settings.model or fastembed.MODEL
            return fastembed.FastembedEmbedder(
                model=model, dimensions=_dimensions(settings, model, fastembed.DIMENSIONS)
            )
        case "openai" | "ollama":
            return _remote(settings, api_key=api_key, redact=redact or str, timeout_ms=timeout_ms)
        case name:
            make = cast("EmbedderFactory", EMBEDDERS.load(name))
            return _RedactedEmbedder(make(settings, api_key=api_key), redact or str)


class _RedactedEmbedder:
    """Passes texts on to an embedder of another package, redacted: it may send them anywhere."""

    def __init__(self, inner: Embedder, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact

    @property
    def identity(self) -> EmbedderIdentity:
        """See the port."""
        return self._inner.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See the port."""
        return self._inner.embed([self._redact(text) for text in texts])


def _remote(
    settings: EmbedderSettings, *, api_key: str, redact: Callable[[str], str], timeout_ms: int
) -> Embedder:
    from tacit.providers.embedding.http import OLLAMA, OPENAI, RemoteEmbedder  # noqa: PLC0415 - loads only its own
    from tacit.providers.json_client import JsonClient  # noqa: PLC0415

    dialect = OLLAMA if settings.provider == "ollama" else OPENAI
    model = settings.model or dialect.model
    base_name = model.partition(":")[0] if dialect is OLLAMA else model  # its names have a tag
    return RemoteEmbedder(
        dialect,
        model=model,
        dimensions=_dimensions(settings, base_name, dialect.dimensions),
        client=JsonClient(settings.endpoint or dialect.endpoint, key=api_key, timeout_ms=timeout_ms),
        prepare=redact,
    )


def _dimensions(settings: EmbedderSettings, model: str, lengths: Mapping[str, int]) -> int:
    """The vector length: as set, else as known for `model`."""
    length = settings.dimensions or lengths.get(model, 0)
    if not length:
        raise ProviderError(
            f"The length of the vectors of {model!r} is not known.", hint="Set `embedder.dimensions` to it."
        )
    return length
