"""The vector of a memory: of its statement, moved toward its `when` phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from samples import memory_named
from tacit.model.scope import UNIVERSAL
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.reading.memory_vectors import MAX_PHRASES, embedded_texts, memory_vectors

AXES = {"content": 0, "one": 1, "two": 2}


class Axes:
    """Every text is an axis of its own."""

    identity = EmbedderIdentity(name="axes", dimensions=3)

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return np.eye(3, dtype=np.float32)[[AXES[text] for text in texts]]


def memory(*phrases: str):
    return replace(memory_named("mem_a", "content", scope=UNIVERSAL), trigger=Trigger(phrases=phrases))


def test_without_phrases_it_is_that_of_the_statement():
    assert memory_vectors([memory()], embedder=Axes()).tolist() == [[1.0, 0.0, 0.0]]
    assert memory_vectors([], embedder=Axes()).shape == (0, 3)


def test_phrases_move_it_by_half_of_their_mean():
    embedder = Axes()
    plain, moved = memory_vectors([memory(), memory("one", "two")], embedder=embedder)
    expected = np.array([1.0, 0.25, 0.25]) / np.sqrt(1.125)
    assert plain.tolist() == [1.0, 0.0, 0.0]
    assert moved.tolist() == pytest.approx(expected.tolist())
    assert embedder.calls == [["content", "content", "one", "two"]], "one request for all"


def test_a_topic_of_several_words_is_a_phrase_where_somebody_gave_it():
    given = replace(memory(), trigger=Trigger(topics=("import", "the import is slow"), maker="user"))
    assert embedded_texts(given) == ("content", "the import is slow")
    made = replace(given, trigger=replace(given.trigger, maker="local"))
    assert embedded_texts(made) == ("content",)


def test_only_the_first_phrases_are_embedded():
    many = memory(*(f"phrase {number}" for number in range(20)))
    assert len(embedded_texts(many)) == 1 + MAX_PHRASES
