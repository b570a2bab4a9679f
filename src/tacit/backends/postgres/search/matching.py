"""Scores by BM25 over postings. In: terms, a scope. Out: hits, or a table of words. Never turns words into syntax.

Okapi BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) with a word counted once per memory: a memory is one statement, and in
one statement a repeated word says nothing more. With n of the N active memories in scope holding the word, l words in the memory and
a words in the mean memory in scope,

    score = sum over the words of ln(1 + (N - n + 0.5) / (n + 0.5)) * (k1 + 1) / (1 + k1 * (1 - b + b * l / a))

N, n and the sum of l are kept as memories are written. Weights are added as whole numbers of 1 / `UNIT`, so that memories that hold the same
words get the same sum in whatever order their postings are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.backends.postgres.documents import CODE, WORDS
from tacit.backends.postgres.search.shown import HOLDS, OF_KINDS, Shown, best_shown, shown_ids
from tacit.backends.text import clean_text
from tacit.model.evidence import Hit
from tacit.model.ids import newest_id_first

if TYPE_CHECKING:
    from tacit.backends.postgres.scopes import StoredScope
    from tacit.backends.postgres.transaction import Transaction

K1 = 1.2
B = 0.75
UNIT = 100_000_000
"""Weights are whole numbers of 1 / `UNIT`."""

MAX_TERMS = 32
"""The rarest terms of a query that count; the others say little."""
MAX_POSTINGS = 16_000
"""The largest number of postings, summed over the terms, that one query reads to find memories; those of the rarest term are always read.

