"""The fake embedder: same words, same direction."""

from __future__ import annotations

from tacit.providers.embedding import FakeEmbedder


def test_texts_that_share_words_are_similar() -> None:
    vectors = FakeEmbedder().embed(["run the tests", "please run the tests now", "cook a soup"])
    assert vectors[0] @ vectors[1] > 0.6
    assert vectors[0] @ vectors[2] < 0.3


def test_it_counts_what_was_asked() -> None:
    fake = FakeEmbedder()
    fake.embed(["a", "b"])
    fake.embed([])
    assert (fake.calls, fake.texts) == (2, 2)


def test_it_is_the_same_in_every_process() -> None:
    row = FakeEmbedder(dimensions=4).embed(["one two three"])[0]
    assert [round(float(value), 4) for value in row] == [0.5774, 0.5774, -0.5774, 0.0]
