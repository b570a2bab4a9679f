"""Ask the text indexes. In: words chosen by how rare they are. Out: hits by BM25.

Scores are Okapi BM25 as FTS5 computes it (k1 = 1.2, b = 0.75), negated so that higher is better. Its idf,
ln((N - n + 0.5) / (n + 0.5)), is set to 0.000001 by FTS5 when a word stands in more than half of the documents, which in a
store of ten memories is most words. In a small index the scores are therefore made with ln(1 + ...), which is never
negative and equal to the other for rare words. Never turns words into syntax.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from tacit.backends.sqlite.confirm import SPARE, confirm_scores
from tacit.backends.sqlite.index.terms import TextIndex, any_word, within
from tacit.backends.sqlite.scopes import StoredScope
from tacit.model.evidence import Hit

SMALL_DOCUMENTS = 2000
"""Up to this row number the words are asked for one by one and weighed here."""

_LEAST_IDF = 1e-6


def match_words(
    connection: sqlite3.Connection,
    index: TextIndex,
    words: Sequence[str],
    *,
    scopes: Sequence[StoredScope],
    limit: int,
    now_ms: int,
) -> list[Hit]:
    """The best `limit` documents in `scopes` that hold any of `words`."""
    last = connection.execute("SELECT max(memory) FROM documents").fetchone()[0] or 0
    if last <= SMALL_DOCUMENTS:
        scores = _weigh(connection, index, words, scopes)
        return confirm_scores(connection, scopes, scores, limit, now_ms)
    expression = within(scopes, any_word(index, words))
    return _match(connection, index, expression, scopes=scopes, limit=limit, now_ms=now_ms)


def _weigh(
    connection: sqlite3.Connection, index: TextIndex, words: Sequence[str], scopes: Sequence[StoredScope]
) -> dict[int, float]:
    """Scores by row number: FTS5's own, word by word, with its idf exchanged."""
    documents = int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
    scores: dict[int, float] = {}
    for word in words:
        asked = any_word(index, [word])
        holding = int(
            connection.execute(
                f"SELECT count(*) FROM text_{index} WHERE text_{index} MATCH ?", (asked,)
            ).fetchone()[0]
        )
        odds = (documents - holding + 0.5) / (holding + 0.5)
        theirs = math.log(odds)
        factor = math.log1p(odds) / (theirs if theirs > 0 else _LEAST_IDF)
        rows = connection.execute(
            f"SELECT rowid, rank FROM text_{index} WHERE text_{index} MATCH ?", (within(scopes, asked),)
        )
        for number, rank in rows:
            scores[number] = scores.get(number, 0.0) - rank * factor
    return scores


def _match(
    connection: sqlite3.Connection,
    index: TextIndex,
    expression: str,
    *,
    scopes: Sequence[StoredScope],
    limit: int,
    now_ms: int,
) -> list[Hit]:
    """Ask the text index for more and more until the table confirms `limit` hits or nothing is left."""
    asked = limit + SPARE
    while True:
        rows = connection.execute(
            f"SELECT rowid, rank FROM text_{index} WHERE text_{index} MATCH ? ORDER BY rank LIMIT ?",
            (expression, asked),
        ).fetchall()
        scores = {int(number): -float(rank) for number, rank in rows}
        # At the cut, equal scores may have been left out by the index's own order; ids decide, so look further.
        tie = len(rows) == asked and rows[-1][1] == rows[min(limit, len(rows)) - 1][1]
        hits = confirm_scores(connection, scopes, scores, limit, now_ms)
        if len(rows) < asked or (len(hits) == limit and not tie):
            return hits
        asked *= 4
