"""Models that turn texts into vectors, and `make_embedder`, which picks one from the settings.

In: the embedder section of the settings. Out: an `Embedder` that loads its model at first use. Never reads the environment, but for
the installed packages where one of them provides the embedder.

`CachedEmbedder` keeps the vectors of recent texts by digests of the texts, never the texts.

`FakeEmbedder` needs no model, for tests and for `provider: fake`: texts that share words lie close together.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from tacit.config.plugins import EMBEDDERS
from tacit.config.settings import EmbedderSettings
from tacit.errors import ProviderError
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder, EmbedderFactory, EmbedderIdentity, Vectors
from tacit.providers.clock import SystemClock
from tacit.text.tokens import CODE_WORD


class CachedEmbedder:
    """An embedder that caches the vectors of another one: at most `entries` (the least recently used is dropped first), each for `ttl_s` seconds. Safe to share between threads."""

    def __init__(self, inner: Embedder, *, entries: int, ttl_s: float, clock: Clock | None = None) -> None:
        self._inner = inner
        self._entries = entries
        self._ttl_ms = ttl_s * 1000
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[float, Vectors]] = OrderedDict()

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the identity of the wrapped embedder."""
        return self._inner.identity

    @property
    def inner(self) -> Embedder:
        """Return the wrapped embedder."""
        return self._inner

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of `texts`, from the cache or from the wrapped embedder. Nothing is cached if that fails.

        Raises:
            ProviderError: as the wrapped embedder.
        """
        text_of, now = {_digest(text): text for text in texts}, self._clock.monotonic_ms()
        with self._lock:
            found = {
                key: self._kept[key] for key in text_of if key in self._kept and now < self._kept[key][0]
            }
        missing = [key for key in text_of if key not in found]
        if missing:
            made, expires = self._inner.embed([text_of[key] for key in missing]), now + self._ttl_ms
            # A row alone, not the whole batch.
            found |= {key: (expires, row.copy()) for key, row in zip(missing, made, strict=True)}
        with self._lock:
            for key, entry in found.items():
                self._kept[key] = entry
                self._kept.move_to_end(key)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)
        out = np.empty((len(texts), self.identity.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            out[row] = found[_digest(text)][1]
        return out


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class FakeEmbedder:
    """An embedder for tests: a hashed bag of words with signed buckets (feature hashing, Weinberger et al. 2009). The same words give the same direction."""

    def __init__(self, *, dimensions: int = 384) -> None:
        self._identity = EmbedderIdentity(name="fake-hashed-words@1", dimensions=dimensions)
        self.calls = 0
        self.texts = 0

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the name and the vector length."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit float32 vectors, shape (len(texts), dimensions). Count the call in `calls` and the texts in `texts`."""
        self.calls += 1
        self.texts += len(texts)
        out = np.zeros((len(texts), self._identity.dimensions), dtype=np.float32)
        for row, text in zip(out, texts, strict=True):
            for word, times in Counter(CODE_WORD.findall(text.lower()) or [text]).items():
                digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                index = int.from_bytes(digest[:4], "little") % self._identity.dimensions
                row[index] += times**0.5 * (1 if digest[4] & 1 else -1)
            norm = float(np.linalg.norm(row))
            if norm == 0.0:  # two words fell into one bucket and cancelled out
                row[0] = norm = 1.0
            np.divide(row, norm, out=row)
        return out

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        """Return 1 for each word of `text` that the other text contains, else 0; shape (len(others), words of `text`)."""
        query_words = CODE_WORD.findall(text.lower())
        word_sets = [set(CODE_WORD.findall(other.lower())) for other in others]
        rows = [[float(word in words) for word in query_words] for words in word_sets]
        return np.array(rows, dtype=np.float32).reshape(len(others), len(query_words))


__all__ = ["CachedEmbedder", "FakeEmbedder", "make_embedder", "waits_for_server"]

CACHE_ENTRIES, CACHE_TTL_S = 1024, 3600
"""How many vectors are cached, and for how many seconds."""
TIMEOUT_MS = 5000
"""Milliseconds for one request to a server."""
LOCAL = ("minilm", "onnx", "fake")


def waits_for_server(settings: EmbedderSettings) -> bool:
    """Whether the embedder of `settings` may have to wait for a server, so that recall must not wait for it.

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
) -> Embedder:
    """Make the embedder that `settings` name, behind a cache. No model is loaded, and no server asked, before its first text.

    Args:
        settings: the `embedder` section.
        api_key: the value of the variable that `settings.api_key_env` names.
        redact: applied to every text that goes to a server or to another package's code; local models see the text as it is.
        clock: measures the age of cached vectors; the system's by default.
        cache_entries: vectors kept in memory; 0 = no cache.

    Raises:
        ProviderError: if the provider cannot be used as configured.
    """
    embedder = _make(settings, api_key=api_key, redact=redact)
    if cache_entries == 0:
        return embedder
    return CachedEmbedder(embedder, entries=cache_entries, ttl_s=CACHE_TTL_S, clock=clock)


def _make(settings: EmbedderSettings, *, api_key: str, redact: Callable[[str], str] | None) -> Embedder:
    match settings.provider:
        case "minilm":
            from tacit.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - each provider loads only its own

            return MiniLM()
        case "fake":
            return FakeEmbedder()
        case "onnx":
            from tacit.providers.embedding.onnx_dir import OnnxFolder  # noqa: PLC0415

            return OnnxFolder(Path(settings.model).expanduser())
        case "openai" | "ollama":
            return _remote(settings, api_key=api_key, redact=redact or str)
        case name:
            make = cast("EmbedderFactory", EMBEDDERS.load(name))
            return _RedactedEmbedder(make(settings, api_key=api_key), redact or str)


class _RedactedEmbedder:
    """An embedder that redacts texts before it passes them to the embedder of another package, which may send them anywhere."""

    def __init__(self, inner: Embedder, redact: Callable[[str], str]) -> None:
        self._inner = inner
        self._redact = redact

    @property
    def identity(self) -> EmbedderIdentity:
        """Return the identity of the wrapped embedder."""
        return self._inner.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of the redacted texts."""
        return self._inner.embed([self._redact(text) for text in texts])


def _remote(settings: EmbedderSettings, *, api_key: str, redact: Callable[[str], str]) -> Embedder:
    from tacit.providers.embedding.http import OLLAMA, OPENAI, RemoteEmbedder  # noqa: PLC0415 - loads only its own
    from tacit.providers.json_client import JsonClient, bearer  # noqa: PLC0415

    dialect = OLLAMA if settings.provider == "ollama" else OPENAI
    model = settings.model or dialect.model
    base_name = model.partition(":")[0] if dialect is OLLAMA else model  # its names have a tag
    return RemoteEmbedder(
        dialect,
        model=model,
        dimensions=_dimensions(settings, base_name, dialect.dimensions),
        client=JsonClient(
            settings.endpoint or dialect.endpoint, headers=bearer(api_key), timeout_ms=TIMEOUT_MS
        ),
        prepare=redact,
    )


def _dimensions(settings: EmbedderSettings, model: str, lengths: Mapping[str, int]) -> int:
    """Return the length of the vectors: that of the settings, else the one that `lengths` has for `model`. Raises ProviderError if neither says it."""
    length = settings.dimensions or lengths.get(model, 0)
    if not length:
        raise ProviderError(
            f"The length of the vectors of {model!r} is not known.", hint="Set `embedder.dimensions` to it."
        )
    return length
