"""The cache: what it keeps, for how long, and that it never changes an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ProviderError
from tacit.ports.models import Vectors
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import CachedEmbedder, FakeEmbedder


def test_a_known_text_is_not_asked_again() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, entries=10, ttl_s=60)
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
    cached = CachedEmbedder(inner, entries=2, ttl_s=60)
    for text in ("a", "b", "a", "c"):
        cached.embed([text])
    assert inner.texts == 3
    cached.embed(["a", "c"])
    assert inner.texts == 3
    cached.embed(["b"])
    assert inner.texts == 4


class FailingEmbedder(FakeEmbedder):
    error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self.error is not None:
            raise self.error
        return super().embed(texts)


def test_a_failure_is_not_kept() -> None:
    inner = FailingEmbedder()
    cached = CachedEmbedder(inner, entries=10, ttl_s=60)
    inner.error = ProviderError("no model")
    with pytest.raises(ProviderError, match="no model"):
        cached.embed(["a"])
    inner.error = None
    assert np.array_equal(cached.embed(["a"]), FakeEmbedder().embed(["a"]))


@given(
    asked=st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=12), entries=st.integers(1, 4)
)
def test_the_cache_never_changes_an_answer(asked: list[list[str]], entries: int) -> None:
    cached = CachedEmbedder(FakeEmbedder(), entries=entries, ttl_s=60)
    for texts in asked:
        assert np.array_equal(cached.embed(texts), FakeEmbedder().embed(texts))
