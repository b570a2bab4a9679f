"""An embedder without a model, for tests and for `provider: fake`.

In: texts. Out: unit vectors in which texts that share words lie close together. Never loads, reads or calls anything.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.text.tokens import CODE_WORD


class FakeEmbedder:
    """Hashed bag of words with signed buckets (feature hashing, Weinberger et al. 2009): same words, same direction."""

    def __init__(self, *, dimensions: int = 384) -> None:
        self._identity = EmbedderIdentity(name="fake-hashed-words@1", dimensions=dimensions)
        self.calls = 0
        self.texts = 0

    @property
    def identity(self) -> EmbedderIdentity:
        """Name and vector length."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit float32 vectors, shape (len(texts), dimensions). `calls` and `texts` count what was asked for."""
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
        """1 for each word of `text` that the other text holds, else 0."""
        query_words = CODE_WORD.findall(text.lower())
        word_sets = [set(CODE_WORD.findall(other.lower())) for other in others]
        rows = [[float(word in words) for word in query_words] for words in word_sets]
        return np.array(rows, dtype=np.float32).reshape(len(others), len(query_words))
