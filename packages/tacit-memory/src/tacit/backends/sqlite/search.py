"""The Search port over SQLite: what is asked, within which scope, becomes one ranking per call.

The arrays that answer are made per scope from the table, and brought up to its change counter inside the transaction that asks: they know what the table
knows. A hit leaves only when SQL finds its row active, holding now, and in a scope of the filter; the best comes first, ties by id. Rankings are never
fused, scopes never widened.

Texts are scored by Okapi BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) over the rarest words of the query, with a word counted once per memory: a
memory is one statement, and in one statement a repeated word says nothing more. With n of the N memories in scope holding the word, l words in the memory and
a words in the mean memory in scope,

    score = sum over the words of ln(1 + (N - n + 0.5) / (n + 0.5)) * (k1 + 1) / (1 + k1 * (1 - b + b * l / a))

FTS5 only says which memories hold a word: its own rank visits every one of them twice more, which takes three times as long.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tacit.backends.codec import clean_text, clean_value, json_list
from tacit.backends.sqlite.connection import Database, StoredScope, numbers_of
from tacit.backends.sqlite.memory_index import (
    NARROW_SHARE,
    Kinds,
    MemoryPartitions,
    MemoryRows,
    Numbers,
    Positions,
    QueryTerms,
    Scores,
    TextIndex,
    any_word,
    kind_numbers,
    within,
)
from tacit.backends.sqlite.vector_index import StoredIdentity, VectorPartitions
from tacit.backends.sqlite.writing import ALWAYS
from tacit.errors import EmbedderMismatch, InvalidInput
from tacit.frozen import frozen
from tacit.model.evidence import Background, Hit, Ranking, WordTable
from tacit.model.memory import Entity
from tacit.model.scope import ScopeFilter
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.text.tokens import code_query_words, query_words

K1 = 1.2
B = 0.75


@frozen
class Postings:
    """For each word that was looked up, an array with the row numbers of the memories that contain it: `numbers[i]` belongs to `words[i]`.

    `words` = the rarest of those asked, within the budget. In a narrow scope only its rows are searched.
    """

    index: TextIndex
    words: tuple[str, ...]
    numbers: tuple[Numbers, ...]


def documents_in(connection: sqlite3.Connection) -> int:
    """Return an upper estimate of the number of documents in the text indexes, which costs little."""
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
    """Look up in the text index those words of a query that are rare enough to be worth the time.

    Call `QueryTerms.prepare` first.

    Returns for each the row numbers of the memories that contain it, possibly also outside `scopes`. `documents` = the
    result of `documents_in`. `on_demand` = somebody asks for the answer: more words are looked up.
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
    """Return for each partition the positions and BM25 scores of the memories that contain any of the words.

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
    """Return the positions that contain any of the words, ascending, and for each the sum of its words' idf."""
    # Added word by word, so that memories that hold the same words get the same sum.
    sums = np.bincount(matches.positions, idf.repeat(matches.held), size)
    chosen = sums.nonzero()[0]
    return chosen, sums[chosen]


def build_word_table(
    partitions: Sequence[MemoryRows],
    postings: Postings,
    *,
    limit: int,
    also: Numbers,
    now_ms: int,
    kinds: Kinds | None = None,
) -> tuple[NDArray[np.float64], list[tuple[Positions, NDArray[np.float32]]]]:
    """Return (idf of each word looked up, for each partition its positions and their scores word by word, shape (positions, words)).

    Args:
        partitions: the memories of every stored scope asked for.
        postings: what the text index found.
        limit: how many of the best by the sum of their words are wanted of each part.
        also: row numbers of further memories that are wanted, ascending.
        now_ms: the time at which they must hold.
        kinds: numbers of the kinds that are wanted; None = any.
    """
    matches = _found(partitions, postings, also)
    idf = _idf(partitions, matches)
    mean = _mean_length(partitions, postings.index)
    tables: list[tuple[Positions, NDArray[np.float32]]] = []
    summed = _weigh_matches(partitions, postings.index, matches, idf, now_ms=now_ms, kinds=kinds)
    for partition, match, (positions, sums) in zip(partitions, matches, summed, strict=True):
        best, _ = partition.rows.best(positions, sums, limit)
        further = match.also[partition.holding(match.also, now_ms, kinds)]
        selected = np.array(sorted({*best.tolist(), *further.tolist()}), np.intp)
        norm = (K1 + 1) / (1 + K1 * (1 - B + B * partition.lengths[postings.index][selected] / mean))
        table = np.zeros((len(selected), len(idf)), np.float32)
        if len(selected):
            row = selected.searchsorted(match.positions)
            is_selected = selected[np.minimum(row, len(selected) - 1)] == match.positions
            word = np.arange(len(idf)).repeat(match.held)[is_selected]
            table[row[is_selected], word] = idf[word]
        tables.append((selected, (table * norm[:, None]).astype(np.float32)))
    return idf, tables


