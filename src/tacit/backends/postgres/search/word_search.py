"""Finds memories by the words that a person types. In: a transaction, words, a filter, a scope. Out: ids with scores.

Only active memories have postings. One statement reads the postings and applies the filter. All other memories (waiting, superseded, forgotten, or as of an
earlier time) that pass the filter are read in full. `word_matching` scores all of them in the same way. Never writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tacit.backends.postgres.documents import WORDS, stored_term
from tacit.backends.postgres.memories import conditions, known_then
from tacit.backends.word_matching import QueryWord, parse_query_words, word_score
from tacit.model.evidence import Hit
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

CANDIDATES = 600
"""One search reads at most this many active memories: those whose postings have the highest total weight."""
_GREATEST = "\U0010ffff"
_UNIT = 1_000_000

_FREQUENCY = """
    SELECT count(DISTINCT number) FROM postings
    WHERE tenant = %(tenant)s AND space = %(space)s AND scope = ANY(%(scopes)s)
        AND term >= %(first)s AND term <= %(last)s"""
_VOCABULARY = """
    SELECT DISTINCT term FROM terms WHERE tenant = %(tenant)s AND space = %(space)s AND scope = ANY(%(scopes)s)"""
_PROPOSED = """
    SELECT id, body::json ->> 'content' FROM (
        SELECT p.number, sum(asked.weight) AS total
        FROM unnest(%(firsts)s::text[], %(lasts)s::text[], %(weights)s::bigint[]) AS asked (first, last, weight)
        JOIN postings AS p ON p.tenant = %(tenant)s
            AND p.term >= asked.first AND p.term <= asked.last
        WHERE p.space = %(space)s AND p.scope = ANY(%(scopes)s) GROUP BY p.number
    ) AS f
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = f.number
    WHERE {tests} ORDER BY total DESC, id DESC LIMIT %(most)s"""


def find_memories(
    transaction: Transaction, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
) -> tuple[Hit, ...]:
    """See the port."""
    scopes = transaction.scopes(scope)
    if limit <= 0 or not scopes:
        return ()
    query = _words(transaction, text, scope)
    if not query:
        return ()
    rows: list[tuple[str, str]] = []
    remaining = where
    if where.as_of_ms is None and (where.statuses is None or "active" in where.statuses):
        rows += _proposed(transaction, query, replace(where, statuses=("active",)), scope)
        statuses = where.statuses or ("active", "quarantined", "superseded", "retired")
        remaining = replace(where, statuses=tuple(status for status in statuses if status != "active"))
    if remaining.as_of_ms is not None:
        rows += [(memory.id, memory.content) for memory in known_then(transaction, remaining, scope)]
    elif remaining.statuses:
        tests, values = conditions(transaction, remaining, scope)
        statement = f"SELECT id, body::json ->> 'content' FROM memories WHERE {tests}"
        rows += [(str(name), str(content)) for name, content in transaction.rows(statement, values)]
    scored = ((word_score(content, query), name) for name, content in rows)
    best = sorted(((score, name) for score, name in scored if score > 0), reverse=True)
    return tuple(Hit(memory_id=name, score=score) for score, name in best[:limit])


def _words(transaction: Transaction, text: str, scope: ScopeFilter) -> tuple[QueryWord, ...]:
    values: dict[str, object] = {"space": WORDS, "scopes": transaction.visible(scope)}

    def frequency(word: str, begins: bool) -> int:
        first = stored_term(word)
        last = first + _GREATEST if begins else first
        return transaction.number(_FREQUENCY, {**values, "first": first, "last": last})

    def vocabulary() -> list[str]:
        return [row[0] for row in transaction.rows(_VOCABULARY, values)]

    documents = sum(stored.active for stored in transaction.scopes(scope))
    return parse_query_words(text, documents=documents, frequency=frequency, vocabulary=vocabulary)


def _proposed(
    transaction: Transaction, query: Sequence[QueryWord], where: MemoryFilter, scope: ScopeFilter
) -> list[tuple[str, str]]:
    terms: dict[tuple[str, str], int] = {}
    for word in query:
        for term in sorted(word.near) or (word.stem,):
            first = stored_term(term)
            last = first + _GREATEST if word.begins and not word.near else first
            terms[first, last] = round(word.weight * _UNIT)
    tests, values = conditions(transaction, where, scope)
    values |= {
        "space": WORDS,
        "firsts": [first for first, _ in terms],
        "lasts": [last for _, last in terms],
        "weights": list(terms.values()),
        "most": CANDIDATES,
    }
    rows = transaction.rows(_PROPOSED.format(tests=tests), values)
    return [(str(name), str(content)) for name, content in rows]
