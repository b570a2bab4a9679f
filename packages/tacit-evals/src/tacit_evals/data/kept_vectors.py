"""Vectors that outlive a run. In: an embedder, a folder. Out: the same vectors, those of texts seen in earlier runs from a file.

One file for each embedder's identity and precision; it holds digests of texts, never texts. A file that cannot be read is
made anew. Only for measuring: the engine keeps vectors in its store.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tacit.ports.models import Embedder, EmbedderIdentity, Vectors

DIGEST_BYTES = 16


class KeptVectors:
    """An embedder that remembers in `folder`; `save` writes what is new."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        name = re.sub(r"[^\w.-]+", "-", str(inner.identity))
        self._path = folder / f"vectors-{name}.npz"
        self._known = _read(self._path, inner.identity.dimensions)
        self._saved = len(self._known)

    @property
    def inner(self) -> Embedder:
        """The embedder that makes the vectors, behind a cache where there is one: what knows tokens is asked for by it."""
        return getattr(self._inner, "inner", self._inner)

    @property
    def identity(self) -> EmbedderIdentity:
        """That of the inner embedder."""
        return self._inner.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the inner embedder, which is asked for new texts only, each once."""
        keys = [_digest(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            embedded = self._inner.embed(list(new.values()))
            self._known |= {key: vector.copy() for key, vector in zip(new, embedded, strict=True)}
        vectors = np.empty((len(keys), self.identity.dimensions), dtype=np.float32)
        for row, key in enumerate(keys):
            vectors[row] = self._known[key]
        return vectors

    def save(self) -> int:
        """Write the file if there is anything new, whole or not at all. Returns how many vectors it holds."""
        if len(self._known) > self._saved:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(-1, DIGEST_BYTES)
            partial = self._path.with_suffix(f".{os.getpid()}.part")
            with partial.open("wb") as file:
                np.savez(file, keys=keys, vectors=np.array(list(self._known.values()), dtype=np.float32))
            partial.replace(self._path)
            self._saved = len(self._known)
        return len(self._known)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def _read(path: Path, dimensions: int) -> dict[bytes, Vectors]:
    try:
        with (
            path.open("rb") as file,
            np.load(file) as archive,
        ):  # our own handle: numpy leaves its open when a file is cut off
            keys, vectors = archive["keys"], np.asarray(archive["vectors"], dtype=np.float32)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
    if vectors.shape != (len(keys), dimensions):
        return {}
    return {key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)}
