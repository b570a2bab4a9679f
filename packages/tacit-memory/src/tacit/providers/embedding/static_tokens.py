"""Token vectors without a forward pass: the input embeddings of the shipped model, centred and without their main direction.

In: texts. Out: how well the tokens of one are matched by those of others. Input embeddings share one strong direction that
says how frequent a token is; taking the mean and the first principal component away leaves the meaning. Source: Mu and
Viswanath, All-but-the-top, ICLR 2018. Both ship as `fitted/token_axes.json` (`scripts/build_token_axes.py`), with the lengths that are left, and the 8-bit
rows stay in the model's file, mapped: there is no table to build and none to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput, ProviderError
from tacit.fitted import load_fitted, values_of
from tacit.ports.models import Vectors
from tacit.providers.embedding.wordpiece import WordPiece

Ids = NDArray[np.int32] | NDArray[np.intp]

MAX_TOKENS = 256
KEPT_TEXTS = 4096
_LEAST_LENGTH = np.float32(1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInModel:
    """The place of the table of input embeddings in the model's file: its first byte, (tokens, dimensions)."""

    at: int
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenAxes:
    """The directions that the token vectors of the shipped model share.

    Attributes:
        rows: their place.
        zero, scale: a value is its byte less `zero`, times `scale`.
        mean, direction: what is taken away from each.
        lengths: what is left of each then, as little-endian numbers of half precision.
    """

    rows: TableInModel
    zero: float
    scale: float
    mean: tuple[float, ...]
    direction: tuple[float, ...]
    lengths: bytes


class StaticTokens:
    """The token vectors of one model. What it remembers only saves time; safe to share between threads.

    A row q of the table stands for the vector x = (q - zero) * scale - mean, projected to p = x - (x . d) d. For an asked
    token t of unit length, which is orthogonal to d, p . t = scale * (q . t) - (zero * scale + mean) . t.
    """

    def __init__(self, folder: Path, tokenizer: WordPiece) -> None:
        self._tokenizer = tokenizer
        self._ids = lru_cache(maxsize=KEPT_TEXTS)(self._encode)
        axes = shipped_axes()
        self._rows = map_rows(folder)
        self._scale = np.float32(axes.scale)
        self._direction = np.array(axes.direction, np.float32)
        self._middle: Vectors = np.float32(axes.zero) * self._scale + np.array(axes.mean, np.float32)
        lengths = np.frombuffer(axes.lengths, "<f2").astype(np.float32)
        self._lengths: Vectors = np.maximum(lengths, _LEAST_LENGTH)

    def vectors(self, ids: Ids) -> Vectors:
        """Unit float32 rows, shape (len(ids), dimensions)."""
        plain = self._rows[ids].astype(np.float32)
        plain *= self._scale
        plain -= self._middle
        plain -= (plain @ self._direction)[:, None] * self._direction
        lengths: Vectors = np.maximum(np.sqrt(np.einsum("ij,ij->i", plain, plain)), _LEAST_LENGTH)
        plain /= lengths[:, None]
        return plain

    def matches(self, text: str, others: Sequence[str]) -> Vectors:
        """Best cosine (0 to 1) of each token of `text` in each of `others`, shape (len(others), tokens of `text`)."""
        ids = self._ids(text)
        token_ids = [self._ids(other) for other in others]
        out = np.zeros((len(others), len(ids)), dtype=np.float32)
        rows = [row for row, ids in enumerate(token_ids) if len(ids)]
        if not len(ids) or not rows:
            return out
        # The same tokens come again and again: each distinct one is compared once.
        all_ids = np.concatenate([token_ids[row] for row in rows])
        present = np.zeros(len(self._rows), np.bool_)
        present[all_ids] = True
        distinct = present.nonzero()[0]
        place_of = np.empty(len(present), np.int32)
        place_of[distinct] = np.arange(len(distinct), dtype=np.int32)
        cosines = self._cosines(distinct, ids)
        starts = [*accumulate((len(token_ids[row]) for row in rows[:-1]), initial=0)]
        out[rows] = np.maximum.reduceat(cosines[place_of[all_ids]], starts, axis=0)
        np.maximum(out, 0.0, out=out)
        return np.minimum(out, 1.0, out=out)

    def _cosines(self, ids: Ids, query: Ids) -> Vectors:
        """Cosines of the tokens `ids` with those of `query`, shape (ids, query)."""
        query_vectors = self.vectors(query).T
        plain = self._rows[ids].astype(np.float32)
        cosines = cast(Vectors, plain @ (query_vectors * self._scale))
        cosines -= self._middle @ query_vectors
        cosines /= self._lengths[ids, None]
        return cosines

    def _encode(self, text: str) -> NDArray[np.int32]:
        return np.array(self._tokenizer.encode(text, max_tokens=MAX_TOKENS)[1:-1], dtype=np.int32)


def shipped_axes() -> TokenAxes:
    """Load the axes that ship.

    Raises:
        ProviderError: if the file cannot be used.
    """
    try:
        return load_fitted("token_axes", TokenAxes, values_of)
    except InvalidInput as error:
        raise ProviderError(error.message, hint="Reinstall Tacit.") from error


@lru_cache(maxsize=1)
def map_rows(folder: Path) -> NDArray[np.uint8]:
    """The rows of the table, shape (tokens, dimensions), read from the file where they are looked at.

    One mapping for all callers: pages of a second one would count again as memory of this process.

    Raises:
        ProviderError: if the file of axes or the model cannot be read.
    """
    table, model = shipped_axes().rows, folder / "model.onnx"
    try:
        mapped = np.memmap(model, np.uint8, "r", offset=table.at, shape=table.shape)
    except (OSError, ValueError) as error:
        raise ProviderError(f"The model {model} cannot be read: {error}", hint="Reinstall Tacit.") from error
    return np.asarray(mapped)  # picking rows of numpy's type for mapped files is slower