PostgreSQL reads and sends one in a quarter of a microsecond (measured). More frequent terms find nothing by themselves: they are looked up in the memories
that the rarer ones found, which takes an index lookup each. With 6,000 postings, a tenant of 147,000 memories got .945 of the ten best.
"""
ASKED_TERMS = 64
ASKED_POSTINGS = 60_000
"""The same bounds where somebody waits for an answer."""
_AHEAD = 4
"""So many times as many as are wanted are looked up at first; where too few of them may be shown, all are."""
_LEAST_AHEAD = 200
"""At least so many are looked up where more frequent terms may change the order."""

_OWN = "tenant = %(tenant)s"

_FREQUENCIES = """
    SELECT term, sum(documents) FROM terms
    WHERE tenant = %(tenant)s AND space = %(space)s AND term = ANY(%(terms)s) AND scope = ANY(%(scopes)s) GROUP BY term"""
_POSTINGS = """
    SELECT held.numbers, held.lengths FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked (term, place), LATERAL (
        SELECT array_agg(p.number) AS numbers, array_agg(p.value) AS lengths FROM postings AS p
        WHERE p.tenant = %(tenant)s AND p.space = %(space)s AND p.term = asked.term
            AND p.scope = ANY(%(scopes)s)
    ) AS held ORDER BY asked.place"""
_FREQUENT = f"""
    SELECT number, term FROM postings
    WHERE {_OWN} AND space = %(space)s AND term = ANY(%(frequent)s) AND scope = ANY(%(scopes)s) AND number = ANY(%(numbers)s)"""
_ALSO = f"""
    SELECT number, id FROM memories
    WHERE {_OWN} AND status = 'active' AND scope = ANY(%(scopes)s) AND id = ANY(%(ids)s) AND {HOLDS}"""
_HELD = f"""
    SELECT number, term, value FROM postings
    WHERE {_OWN} AND space = %(space)s AND term = ANY(%(terms)s) AND scope = ANY(%(scopes)s) AND number = ANY(%(numbers)s)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a query that count, in a scope.

    Attributes:
        space: `WORDS` or `CODE`.
        weights: the inverse document frequency of each term whose postings are read, as a whole number of units.
        frequent: the same of each that is looked up in what those found.
        frequencies: how many memories in scope hold each asked-for term.
        total: how many memories are in scope.
        mean: words of the mean one.
        postings: how many postings are read.
        complete: whether the postings of all terms are read that any memory holds.
    """

    space: int
    weights: Mapping[str, int]
    frequent: Mapping[str, int]
    frequencies: Mapping[str, int]
    total: int
    mean: float
    postings: int
    complete: bool


def idf(total: int, holding: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return math.log1p((total - holding + 0.5) / (holding + 0.5))


def count_documents(
    transaction: Transaction, space: int, terms: Sequence[str], scopes: Sequence[StoredScope]
) -> dict[str, int]:
    """How many active memories in `scopes` hold each of `terms`; one that none holds may be left out."""
    values = {"space": space, "terms": list(terms), "scopes": [stored.number for stored in scopes]}
    rows = transaction.rows(_FREQUENCIES, values) if terms else []
    return {term: int(count) for term, count in rows}


def choose_terms(
    transaction: Transaction,
    space: int,
    terms: Sequence[str],
    scopes: Sequence[StoredScope],
    *,
    on_demand: bool = False,
) -> Terms:
    """The rarest of `terms` that may be read; with `on_demand` somebody waits for the answer, and more of them."""
    frequencies = count_documents(transaction, space, list(dict.fromkeys(terms)), scopes)
    total = sum(stored.active for stored in scopes)
    length = sum(stored.words if space == WORDS else stored.code for stored in scopes)
    most_terms, most = (ASKED_TERMS, ASKED_POSTINGS) if on_demand else (MAX_TERMS, MAX_POSTINGS)
    held = sorted((count, term) for term, count in frequencies.items() if count > 0)
    read: dict[str, int] = {}
    frequent: dict[str, int] = {}
    postings = 0
    for frequency, term in held[:most_terms]:
        postings += frequency
        among = read if not read or postings <= most else frequent
        among[term] = round(idf(total, frequency) * UNIT)
    return Terms(
        space=space,
        weights=read,
        frequent=frequent,
        frequencies=frequencies,
        total=total,
        mean=length / total if total and length else 1.0,
        postings=sum(frequencies[term] for term in read),
        complete=len(read) == len(held),
    )


def _values(
    terms: Terms, scopes: Sequence[StoredScope], now_ms: int, kinds: Sequence[str] | None
) -> dict[str, object]:
    return {
        "space": terms.space,
        "terms": list(terms.weights),
        "weights": list(terms.weights.values()),
        "frequent": list(terms.frequent),
        "frequent_weights": list(terms.frequent.values()),
        "scopes": [stored.number for stored in scopes],
        "mean": terms.mean,
        "now_ms": now_ms,
        "kinds": None if kinds is None else [clean_text(kind) for kind in kinds],
    }


@dataclass(frozen=True, slots=True)
class _Found:
    """Memories that hold terms: their numbers, the sums of the weights of these terms, and their lengths in words. Each has shape (memories,)."""

    numbers: NDArray[np.int64]
    totals: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def scores(self, mean: float) -> NDArray[np.float64]:
        """Return the scores by BM25 in a scope whose mean memory has `mean` words, shape (memories,)."""
        return self.totals * (K1 + 1) / (UNIT * (1 + K1 * (1 - B + B * self.lengths / mean)))

    def best(self, count: int, mean: float) -> _Found:
        """Return the `count` memories with the highest scores, and those that tie with the last of them."""
        if len(self.numbers) <= count:
            return self
        scores = self.scores(mean)
        return self.where(scores >= np.partition(scores, -count)[-count])

    def where(self, chosen: NDArray[np.bool_]) -> _Found:
        """Return the chosen memories; `chosen` has shape (memories,)."""
        return _Found(self.numbers[chosen], self.totals[chosen], self.lengths[chosen])


def _read(transaction: Transaction, terms: Terms, values: dict[str, object]) -> _Found:
    """Return the memories in scope that hold a term whose postings are read."""
    postings = transaction.arrays(_POSTINGS, values)
    sizes = [len(numbers) for numbers, _ in postings]
    numbers, first, places = np.unique(
        np.concatenate([numbers for numbers, _ in postings]).astype(np.int64),
        return_index=True,
        return_inverse=True,
    )
    totals = np.zeros(len(numbers), np.int64)
    np.add.at(totals, places, np.repeat(np.array(list(terms.weights.values()), np.int64), sizes))
    return _Found(
        numbers, totals, np.concatenate([lengths for _, lengths in postings])[first].astype(np.int64)
    )


def _add_frequent(transaction: Transaction, terms: Terms, values: dict[str, object], found: _Found) -> _Found:
    """Return the same memories with the weights of their frequent terms added."""
    totals = found.totals.copy()
    places = {int(number): place for place, number in enumerate(found.numbers)}
    for number, term in transaction.rows(_FREQUENT, {**values, "numbers": list(places)}):
        totals[places[number]] += terms.frequent[term]
    return _Found(found.numbers, totals, found.lengths)


def _best(transaction: Transaction, terms: Terms, values: dict[str, object], limit: int) -> list[Shown]:
    """Return the best memories that the filter of the search allows, ties by id."""
    if not terms.weights:
        return []
    found = _read(transaction, terms, values)
    if not terms.frequent:
        return best_shown(transaction, found.numbers, found.scores(terms.mean), values, limit=limit)
    ahead = max(_AHEAD * limit, _LEAST_AHEAD)
    if values["kinds"] is None:  # without a filter by kind, nearly all memories may be shown
        first = _add_frequent(transaction, terms, values, found.best(ahead, terms.mean))
        rows = best_shown(transaction, first.numbers, first.scores(terms.mean), values, limit=limit)
        if len(rows) == limit or len(first.numbers) == len(found.numbers):
            return rows
    kept = found.where(np.isin(found.numbers, list(shown_ids(transaction, found.numbers, values))))
    first = _add_frequent(transaction, terms, values, kept.best(ahead, terms.mean))
    return best_shown(transaction, first.numbers, first.scores(terms.mean), values, limit=limit)


def best_by_words(
    transaction: Transaction,
    terms: Terms,
    scopes: Sequence[StoredScope],
    *,
    limit: int,
    now_ms: int,
    kinds: Sequence[str] | None,
) -> list[Hit]:
    """The best memories that hold any of the terms, ties by id."""
    rows = _best(transaction, terms, _values(terms, scopes, now_ms, kinds), limit)
    return [Hit(memory_id=name, score=score) for _, name, score in rows]


def scores_by_term(
    transaction: Transaction,
    terms: Terms,
    scopes: Sequence[StoredScope],
    *,
    limit: int,
    also: Sequence[str],
    now_ms: int,
    kinds: Sequence[str] | None,
) -> tuple[list[str], dict[str, NDArray[np.float32]]]:
    """Memories, best sum first, and of every term chosen what it gives each of them, shape (memories,)."""
    values = _values(terms, scopes, now_ms, kinds)
    best = _best(transaction, terms, values, limit)
    values["ids"] = [clean_text(name) for name in also]
    more = transaction.rows(_ALSO + (OF_KINDS if kinds is not None else ""), values) if also else []
    ids = {number: str(name) for number, name in more} | {number: name for number, name, _ in best}
    values["numbers"] = list(ids)
    weights = {**terms.weights, **terms.frequent}
    values["terms"] = list(weights)
    held: dict[str, dict[int, float]] = {term: {} for term in weights}
    for number, term, length in transaction.rows(_HELD, values) if weights and ids else []:
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * length / terms.mean))
        held[term][number] = weights[term] / UNIT * norm
    sums = {number: math.fsum(column.get(number, 0.0) for column in held.values()) for number in ids}
    order = sorted(ids, key=lambda number: (-sums[number], newest_id_first(ids[number])))
    columns = {
        term: np.array([column.get(number, 0.0) for number in order], np.float32)
        for term, column in held.items()
    }
    return [ids[number] for number in order], columns


SPACES: dict[str, int] = {"lexical": WORDS, "code": CODE}
