"""Find memories by the words that somebody types. In: a reader's connection, words, a filter, a scope. Out: ids with scores.

The text index holds active memories: it proposes those, and the filter is part of the same statement. Others (waiting,
superseded, forgotten, or as of another time) are read one by one. All are scored alike, by `asked_words`. Never writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from tacit.backends.sqlite.memories import asked_rows
from tacit.backends.word_matching import QueryWord, parse_query_words, word_score
from tacit.model.evidence import Hit
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter

CANDIDATES = 600
"""Active memories that the index proposes, best first by its own BM25, for one search."""
_GREATEST = "\U0010ffff"


def find_memories(
    connection: sqlite3.Connection, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
) -> tuple[Hit, ...]:
    """See the port."""
    query = _words(connection, text)
    if limit <= 0 or not query:
        return ()
    rows: list[tuple[str, str]] = []
    remaining = where
    if where.as_of_ms is None and (where.statuses is None or "active" in where.statuses):
        rows += _proposed(connection, query, replace(where, statuses=("active",)), scope)
        statuses = where.statuses or ("active", "quarantined", "superseded", "retired")
        remaining = replace(where, statuses=tuple(status for status in statuses if status != "active"))
    if remaining.as_of_ms is not None or remaining.statuses:
        rows += _all(connection, remaining, scope)
    scored = ((word_score(content, query), name) for name, content in rows)
    best = sorted(((score, name) for score, name in scored if score > 0), reverse=True)
    return tuple(Hit(memory_id=name, score=score) for score, name in best[:limit])


def _words(connection: sqlite3.Connection, text: str) -> tuple[QueryWord, ...]:
    documents = int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def frequency(word: str, begins: bool) -> int:
        row = connection.execute(
            "SELECT sum(doc) FROM text_words_terms WHERE term >= ? AND term <= ?",
            (word, word + _GREATEST if begins else word),
        ).fetchone()
        return int(row[0] or 0)

    def vocabulary() -> list[str]:
        return [row[0] for row in connection.execute("SELECT term FROM text_words_terms")]

    return parse_query_words(text, documents=documents, frequency=frequency, vocabulary=vocabulary)


def _proposed(
    connection: sqlite3.Connection, query: Sequence[QueryWord], where: MemoryFilter, scope: ScopeFilter
) -> list[tuple[str, str]]:
    terms = dict.fromkeys(
        f"{_quoted(term)}{' *' if word.begins and not word.near else ''}"
        for word in query
        for term in (word.near or (word.stem,))
    )
    _, tests, values = asked_rows(connection, where, scope)
    values |= {"match": f"words : ({' OR '.join(terms)})", "most": CANDIDATES}
    return connection.execute(
        "SELECT id, json_extract(body, '$.content') FROM"
        " (SELECT rowid AS number, rank AS place FROM text_words WHERE text_words MATCH :match)"
        f" JOIN memories USING (number) WHERE {' AND '.join(tests)} ORDER BY place, id DESC LIMIT :most",
        values,
    ).fetchall()


def _all(connection: sqlite3.Connection, where: MemoryFilter, scope: ScopeFilter) -> list[tuple[str, str]]:
    table, tests, values = asked_rows(connection, where, scope)
    name = "json_extract(body, '$.id')" if where.as_of_ms is not None else "id"
    return connection.execute(
        f"SELECT {name}, json_extract(body, '$.content') FROM {table} WHERE {' AND '.join(tests)}", values
    ).fetchall()


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
