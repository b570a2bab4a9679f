"""Ask the text indexes. In: the words of a query. Out: row numbers per word; scores by BM25 over the rarest words.

Okapi BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) with a word counted once per memory: a memory is one statement,
and in one statement a repeated word says nothing more. With n of the N memories in scope holding the word, l words in the
memory and a words in the mean memory in scope,

    score = sum over the words of ln(1 + (N - n + 0.5) / (n + 0.5)) * (k1 + 1) / (1 + k1 * (1 - b + b * l / a))

FTS5 only says which memories hold a word: its own rank visits every one of them twice more, which takes three times as
long. Never turns words into syntax.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite.index.memories import MemoryRows
from tacit.backends.sqlite.index.rows import Kinds, Numbers, Positions, Scores
from tacit.backends.sqlite.index.terms import NARROW_SHARE, QueryTerms, TextIndex, any_word, within
from tacit.backends.sqlite.scopes import StoredScope

K1 = 1.2
B = 0.75
_DENSE = 65_536
"""In a scope of no more rows, adding up over all of them is quicker than finding out which ones are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """For every word asked for, the row numbers of the documents that hold it, shape (k,) each."""

    index: TextIndex
    words: tuple[str, ...]
    numbers: tuple[Numbers, ...]


def documents_in(connection: sqlite3.Connection) -> int:
    """Count the documents that the text indexes hold, or a little more."""
    return int(connection.execute("SELECT max(memory) FROM documents").fetchone()[0] or 0)


def read_postings(
    connection: sqlite3.Connection,
    terms: QueryTerms,
    words: Sequence[str],
    scopes: tuple[StoredScope, ...],
    *,
    documents: int,
    on_demand: bool = False,
) -> Postings:
    """Choose the words to ask for, and ask; `QueryTerms.prepare` before keeps this short in a large store.

    `documents` is what `documents_in` says. With `on_demand` somebody waits for the answer: more words are read.
    """
    index = terms.index
    share = min(1.0, sum(scope.active for scope in scopes) / max(documents, 1))
    numbers: list[Numbers] = []
    chosen = terms.choose(connection, words, documents=documents, share=share, on_demand=on_demand)
    for word in chosen:
        expression = any_word(index, [word])
        if share < NARROW_SHARE:
            expression = within(scopes, expression)
        rows = connection.execute(f"SELECT rowid FROM text_{index} WHERE text_{index} MATCH ?", (expression,))
        numbers.append(np.fromiter(chain.from_iterable(rows), np.int64))
    return Postings(index=index, words=chosen, numbers=tuple(numbers))


def score_bm25(
    partitions: Sequence[MemoryRows], postings: Postings, *, now_ms: int, kinds: Kinds | None = None
) -> list[tuple[Positions, Scores]]:
    """Positions and scores of the memories that hold any of the words, for every part of the scope.

    Args:
        partitions: the memories of every stored scope asked for.
        postings: what the text index found, in these scopes or in others too.
        now_ms: the time at which they must hold.
        kinds: numbers of the kinds that are wanted; None = any. What is rare is counted over all of them.
    """
    matches = _found(partitions, postings)
    return _weigh_matches(
        partitions, postings.index, matches, _idf(partitions, matches), now_ms=now_ms, kinds=kinds
    )


def _weigh_matches(
    partitions: Sequence[MemoryRows],
    index: TextIndex,
    matches: Sequence[_WordMatches],
    idf: NDArray[np.float64],
    *,
    now_ms: int,
    kinds: Kinds | None,
) -> list[tuple[Positions, Scores]]:
    mean = _mean_length(partitions, index)
    weighed: list[tuple[Positions, Scores]] = []
    for partition, match in zip(partitions, matches, strict=True):
        chosen, sums = _summed(match, idf, partition.rows.size)
        share = partition.lengths[index][chosen] / mean
        scores = (sums * ((K1 + 1) / (1 + K1 * (1 - B + B * share)))).astype(np.float32)
        usable = partition.rows.usable(now_ms, kinds)
        if usable is not None:
            usable_rows: NDArray[np.bool_] = usable[chosen]
            chosen, scores = chosen[usable_rows], scores[usable_rows]
        weighed.append((chosen, scores))
    return weighed


