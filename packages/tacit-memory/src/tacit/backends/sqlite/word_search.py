"""Find memories by the words that somebody types. In: a reader's connection, words, a filter, a scope. Out: ids with scores.

The text index holds active memories: it proposes those, and the filter is part of the same statement. Others (waiting,
superseded, forgotten, or as of another time) are read one by one. All are scored alike, by `word_score`. Never writes.

A word counts once per text, by its inverse document frequency (ln(1 + N / (1 + df)), N documents, df of them with the word):
whole where its stem is there, less where a longer word begins with it, less again where a word is only spelled like it.
Longer texts score a little less. Words of function count only where the query holds no others.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tacit.backends.sqlite.memories import asked_rows
from tacit.model.evidence import Hit
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.text.spelling import LEAST_PREFIX, near_words
from tacit.text.stemming import content_words, porter_stem, words_of
from tacit.text.tokens import QUERY_CHARS

CANDIDATES = 600
"""Active memories that the index proposes, best first by its own BM25, for one search."""
_GREATEST = "\U0010ffff"
MOST_WORDS = 24
NEAR_WORDS = 4
BEGINNING, MISSPELLED = 0.8, 0.6
"""What a longer word, and a word spelled alike, count for."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWord:
    """A word of a query.

    Attributes:
        stem: as the index holds it.
        begins: whether longer words that begin with it count.
        near: stems that it may be a misspelling of.
        weight: its inverse document frequency.
    """

    stem: str
    begins: bool
    near: frozenset[str]
    weight: float


def parse_query_words(
    text: str,
    *,
    documents: int,
    frequency: Callable[[str, bool], int],
    vocabulary: Callable[[], Iterable[str]],
) -> tuple[QueryWord, ...]:
    """The words of a query.

    Args:
        text: what was typed.
        documents: how many there are.
        frequency: how many hold a stem; with True, a word that begins with it.
        vocabulary: all stems; asked for only where a word is in no document.
    """
    head = text[:QUERY_CHARS]
    words = content_words(head) or tuple(dict.fromkeys(words_of(head)))
    query_words: list[QueryWord] = []
    stems_known: tuple[str, ...] | None = None
    for word in words[:MOST_WORDS]:
        root = porter_stem(word)
        begins = root.isalpha() and len(root) >= LEAST_PREFIX
        document_count = frequency(root, begins)
        near: tuple[str, ...] = ()
        if not document_count:
            stems_known = tuple(vocabulary()) if stems_known is None else stems_known
            near = near_words(word, stems_known, limit=NEAR_WORDS)
            document_count = sum(frequency(stem, False) for stem in near)
        weight = math.log1p(documents / (1 + document_count))
        query_words.append(QueryWord(stem=root, begins=begins, near=frozenset(near), weight=weight))
    return tuple(query_words)


def word_score(content: str, query_words: Sequence[QueryWord]) -> float:
    """Score how well `content` holds the words; 0 = it holds none."""
    stems = stems_of(content)
    total = 0.0
    for word in query_words:
        if word.stem in stems:
            total += word.weight
        elif word.begins and any(stem.startswith(word.stem) for stem in stems):
            total += BEGINNING * word.weight
        elif word.near & stems:
            total += MISSPELLED * word.weight
    return total / (1 + math.log1p(len(stems)) / 10)


@lru_cache(maxsize=8192)
def stems_of(content: str) -> frozenset[str]:
    """The stems of all words of a text."""
    return frozenset(porter_stem(word) for word in words_of(content))
