"""The cache: what it keeps, for how long, and that threads share one answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ProviderError
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import CachedEmbedder, FakeEmbedder


class SlowEmbedder:
    """Waits for `go` before it answers; fails when told to."""

    def __init__(self) -> None:
        self.inner = FakeEmbedder(dimensions=8)
        self.entered = threading.Event()
        self.go = threading.Event()
        self.error: Exception | None = None
        self.asked: list[str] = []

    @property
    def identity(self) -> EmbedderIdentity:
        return self.inner.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        self.entered.set()
        assert self.go.wait(30)
        if self.error is not None:
            raise self.error
        return self.inner.embed(texts)


def test_a_known_text_is_not_asked_again() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, entries=10, ttl_s=60, clock=FakeClock())
    first = cached.embed(["a", "b", "a"])
    second = cached.embed(["b", "c", "a"])
    assert inner.texts == 3
    assert np.array_equal(second[[2, 0]], first[[0, 1]])


def test_a_vector_expires() -> None:
    inner, clock = FakeEmbedder(), FakeClock()
    cached = CachedEmbedder(inner, entries=10, ttl_s=60, clock=clock)
    cached.embed(["a"])
    clock.advance(59_999)
    cached.embed(["a"])
    assert inner.texts == 1
    clock.advance(1)
    cached.embed(["a"])
    assert inner.texts == 2


def test_the_longest_unused_goes_first() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, entries=2, ttl_s=60, clock=FakeClock())
    for text in ("a", "b", "a", "c"):
        cached.embed([text])
    assert inner.texts == 3
    cached.embed(["a", "c"])
    assert inner.texts == 3
    cached.embed(["b"])
    assert inner.texts == 4


def test_threads_share_one_answer() -> None:
    slow = SlowEmbedder()
    cached = CachedEmbedder(slow, entries=10, ttl_s=60)
    with ThreadPoolExecutor(max_workers=3) as pool:
        first = pool.submit(cached.embed, ["a", "b"])
        assert slow.entered.wait(30)
        others = [pool.submit(cached.embed, ["b"]), pool.submit(cached.embed, ["a"])]
        slow.go.set()
        results = [future.result(timeout=30) for future in (first, *others)]
    assert slow.asked == ["a", "b"]
    assert np.array_equal(results[0], np.concatenate([results[2], results[1]]))


def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    slow = SlowEmbedder()
    slow.error = ProviderError("no model")
    cached = CachedEmbedder(slow, entries=10, ttl_s=60)
    with ThreadPoolExecutor(max_workers=2) as pool:
        first = pool.submit(cached.embed, ["a"])
        assert slow.entered.wait(30)
        second = pool.submit(cached.embed, ["a"])
        slow.go.set()
        for future in (first, second):
            with pytest.raises(ProviderError, match="no model"):
                future.result(timeout=30)
    slow.error = None
    assert cached.embed(["a"]).shape == (1, 8)


def test_an_unexpected_error_leaves_nobody_waiting() -> None:
    slow = SlowEmbedder()
    slow.error = MemoryError("out of memory")
    slow.go.set()
    cached = CachedEmbedder(slow, entries=10, ttl_s=60)
    with pytest.raises(MemoryError):
        cached.embed(["a"])
    slow.error = None
    assert cached.embed(["a"]).shape == (1, 8)


@given(
    asked=st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=12), entries=st.integers(1, 4)
)
def test_the_cache_never_changes_an_answer(asked: list[list[str]], entries: int) -> None:
    cached = CachedEmbedder(FakeEmbedder(), entries=entries, ttl_s=60)
    for texts in asked:
        assert np.array_equal(cached.embed(texts), FakeEmbedder().embed(texts))
