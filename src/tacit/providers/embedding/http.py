"""What embedders behind a server have in common: texts they accept, batches, and the check of what they answer.

In: texts, replies. Out: texts, unit vectors. Asks nobody itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tacit.errors import ProviderError
from tacit.ports.models import Vectors


def sendable(text: str, *, most_chars: int) -> str:
    """`text` as servers accept it: valid Unicode without NUL, not blank, and not longer than `most_chars`."""
    clean = text[:most_chars].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return clean if clean.strip() else "."


def embed_distinct(
    texts: Sequence[str],
    ask: Callable[[list[str]], Vectors],
    *,
    dimensions: int,
    batch: int,
    prepare: Callable[[str], str],
) -> Vectors:
    """Ask for each distinct text once, `batch` prepared texts at a time, and put the rows in the order of `texts`."""
    place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    ready = [prepare(text) for text in place]
    parts = [ask(ready[start : start + batch]) for start in range(0, len(ready), batch)]
    rows = np.concatenate([np.empty((0, dimensions), dtype=np.float32), *parts])
    return rows[[place[text] for text in texts]]


def unit_rows(rows: object, *, count: int, dimensions: int, server: str) -> Vectors:
    """Check and normalise the vectors of a reply: shape (count, dimensions), float32, length 1.

    Raises:
        ProviderError: if there are more or fewer rows, of another length, not numbers, or all zero.
    """
    hint = "Set `embedder.dimensions` to the length of this model's vectors."
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProviderError(
            f"{server} answered with vectors that are not numbers of one length.", hint=hint
        ) from error
    if array.shape != (count, dimensions):
        raise ProviderError(
            f"{server} answered with vectors of shape {array.shape}, expected ({count}, {dimensions}).",
            hint=hint,
        )
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0.0):
        raise ProviderError(
            f"{server} answered with a vector that has no direction (zero, infinite or not a number)."
        )
    return (array / lengths).astype(np.float32)