@frozen
class _WordMatches:
    """The memories of one partition that contain the words: `positions` of the first word, then the second, ..., shape (n,); `held` = how many per word.

    `also` = the positions of the further memories that were asked for, in their order; -1 = not in the partition.
    """

    positions: Positions
    held: NDArray[np.intp]
    also: Positions


_NONE: Numbers = np.empty(0, np.int64)


def _found(partitions: Sequence[MemoryRows], postings: Postings, also: Numbers = _NONE) -> list[_WordMatches]:
    # All words are looked up at once; a memory that is not of a partition is left out of it.
    words = len(postings.numbers)
    numbers = np.concatenate([_NONE, *postings.numbers, also])
    word_of = np.arange(words).repeat([len(numbers_of_word) for numbers_of_word in postings.numbers])
    matches: list[_WordMatches] = []
    for partition in partitions:
        found = partition.positions_of(numbers)
        positions = found[: len(word_of)]
        in_part = positions >= 0
        held = np.bincount(word_of[in_part], minlength=words)
        matches.append(_WordMatches(positions=positions[in_part], held=held, also=found[len(word_of) :]))
    return matches


def _idf(partitions: Sequence[MemoryRows], matches: Sequence[_WordMatches]) -> NDArray[np.float64]:
    """Return the idf of each word, ln(1 + (N - n + 0.5) / (n + 0.5)), counted over all memories in scope."""
    total = sum(partition.rows.living for partition in partitions)
    document_counts = sum((match.held for match in matches), np.zeros(1, np.intp))
    return np.array([math.log1p((total - n + 0.5) / (n + 0.5)) for n in document_counts.tolist()])


def _mean_length(partitions: Sequence[MemoryRows], index: TextIndex) -> float:
    words = sum(float(partition.mean_length(index)) * partition.rows.living for partition in partitions)
    return words / max(1, sum(partition.rows.living for partition in partitions)) or 1.0


_AHEAD = 4
"""How many rows more than wanted are checked in the table at once; if the table refuses more of them, further ones are checked."""

IN_SCOPE = "scope IN (SELECT value FROM json_each(:scopes))"
HOLDS = "status = 'active' AND valid_from_ms <= :now AND (valid_to_ms IS NULL OR valid_to_ms > :now)"

ScoredIds = tuple[NDArray[np.bytes_], Scores]
"""The result of searching the arrays of one scope: ids and scores, shape (k,) each."""


def _holding(
    connection: sqlite3.Connection,
    scopes: Sequence[StoredScope],
    numbers: Sequence[int],
    now_ms: int,
    kinds: Sequence[str] | None,
) -> dict[int, str]:
    """Return row number -> id of those of `numbers` that are active, valid now, in `scopes` and of `kinds` (None = any)."""
    # A list of parameters, in order, is read twice as fast as `json_each`: the table is asked four times for one recall.
    marks = ",".join("?" * len(numbers))
    visible = numbers_of(scopes)
    kind_condition = "" if kinds is None else f" AND kind IN ({','.join('?' * len(kinds))})"
    rows = connection.execute(
        f"SELECT number, id FROM memories WHERE number IN ({marks}) AND +scope IN ({','.join('?' * len(visible))}) AND status = 'active'"
        " AND valid_from_ms <= ? AND (valid_to_ms IS NULL OR valid_to_ms > ?)"
        f"{kind_condition}",
        (*sorted(numbers), *visible, now_ms, now_ms, *(kinds or ())),
    )
    return dict(rows.fetchall())


