"""The best memories that may be shown. In: numbers of memories with scores, a scope. Out: ids. Never scores anything.

PostgreSQL sends the scores of all candidates as arrays, and they are sorted here. This takes half of the database's time for grouping and sorting
them itself. Only the best candidates are then looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

HOLDS = "valid_from_ms <= %(now_ms)s AND (valid_to_ms IS NULL OR valid_to_ms > %(now_ms)s)"
OF_KINDS = " AND kind = ANY(%(kinds)s)"
_SHOWN = f"""
    SELECT number, id FROM memories
    WHERE tenant = %(tenant)s AND status = 'active' AND scope = ANY(%(scopes)s)
        AND number = ANY(%(numbers)s) AND {HOLDS}"""
_GROWTH = 4
"""Each further batch of lookups is this many times as large as the one before."""


class Shown(NamedTuple):
    """A memory that may be shown: its number in the store, its id, its score."""

    number: int
    id: str
    score: float


def _best_last(shown: Shown) -> tuple[float, str]:
    return shown.score, shown.id


def shown_ids(
    transaction: Transaction, numbers: NDArray[np.int64], values: Mapping[str, object]
) -> dict[int, str]:
    """Return the ids of those memories that may be shown, by number. `values` has `scopes`, `now_ms` and `kinds` (None = all)."""
    statement = _SHOWN if values["kinds"] is None else _SHOWN + OF_KINDS
    rows = transaction.rows(statement, {**values, "numbers": numbers.tolist()})
    return {number: str(name) for number, name in rows}


def best_shown(
    transaction: Transaction,
    numbers: NDArray[np.int64],
    scores: NDArray[np.float64],
    values: Mapping[str, object],
    *,
    limit: int,
) -> list[Shown]:
    """Return the `limit` memories with the highest scores among those that may be shown, ties by id.

    Args:
        transaction: looks up the memories.
        numbers: the candidates, shape (candidates,).
        scores: their scores, shape (candidates,).
        values: `scopes`, `now_ms` and `kinds` (None = all).
        limit: the largest number of results.
    """
    order = np.argsort(-scores, kind="stable")
    numbers, scores = numbers[order], scores[order]
    best: list[Shown] = []
    begin, size = 0, limit
    while begin < len(numbers) and len(best) < limit:
        last = min(begin + size, len(numbers)) - 1
        end = int(np.count_nonzero(scores >= scores[last]))  # memories with equal scores stay together
        ids = shown_ids(transaction, numbers[begin:end], values)
        batch: list[Shown] = []
        for place in range(begin, end):
            number = int(numbers[place])
            if number in ids:
                batch.append(Shown(number, ids[number], float(scores[place])))
        best += sorted(batch, key=_best_last, reverse=True)
        begin, size = end, size * _GROWTH
    return best[:limit]
