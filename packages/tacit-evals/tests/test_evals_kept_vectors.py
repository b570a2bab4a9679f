"""Vectors of an earlier run are used again, and are the same."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.providers.embedding import FakeEmbedder
from tacit.providers.embedding.cache import CachedEmbedder
from tacit.recall.spaces import token_matches_of
from tacit_evals.data.kept_vectors import KeptVectors


class Counting:
    """A fake embedder that tells what it was asked."""

    def __init__(self, dimensions=64):
        self._inner = FakeEmbedder(dimensions=dimensions)
        self.identity = self._inner.identity
        self.asked = []

    def embed(self, texts):
        self.asked += texts
        return self._inner.embed(texts)


def test_each_text_is_embedded_once_whatever_the_run(tmp_path):
    first, second = Counting(), Counting()
    kept = KeptVectors(first, tmp_path / "new")
    made = kept.embed(["a b", "c d", "a b"])
    assert first.asked == ["a b", "c d"]
    assert kept.save() == 2
    again = KeptVectors(second, tmp_path / "new")
    assert np.array_equal(again.embed(["a b", "c d", "a b"]), made)
    assert second.asked == []
    assert np.array_equal(made, FakeEmbedder(dimensions=64).embed(["a b", "c d", "a b"]))
    assert again.identity == first.identity


def test_nothing_new_writes_nothing_and_no_text_is_in_the_file(tmp_path):
    kept = KeptVectors(Counting(), tmp_path)
    assert kept.save() == 0
    assert list(tmp_path.iterdir()) == []
    kept.embed(["secret words"])
    kept.save()
    (file,) = tmp_path.iterdir()
    assert b"secret" not in file.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no file of vectors", b"PK\x03\x04 cut off"])
def test_a_file_that_cannot_be_read_is_made_anew(tmp_path, content):
    kept = KeptVectors(Counting(), tmp_path)
    kept.embed(["one"])
    kept.save()
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    embedder = Counting()
    again = KeptVectors(embedder, tmp_path)
    again.embed(["one"])
    assert embedder.asked == ["one"]
    assert again.save() == 1


def test_vectors_of_another_length_are_not_taken(tmp_path):
    kept = KeptVectors(Counting(), tmp_path)
    kept.embed(["one"])
    kept.save()
    (file,) = tmp_path.iterdir()
    other = Counting(dimensions=32)
    name = KeptVectors(other, tmp_path)
    name._path.write_bytes(file.read_bytes())
    assert KeptVectors(other, tmp_path).embed(["one"]).shape == (1, 32)


def test_what_knows_tokens_is_found_behind_both_caches(tmp_path):
    behind = FakeEmbedder(dimensions=64)
    kept = KeptVectors(CachedEmbedder(behind, entries=10, ttl_s=60), tmp_path)
    assert kept.inner is behind
    assert KeptVectors(behind, tmp_path).inner is behind
    assert (token_matches_of(kept) is None) == (token_matches_of(behind) is None)