def best_hits(matches: Sequence[ScoredIds], limit: int) -> list[Hit]:
    """Return the best `limit` hits of the results of several scopes, best first; ties by id, the newest first."""
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
    """Return the best `limit` hits of `scores` (row number -> score) whose rows are active, valid now, in `scopes` and of `kinds` (None = any).

    Best first; ties by id, the newest first.
    """
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


TEXT_DEADLINE_MS = 100.0
"""Longest time of a text search in milliseconds; then it is stopped without a result, which is rare because only rare words are looked up."""

BY_ERROR = (
    "SELECT id FROM memories INDEXED BY memories_by_error WHERE error_signature = :signature AND error_signature <> ''"
    f" AND {IN_SCOPE} AND {HOLDS} ORDER BY id DESC LIMIT :limit"
)
"""Statement for the memories with an error signature. It names the index, because SQLite would choose one that reads every memory of the scope."""
_STEPS = 1000
_UNION = 100


class SqliteSearch:
    """The `Search` port over the SQLite store: one ranking per call, from in-memory indexes that follow the tables. Thread-safe."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._vectors = VectorPartitions()
        self._memories = MemoryPartitions()
        self._actions: tuple[int, dict[str, int]] = (-1, {})
        self._terms: dict[TextIndex, QueryTerms] = {"words": QueryTerms("words"), "code": QueryTerms("code")}

    def semantic(
        self,
        vector: Vectors,
        *,
        identity: EmbedderIdentity,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by cosine (-1 to 1) with `vector`, shape (dimensions,), of unit length. Cosines are of half-precision vectors: true to about 0.001."""
        if vector.shape != (identity.dimensions,):
            raise InvalidInput(
                f"The vector has shape {vector.shape}; {identity} needs ({identity.dimensions},)."
            )
        with self._ranking("semantic", scope, limit) as (connection, scopes, ranking):
            if not scopes:
                return ranking.empty()
            stored = _identity(connection, identity)
            matches: list[ScoredIds] = []
            now_ms = self._clock.now_ms()
            query = np.ascontiguousarray(vector, np.float32)
            vector_count = 0
            samples: list[tuple[int, Scores]] = []
            for stored_scope in scopes if stored else ():
                assert stored is not None
                with self._vectors.current(connection, stored_scope, stored) as index:
                    vector_count += index.rows.living
                    positions, scores = index.nearest(query, limit, now_ms, _numbers(kinds))
                    matches.append((index.rows.ids[positions], scores))
                    samples.append((index.rows.living, index.sampled(query)))
            if not vector_count:
                _refuse_other_embedder(connection, scopes, identity)
            return ranking.filled(best_hits(matches, limit), _background(samples, vector_count))

    def lexical(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """Rank by BM25 (higher is better, above 0) over stemmed words; the query is bounded by document frequency."""
        return self._text("lexical", "words", query_words(clean_text(text)), scope, limit, kinds)

    def code(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """Rank by BM25 over identifiers and paths split by case and punctuation."""
        return self._text("code", "code", code_query_words(clean_text(text)), scope, limit, kinds)

    def word_table(
        self,
        words: Sequence[str],
        *,
        scope: ScopeFilter,
        limit: int,
        also: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
    ) -> WordTable:
        """Return for each memory and each word the score that `lexical` would give that word alone; rows = the `limit` memories with the best sum and those in `also`."""
        weights = np.zeros(len(words), np.float32)
        nothing = WordTable(ids=(), scores=np.zeros((0, len(words)), np.float32), weights=weights)
        with self._ranking("lexical", scope, limit) as (connection, scopes, _):
            if not scopes:
                return nothing
            columns = {clean_text(word): column for column, word in reversed(list(enumerate(words)))}
            read = [word for word in columns if query_words(word)]
            postings = self._postings(connection, "words", read, scopes, on_demand=True)
            if postings is None:
                return replace(nothing, complete=False)
            further = np.array(sorted(_numbers_by_id(connection, also).values()), np.int64)
            with ExitStack() as stack:
                partitions = self._parts(connection, scopes, stack)
                idf, tables = build_word_table(
                    partitions,
                    postings,
                    limit=limit,
                    also=further,
                    now_ms=self._clock.now_ms(),
                    kinds=_numbers(kinds),
                )
                ids = np.concatenate(
                    [partition.rows.ids[at] for partition, (at, _) in zip(partitions, tables, strict=True)]
                )
            columns_of_words = np.concatenate([table for _, table in tables])
            scores = np.zeros((len(ids), len(words)), np.float32)
            read_columns = [columns[word] for word in postings.words]
            scores[:, read_columns], weights[read_columns] = columns_of_words, idf
            order = _best_rows(ids, scores.sum(axis=1), limit, also)
            return WordTable(
                ids=tuple(name.decode() for name in ids[order].tolist()),
                scores=scores[order],
                weights=weights,
                complete=len(postings.words) == len(read),
            )

    def word_shares(
        self,
        words: Sequence[str],
        *,
        among: Sequence[str],
        scope: ScopeFilter,
        kinds: Sequence[str] | None = None,
    ) -> dict[str, float]:
        """Return for each memory of `among` the share (0 to 1) of `words` that it holds, weighted by idf in scope; {} if no word was read."""
        with self._ranking("lexical", scope, len(among)) as (connection, scopes, _):
            columns = {clean_text(word): column for column, word in reversed(list(enumerate(words)))}
            read = [word for word in columns if query_words(word)]
            postings = self._postings(connection, "words", read, scopes) if scopes and read else None
            if postings is None or not postings.words:
                return {}
            numbers = _numbers_by_id(connection, among)
            asked = np.array([*numbers.values()], np.int64)
            usable = np.zeros(len(asked), np.bool_)
            with ExitStack() as stack:
                partitions = self._parts(connection, scopes, stack)
                matches = _found(partitions, postings, asked)
                idf = _idf(partitions, matches)
                for partition, match in zip(partitions, matches, strict=True):
                    usable |= partition.holding(match.also, self._clock.now_ms(), _numbers(kinds))
        weights = np.zeros(len(words), np.float32)
        weights[[columns[word] for word in postings.words]] = idf
        held = np.zeros((len(asked), len(words)), np.bool_)
        for word, holding in zip(postings.words, postings.numbers, strict=True):
            if len(holding):  # in ascending order, as FTS5 gives them
                nearest = holding.take(np.searchsorted(holding, asked), mode="clip")
                held[:, columns[word]] = nearest == asked
        shares = (held @ weights / float(weights.sum())).round(4).tolist()
        return {name: share for name, share, ok in zip(numbers, shares, usable.tolist(), strict=True) if ok}

    def _parts(
        self, connection: sqlite3.Connection, scopes: tuple[StoredScope, ...], stack: ExitStack
    ) -> list[MemoryRows]:
        """Return the current `MemoryRows` of each scope, locked for this thread until `stack` is closed."""
        return [
            stack.enter_context(self._memories.current(connection, stored_scope)) for stored_scope in scopes
        ]

    def _postings(
        self,
        connection: sqlite3.Connection,
        index: TextIndex,
        words: Sequence[str],
        scopes: tuple[StoredScope, ...],
        *,
        on_demand: bool = False,
    ) -> Postings | None:
        """Return the memories that contain the words, as the text index finds them; None = it took longer than `TEXT_DEADLINE_MS`."""
        # Not under the deadline: given up, it would be begun again at every search.
        documents = documents_in(connection)
        self._terms[index].prepare(connection, documents)
        deadline = self._clock.monotonic_ms() + TEXT_DEADLINE_MS
        connection.set_progress_handler(lambda: self._clock.monotonic_ms() > deadline, _STEPS)
        try:
            return read_postings(
                connection, self._terms[index], words, scopes, documents=documents, on_demand=on_demand
            )
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return None
        finally:
            connection.set_progress_handler(None, 0)

    def _text(  # noqa: PLR0917 - what a text search is made of
        self,
        space: str,
        index: TextIndex,
        words: Sequence[str],
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None,
    ) -> Ranking:
        with self._ranking(space, scope, limit) as (connection, scopes, ranking):
            if not scopes or not words:
                return ranking.empty()
            postings = self._postings(connection, index, words, scopes)
            if postings is None:
                return ranking.empty(complete=False)
            with ExitStack() as stack:
                partitions = self._parts(connection, scopes, stack)
                weighed = score_bm25(partitions, postings, now_ms=self._clock.now_ms(), kinds=_numbers(kinds))
                matches: list[ScoredIds] = []
                for partition, scored in zip(partitions, weighed, strict=True):
                    positions, scores = partition.rows.best(*scored, limit)
                    matches.append((partition.rows.ids[positions], scores))
            return ranking.filled(best_hits(matches, limit))

    def entity(
        self,
        entities: Sequence[Entity],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by idf-weighted overlap (0 to 1) of linked entities: matched idf / idf of all asked-for entities.

        idf = ln(1 + N / (1 + df)), N and df counted over the active memories in scope.
        """
        query_entities = sorted({(entity.kind, entity.key) for entity in clean_value(tuple(entities))})
        with self._ranking("entity", scope, limit) as (connection, scopes, ranking):
            if not scopes or not query_entities:
                return ranking.empty()
            total = sum(stored_scope.active for stored_scope in scopes)
            linked: list[list[int]] = []
            for kind, key in query_entities:
                rows = connection.execute(
                    "SELECT memory FROM memory_entities WHERE entity ="
                    f" (SELECT number FROM entities WHERE kind = :kind AND key = :key) AND {IN_SCOPE}",
                    {"kind": kind, "key": key, "scopes": json_list(numbers_of(scopes))},
                )
                linked.append([row[0] for row in rows])
            idf = [math.log(1 + total / (1 + len(memories))) for memories in linked]
            whole = math.fsum(idf)
            weights_by_number: dict[int, list[float]] = {}
            for weight, memories in zip(idf, linked, strict=True):
                for number in memories:
                    weights_by_number.setdefault(number, []).append(weight)
            scores = {number: math.fsum(weights) / whole for number, weights in weights_by_number.items()}
            kind_names = None if kinds is None else [clean_text(kind) for kind in kinds]
            now_ms = self._clock.now_ms()
            return ranking.filled(confirm_scores(connection, scopes, scores, limit, now_ms, kinds=kind_names))

    def intent(
        self,
        actions: Sequence[tuple[str, float]],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """Rank by the best product of situation probability and trigger weight (0 to 1). Weights are kept in steps of 1/200."""
        with self._ranking("intent", scope, limit) as (connection, scopes, ranking):
            if not scopes:
                return ranking.empty()
            probabilities = self._action_numbers(connection, actions, scopes)
            probabilities[ALWAYS] = 1.0
            now_ms = self._clock.now_ms()
            matches: list[ScoredIds] = []
            for stored_scope in scopes:
                with self._memories.current(connection, stored_scope) as partition:
                    positions, scores = partition.fitting(
                        probabilities, want=limit, now_ms=now_ms, kinds=_numbers(kinds)
                    )
                    matches.append((partition.rows.ids[positions], scores))
            return ranking.filled(best_hits(matches, limit))

    def standing(
        self, kinds: Sequence[str], *, scope: ScopeFilter, limit: int, broadest: bool = False
    ) -> Ranking:
        """Rank the memories of these kinds by importance (0 to 1), pinned first, whatever is asked; this is the start pool.

        With `broadest` the breadth of the trigger comes before importance.
        """
        with self._ranking("standing", scope, limit) as (connection, scopes, ranking):
            pairs = [
                (number, kind)
                for number in numbers_of(scopes)
                for kind in dict.fromkeys(map(clean_text, kinds))
            ]
            now_ms = self._clock.now_ms()
            best: list[tuple[int, float, float, str]] = []
            for start in range(0, len(pairs), _UNION):
                batch = pairs[start : start + _UNION]
                best += _standing(connection, batch, limit, now_ms, broadest=broadest)
            best.sort(reverse=True)
            return ranking.filled(Hit(memory_id=row[3], score=row[2]) for row in best[:limit])

    def error(self, signature: str, *, scope: ScopeFilter, limit: int) -> Ranking:
        """Return the memories stored for exactly this error signature, each with score 1."""
        with self._ranking("error", scope, limit) as (connection, scopes, ranking):
            if not scopes or not signature:
                return ranking.empty()
            rows = connection.execute(
                BY_ERROR,
                {
                    "signature": clean_text(signature),
                    "scopes": json_list(numbers_of(scopes)),
                    "now": self._clock.now_ms(),
                    "limit": limit,
                },
            )
            return ranking.filled(Hit(memory_id=row[0], score=1.0) for row in rows)

    def _action_numbers(
        self,
        connection: sqlite3.Connection,
        actions: Sequence[tuple[str, float]],
        scopes: Sequence[StoredScope],
    ) -> dict[int, float]:
        """Return action number -> probability, for those of `actions` that any stored trigger names."""
        change = max(stored_scope.change for stored_scope in scopes)
        known_change, numbers = self._actions
        if known_change != change:
            rows = connection.execute("SELECT name, number FROM actions").fetchall()
            numbers = dict(rows)
            self._actions = (change, numbers)
        probabilities: dict[int, float] = {}
        for name, probability in actions:
            number = numbers.get(clean_text(name))
            if number is not None:
                probabilities[number] = max(probability, probabilities.get(number, 0.0))
        return probabilities

    @contextmanager
    def _ranking(
        self, space: str, scope: ScopeFilter, limit: int
    ) -> Generator[tuple[sqlite3.Connection, tuple[StoredScope, ...], _RankingTimer], None, None]:
        timed = _RankingTimer(space, self._clock)
        with self._database.read() as connection:
            stored = self._database.scopes(connection, scope) if limit > 0 else ()
            # A search finds only active memories, so scopes that have none are skipped.
            yield connection, tuple(stored_scope for stored_scope in stored if stored_scope.active), timed

    def close(self) -> None:
        """Drop the vector indexes from memory; no search may follow."""
        self._vectors.close()


def _numbers_by_id(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return id -> row number of those of `ids` that the table holds, whatever their scope."""
    names = [clean_text(name) for name in ids]
    marks = ",".join("?" * len(names))
    return dict(
        connection.execute(f"SELECT id, number FROM memories WHERE id IN ({marks})", names).fetchall()
    )


def _numbers(kinds: Sequence[str] | None) -> Kinds | None:
    return None if kinds is None else _numbers_of(tuple(kinds))


@lru_cache(maxsize=64)
def _numbers_of(kinds: tuple[str, ...]) -> Kinds:
    return kind_numbers(map(clean_text, kinds))


class _RankingTimer:
    """Builds the `Ranking` of one search, with the time since it began."""

    def __init__(self, space: str, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic_ms()
        self._space = space

    def filled(self, hits: Iterable[Hit], background: Background | None = None) -> Ranking:
        took_ms = self._clock.monotonic_ms() - self._began
        return Ranking(space=self._space, hits=tuple(hits), took_ms=took_ms, background=background)

    def empty(self, *, complete: bool = True) -> Ranking:
        took_ms = self._clock.monotonic_ms() - self._began
        return Ranking(space=self._space, hits=(), took_ms=took_ms, complete=complete)


def _background(samples: Sequence[tuple[int, Scores]], total: int) -> Background | None:
    """Return mean and standard deviation of the sampled cosines of `total` memories; None if there are no samples.

    `samples` = of each scope, the number of its memories and their sample. A scope of which few were sampled counts as much as its memories do.
    """
    cosines = np.concatenate([sample for _, sample in samples]) if samples else np.empty(0, np.float32)
    if not len(cosines):
        return None
    if any(living > len(sample) for living, sample in samples):
        shares = np.concatenate(
            [np.full(len(sample), living / max(1, len(sample))) for living, sample in samples]
        )
        shares /= shares.sum()
        weighted_mean = float(shares @ cosines)
        spread = math.sqrt(max(float(shares @ (cosines * cosines)) - weighted_mean * weighted_mean, 0.0))
        return Background(count=len(cosines), mean=weighted_mean, deviation=spread, total=total)
    # By sums: numpy's own mean and deviation of so few numbers take ten times as long.
    mean = float(cosines.sum()) / len(cosines)
    deviation = math.sqrt(max(float(cosines @ cosines) / len(cosines) - mean * mean, 0.0))
    return Background(count=len(cosines), mean=mean, deviation=deviation, total=total)


def _best_rows(
    ids: NDArray[np.bytes_], sums: NDArray[np.float32], limit: int, also: Sequence[str]
) -> NDArray[np.intp]:
    """Return the indexes of the rows with the `limit` best sums above 0, and of those with an id in `also`, best first; ties by id, the newest first."""
    order = np.lexsort((ids, sums))[::-1]
    also_ids = {clean_text(name).encode() for name in also}
    chosen = [
        place
        for rank, place in enumerate(order.tolist())
        if (rank < limit and sums[place] > 0) or ids[place] in also_ids
    ]
    return np.array(chosen, np.intp)


def _identity(connection: sqlite3.Connection, identity: EmbedderIdentity) -> StoredIdentity | None:
    row = connection.execute(
        "SELECT number FROM identities WHERE name = ? AND dimensions = ?",
        (clean_text(identity.name), identity.dimensions),
    ).fetchone()
    return None if row is None else StoredIdentity(number=row[0], dimensions=identity.dimensions)


def _refuse_other_embedder(
    connection: sqlite3.Connection, scopes: Sequence[StoredScope], identity: EmbedderIdentity
) -> None:
    row = connection.execute(
        "SELECT i.name, i.dimensions FROM memories AS m JOIN vectors AS v ON v.memory = m.number"
        " JOIN identities AS i ON i.number = v.identity"
        " WHERE m.scope IN (SELECT value FROM json_each(?)) AND m.status = 'active' LIMIT 1",
        (json_list(numbers_of(scopes)),),
    ).fetchone()
    if row is not None:
        raise EmbedderMismatch(
            f"The stored vectors belong to {EmbedderIdentity(name=row[0], dimensions=row[1])}, the query to {identity}.",
            hint="Run `tacit doctor --reindex` to renew them.",
        )


def _standing(
    connection: sqlite3.Connection,
    pairs: Sequence[tuple[int, str]],
    limit: int,
    now_ms: int,
    *,
    broadest: bool,
) -> list[tuple[int, float, float, str]]:
    """Return for each (scope, kind) the best `limit` memories that are valid now, as (pinned, breadth or 0, importance, id)."""
    if not pairs:
        return []
    query = (
        f"SELECT * FROM (SELECT pinned, {'breadth' if broadest else '0.0'}, importance, id FROM memories"
        f" WHERE scope = ? AND kind = ? AND {HOLDS.replace(':now', '?')}"
        f" ORDER BY pinned DESC, {'breadth DESC, ' if broadest else ''}importance DESC, id DESC LIMIT ?)"
    )
    values = [value for scope, kind in pairs for value in (scope, kind, now_ms, now_ms, limit)]
    return connection.execute(" UNION ALL ".join([query] * len(pairs)), values).fetchall()
