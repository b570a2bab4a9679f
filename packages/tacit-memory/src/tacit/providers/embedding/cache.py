"""Remembers vectors of recent texts, and makes threads that ask for the same text wait for one answer.

In: another embedder. Out: the same vectors. Keeps digests, never texts.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future

import numpy as np

from tacit.errors import ProviderError
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder, EmbedderIdentity, Vectors
from tacit.providers.clock import SystemClock

_Promise = Future[Vectors]


class CachedEmbedder:
    """An embedder with a memory of `entries` vectors (the longest unused goes first), each for `ttl_s` seconds."""

    def __init__(self, inner: Embedder, *, entries: int, ttl_s: float, clock: Clock | None = None) -> None:
        self._inner = inner
        self._entries = entries
        self._ttl_ms = ttl_s * 1000
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[float, Vectors]] = OrderedDict()
        self._promised: dict[bytes, _Promise | None] = {}  # None = nobody else waits for it yet

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity of the inner embedder."""
        return self._inner.identity

    @property
    def inner(self) -> Embedder:
        """The embedder that makes the vectors."""
        return self._inner

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the inner embedder; each distinct text is asked of it at most once at a time.

        Raises:
            ProviderError: as the inner embedder; all who wait for that text get the same error, nothing is kept.
        """
        keys = [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts
        ]
        vectors, waiting, mine = self._claim(keys)
        if mine:
            vectors |= self._compute(
                {key: text for key, text in zip(keys, texts, strict=True) if key in mine}
            )
        for (
            key,
            promise,
        ) in waiting.items():  # after our own work, so that two callers never wait for each other
            vectors[key] = promise.result()
        out = np.empty((len(texts), self.identity.dimensions), dtype=np.float32)
        for row, key in enumerate(keys):
            out[row] = vectors[key]
        return out

    def _claim(self, keys: Sequence[bytes]) -> tuple[dict[bytes, Vectors], dict[bytes, _Promise], set[bytes]]:
        """Split the keys: known; being made by another thread; ours to make."""
        vectors: dict[bytes, Vectors] = {}
        waiting: dict[bytes, _Promise] = {}
        mine: set[bytes] = set()
        with self._lock:
            now = self._clock.monotonic_ms()
            for key in dict.fromkeys(keys):
                cached = self._kept.get(key)
                if cached is not None and now < cached[0]:
                    self._kept.move_to_end(key)
                    vectors[key] = cached[1]
                elif key in self._promised:
                    promise = waiting[key] = self._promised[key] or Future()
                    self._promised[key] = promise
                else:
                    mine.add(key)
                    self._promised[key] = None
        return vectors, waiting, mine

    def _compute(self, texts: dict[bytes, str]) -> dict[bytes, Vectors]:
        failure: ProviderError | None = None
        vectors: dict[bytes, Vectors] = {}
        try:
            vectors = dict(zip(texts, self._inner.embed(list(texts.values())), strict=True))
        except ProviderError as error:
            failure = error
            raise
        finally:
            with self._lock:
                expires = self._clock.monotonic_ms() + self._ttl_ms
                for key in texts:
                    promise = self._promised.pop(key)
                    if key in vectors:
                        self._kept[key] = (expires, vectors[key].copy())  # a row alone, not the whole batch
                    if promise is None:
                        continue
                    if key in vectors:
                        promise.set_result(vectors[key])
                    else:
                        promise.set_exception(failure or ProviderError("The embedding was interrupted."))
                while len(self._kept) > self._entries:
                    self._kept.popitem(last=False)
        return vectors
