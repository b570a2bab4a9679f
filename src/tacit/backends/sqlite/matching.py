"""Ask the text indexes. In: the words of a query. Out: hits by BM25 over its rarest words.

Scores are Okapi BM25 as FTS5 computes it (k1 = 1.2, b = 0.75), negated so that higher is better. Its idf,
ln((N - n + 0.5) / (n + 0.5)), is set to 0.000001 by FTS5 when a word stands in more than half of the documents, which in a
store of ten memories is most words. In a small index the scores are therefore made with ln(1 + ...), which is never
negative and equal to the other for rare words. Never turns words into syntax.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.backends.sqlite.confirm import confirm_scores
from tacit.backends.sqlite.index.terms import NARROW_SHARE, QueryTerms, TextIndex, any_word, within
from tacit.backends.sqlite.scopes import StoredScope
from tacit.model.evidence import Hit

SMALL_DOCUMENTS = 2000
"""Up to this row number the words are asked for one by one and weighed here."""

_LEAST_IDF = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query made ready: the rarest words, the scopes, how large the index is and what part of it is visible."""

    index: TextIndex
    words: tuple[str, ...]
    scopes: tuple[StoredScope, ...]
    documents: int
    share: float


def make_ready(
    connection: sqlite3.Connection, terms: QueryTerms, words: Sequence[str], scopes: tuple[StoredScope, ...]
) -> Asked:
    """Choose the words to ask for. May read the frequencies of all words, which takes a while in a large store."""
    documents = int(connection.execute("SELECT max(memory) FROM documents").fetchone()[0] or 0)
    share = min(1.0, sum(scope.active for scope in scopes) / max(documents, 1))
    chosen = terms.choose(connection, words, documents=documents, share=share)
    return Asked(index=terms.index, words=chosen, scopes=scopes, documents=documents, share=share)


def match_words(connection: sqlite3.Connection, asked: Asked, *, limit: int, now_ms: int) -> list[Hit]:
    """The best `limit` memories in the scopes that hold any of the words."""
    if not asked.words:
        return []
    if asked.documents <= SMALL_DOCUMENTS:
        return confirm_scores(connection, asked.scopes, _weigh(connection, asked), limit, now_ms)
    expression = any_word(asked.index, asked.words)
    if asked.share < NARROW_SHARE:
        expression = within(asked.scopes, expression)
    # All scores first (the words are chosen so that they are some hundred), then the best in the table: joining and
    # sorting all of them in SQL takes twice as long.
    rows = connection.execute(
        f"SELECT rowid, -rank FROM text_{asked.index} WHERE text_{asked.index} MATCH ?", (expression,)
    )
    return confirm_scores(connection, asked.scopes, dict(rows.fetchall()), limit, now_ms)


def _weigh(connection: sqlite3.Connection, ready: Asked) -> dict[int, float]:
    """Scores by row number: FTS5's own, word by word, with its idf exchanged."""
    documents = int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
    scores: dict[int, float] = {}
    index = ready.index
    for word in ready.words:
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
            f"SELECT rowid, rank FROM text_{index} WHERE text_{index} MATCH ?", (within(ready.scopes, asked),)
        )
        for number, rank in rows:
            scores[number] = scores.get(number, 0.0) - rank * factor
    return scores