def _summed(
    matches: _WordMatches, idf: NDArray[np.float64], size: int
) -> tuple[Positions, NDArray[np.number]]:
    """Positions that hold any word, ascending, and the sum of their words' weights, all of them above 0."""
    # Added word by word, so that memories that hold the same words get the same sum.
    weights = idf.repeat(matches.held)
    if size <= _DENSE:
        sums = np.bincount(matches.positions, weights, size)
        chosen = sums.nonzero()[0]
        return chosen, sums[chosen]
    chosen, places = np.unique(matches.positions, return_inverse=True)
    return chosen, np.bincount(places, weights, len(chosen))


def build_word_table(
    partitions: Sequence[MemoryRows],
    postings: Postings,
    *,
    limit: int,
    also: Numbers,
    now_ms: int,
    kinds: Kinds | None = None,
) -> tuple[NDArray[np.float64], list[tuple[Positions, NDArray[np.float32]]]]:
    """The idf of every word read; for every part of the scope positions and scores word by word, shape (positions, words read).

    Args:
        partitions: the memories of every stored scope asked for.
        postings: what the text index found.
        limit: how many of the best by the sum of their words are wanted of each part.
        also: row numbers of further memories that are wanted, ascending.
        now_ms: the time at which they must hold.
        kinds: numbers of the kinds that are wanted; None = any.
    """
    matches = _found(partitions, postings)
    idf = _idf(partitions, matches)
    mean = _mean_length(partitions, postings.index)
    tables: list[tuple[Positions, NDArray[np.float32]]] = []
    summed = _weigh_matches(partitions, postings.index, matches, idf, now_ms=now_ms, kinds=kinds)
    for partition, match, (positions, sums) in zip(partitions, matches, summed, strict=True):
        best, _ = partition.rows.best(positions, sums, limit)
        further = partition.positions_of(also)
        further = further[further >= 0]
        usable = partition.rows.usable(now_ms, kinds)
        if usable is not None:
            further = further[usable[further]]
        selected = np.union1d(best, further)
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * partition.lengths[postings.index][selected] / mean))
        table = np.zeros((len(selected), len(idf)), np.float32)
        if len(selected):
            row = selected.searchsorted(match.positions)
            is_selected = selected[np.minimum(row, len(selected) - 1)] == match.positions
            word = np.arange(len(idf)).repeat(match.held)[is_selected]
            table[row[is_selected], word] = idf[word]
        tables.append((selected, (table * norm[:, None]).astype(np.float32)))
    return idf, tables


@dataclass(frozen=True, slots=True, kw_only=True)
class _WordMatches:
    """The memories of one part that hold the words: positions word after word, shape (n,), and the number of each word."""

    positions: Positions
    held: NDArray[np.intp]


def _found(partitions: Sequence[MemoryRows], postings: Postings) -> list[_WordMatches]:
    # All words are looked up at once; a memory that is not of a partition is left out of it.
    words = len(postings.numbers)
    numbers = np.concatenate([np.empty(0, np.int64), *postings.numbers])
    word_of = np.arange(words).repeat([len(numbers_of_word) for numbers_of_word in postings.numbers])
    matches: list[_WordMatches] = []
    for partition in partitions:
        positions = partition.positions_of(numbers)
        in_part = positions >= 0
        matches.append(
            _WordMatches(positions=positions[in_part], held=np.bincount(word_of[in_part], minlength=words))
        )
    return matches


def _idf(partitions: Sequence[MemoryRows], matches: Sequence[_WordMatches]) -> NDArray[np.float64]:
    """ln(1 + (N - n + 0.5) / (n + 0.5)) of every word in scope."""
    total = sum(partition.rows.living for partition in partitions)
    document_counts = sum((match.held for match in matches), np.zeros(1, np.intp))
    return np.array([math.log1p((total - n + 0.5) / (n + 0.5)) for n in document_counts.tolist()])


def _mean_length(partitions: Sequence[MemoryRows], index: TextIndex) -> float:
    words = sum(float(partition.mean_length(index)) * partition.rows.living for partition in partitions)
    return words / max(1, sum(partition.rows.living for partition in partitions)) or 1.0
