"""Computes the vector of a memory: the vector of its statement, moved toward the vectors of its `when` phrases.

    v = content + PHRASE_WEIGHT * mean(phrases), scaled to length 1

In: memories, an embedder. Out: unit rows. A phrase is worded as a person or an agent would put the need (`where should this command
go`), so prompts lie nearer to it than to the statement. One vector for both finds more than phrases with rows of their own:
ADR 54 has the measurement. Never reads or writes a store.

The language of a text, if the embedder was not trained on it. In: an embedder, a text. Out: the name of the language.

The vector of such a text does not represent its meaning: with the shipped model any two Chinese statements are closer than two English ones on the
same subject. So the vector is no evidence, and only words count. An embedder that does not declare its languages is expected to read all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from tacit.model.memory import Memory
from tacit.ports.models import Embedder, Vectors
from tacit.text.natural_language import NAMES, natural_language_of

PHRASE_WEIGHT = 0.5
"""With this weight, the cosine between a memory's vector and that of its statement alone is .97 on average (ADR 54). Thresholds that
were set for the vectors of statements therefore stay valid."""
MAX_PHRASES = 8


def embedded_texts(memory: Memory) -> tuple[str, ...]:
    """Return the texts whose vectors make up the memory's vector: its statement, then its `when` phrases.

    A single `--when` of several words is kept as a topic and counts as a phrase. Topics that were made from the statement itself do not.
    """
    trigger = memory.trigger
    topics = () if trigger.maker == "local" else tuple(topic for topic in trigger.topics if " " in topic)
    return (memory.content, *dict.fromkeys((*trigger.phrases, *topics)))[: 1 + MAX_PHRASES]


def combine(rows: Vectors) -> Vectors:
    """Return a memory's unit vector from those of its `embedded_texts`: (texts, dimensions) -> (dimensions,)."""
    if len(rows) == 1:
        return rows[0]
    mixed = rows[0] + np.float32(PHRASE_WEIGHT) * rows[1:].mean(axis=0)
    return cast(Vectors, (mixed / np.linalg.norm(mixed)).astype(np.float32))


def memory_vectors(memories: Sequence[Memory], *, embedder: Embedder) -> Vectors:
    """Return the memories' vectors as unit float32 rows, shape (memories, dimensions).

    Raises:
        ProviderError: as the embedder.
    """
    texts = [embedded_texts(memory) for memory in memories]
    rows = embedder.embed([text for group in texts for text in group])
    if all(len(group) == 1 for group in texts):
        return rows
    ends = np.cumsum([len(group) for group in texts])
    return np.stack([combine(rows[end - len(group) : end]) for group, end in zip(texts, ends, strict=True)])


def unread_language(embedder: Embedder, text: str) -> str:
    """Return the name of the language of `text` ("Chinese") if `embedder` does not read it; "" = it does."""
    languages = languages_read(embedder)
    if languages is None:
        return ""
    code = natural_language_of(text)
    return "" if code in languages else NAMES[code]


def languages_read(embedder: Embedder) -> frozenset[str] | None:
    """Return the codes of the natural languages that an embedder reads; None = it does not declare them."""
    return getattr(getattr(embedder, "inner", embedder), "languages", None)
