"""The table has the last word. In: what an index proposes. Out: hits that may be seen, best first, ties by id.

A hit leaves only when SQL finds its row active, holding now, and in a scope of the filter. Never scores anything itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.backends.codec import json_list
from tacit.backends.sqlite.index.rows import Scores
from tacit.backends.sqlite.scopes import StoredScope
from tacit.model.evidence import Hit

_AHEAD = 4
"""So many more than are wanted are read in one go; where the table refuses more, it is asked again."""

IN_SCOPE = "scope IN (SELECT value FROM json_each(:scopes))"
HOLDS = "status = 'active' AND valid_from_ms <= :now AND (valid_to_ms IS NULL OR valid_to_ms > :now)"

ScoredIds = tuple[NDArray[np.bytes_], Scores]
"""What the arrays of one scope found: ids and scores, shape (k,) each."""


def numbers_of(scopes: Sequence[StoredScope]) -> str:
    """The scopes' numbers as JSON for `json_each`."""
    return json_list([scope.number for scope in scopes])


def _holding(
    connection: sqlite3.Connection,
    scopes: Sequence[StoredScope],
    numbers: Sequence[int],
    now_ms: int,
    kinds: Sequence[str] | None,
) -> dict[int, str]:
    """Ids of those of `numbers` that may be seen now."""
    # A list of parameters, in order, is read twice as fast as `json_each`: the table is asked four times for one recall.
    marks = ",".join("?" * len(numbers))
    visible = ",".join("?" * len(scopes))
    kind_condition = "" if kinds is None else f" AND kind IN ({','.join('?' * len(kinds))})"
    rows = connection.execute(
        f"SELECT number, id FROM memories WHERE number IN ({marks}) AND +scope IN ({visible}) AND status = 'active'"
        " AND valid_from_ms <= ? AND (valid_to_ms IS NULL OR valid_to_ms > ?)"
        f"{kind_condition}",
        (*sorted(numbers), *(scope.number for scope in scopes), now_ms, now_ms, *(kinds or ())),
    )
    return dict(rows.fetchall())


def best_hits(matches: Sequence[ScoredIds], limit: int) -> list[Hit]:
    """The best `limit` of what the arrays of several scopes found, ties by id, the newest first."""
    # A few dozen each: sorting them as plain values is quicker than setting up arrays for it.
    best = sorted(
        (
            (score, name)
            for ids, scores in matches
            for score, name in zip(scores.tolist(), ids.tolist(), strict=True)
        ),
        reverse=True,
    )
    return [Hit(name.decode(), score) for score, name in best[:limit]]


def confirm_scores(
    connection: sqlite3.Connection,
    scopes: Sequence[StoredScope],
    scores: dict[int, float],
    limit: int,
    now_ms: int,
    *,
    kinds: Sequence[str] | None = None,
) -> list[Hit]:
    """The best `limit` of `scores` (by row number) that the table confirms, of `kinds` (None = any); equal scores are read as a whole."""
    order = sorted(scores, key=lambda number: -scores[number])
    hits: list[Hit] = []
    start = 0
    while start < len(order) and len(hits) < limit:
        end = min(start + limit + _AHEAD, len(order))
        while end < len(order) and scores[order[end]] == scores[order[end - 1]]:
            end += 1
        ids = _holding(connection, scopes, order[start:end], now_ms, kinds)
        block = [
            Hit(memory_id=ids[number], score=scores[number]) for number in order[start:end] if number in ids
        ]
        hits += sorted(block, key=lambda hit: (hit.score, hit.memory_id), reverse=True)
        start = end
    return hits[:limit]
