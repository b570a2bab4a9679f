"""The Search port over PostgreSQL. In: a query, a scope. Out: one ranking per call.

Each search runs one or a few statements in a transaction that shows one state; inside `at_once`, all searches share one transaction. Every statement names
the tenant and the scopes. Never fuses rankings, and never widens a scope. Keeps nothing between calls but the numbers of embedders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.backends.postgres.connection import Database
from tacit.backends.postgres.documents import (
    ACTIONS,
    ALWAYS,
    ENTITIES,
    WEIGHT_STEPS,
    WORDS,
    entity_term,
    stored_term,
    word_terms,
)
from tacit.backends.postgres.memories import identity_values
from tacit.backends.postgres.search.matching import (
    SPACES,
    UNIT,
    best_by_words,
    choose_terms,
    count_documents,
    idf,
    scores_by_term,
)
from tacit.backends.postgres.search.nearest import nearest
from tacit.backends.postgres.search.shown import HOLDS, OF_KINDS
from tacit.backends.text import clean_text, clean_value
from tacit.errors import InvalidInput
from tacit.model.evidence import Background, Hit, Ranking, WordTable
from tacit.model.memory import Entity
from tacit.model.scope import ScopeFilter
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.text.tokens import code_query_words, query_words

if TYPE_CHECKING:
    from tacit.backends.postgres.scopes import StoredScope
    from tacit.backends.postgres.transaction import Transaction

_IDENTITY = """
    SELECT identity FROM identities
    WHERE tenant = %(tenant)s AND name = %(name)s AND dimensions = %(dimensions)s"""
_SHOWN = "m.status = 'active' AND m.scope = ANY(%(scopes)s)"
_LINKED = f"""
    SELECT m.id, f.total FROM (
        SELECT p.number, sum(asked.weight) AS total
        FROM unnest(%(terms)s::text[], %(weights)s::int[]) AS asked (term, weight)
        JOIN postings AS p ON p.tenant = %(tenant)s AND p.term = asked.term
        WHERE p.space = %(space)s AND p.scope = ANY(%(scopes)s) GROUP BY p.number
    ) AS f
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = f.number
    WHERE {_SHOWN} AND {HOLDS}{{kinds}} ORDER BY f.total DESC, m.id DESC LIMIT %(limit)s"""
_FITTING = f"""
    SELECT m.id, f.best FROM (
        SELECT p.number, max(asked.weight * p.value) AS best
        FROM unnest(%(terms)s::text[], %(probabilities)s::float8[]) AS asked (term, weight)
        JOIN postings AS p ON p.tenant = %(tenant)s AND p.term = asked.term
        WHERE p.space = %(space)s AND p.scope = ANY(%(scopes)s) GROUP BY p.number
    ) AS f
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = f.number
    WHERE {_SHOWN} AND f.best > 0 AND {HOLDS}{{kinds}} ORDER BY f.best DESC, m.id DESC LIMIT %(limit)s"""
_STANDING = f"""
    SELECT best.id, best.importance FROM unnest(%(kinds)s::text[]) AS asked (kind)
    CROSS JOIN unnest(%(scopes)s::int[]) AS seen (scope)
    CROSS JOIN LATERAL (
        SELECT id, pinned, {{breadth}} AS breadth, importance FROM memories
        WHERE tenant = %(tenant)s AND scope = seen.scope AND kind = asked.kind
            AND status = 'active' AND {HOLDS}
        ORDER BY pinned DESC, {{order}}importance DESC, id DESC LIMIT %(limit)s
    ) AS best
    ORDER BY best.pinned DESC, best.breadth DESC, best.importance DESC, best.id DESC LIMIT %(limit)s"""
_BY_ERROR = f"""
    SELECT id FROM memories
    WHERE tenant = %(tenant)s AND error_key = %(key)s AND error_key <> ''
        AND scope = ANY(%(scopes)s) AND status = 'active' AND {HOLDS} ORDER BY id DESC LIMIT %(limit)s"""


class PostgresSearch:
    """Rankings over the stored memories. Safe to share between threads."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._identities: dict[EmbedderIdentity, int] = {}

    def semantic(
        self,
        vector: Vectors,
        *,
        identity: EmbedderIdentity,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port. Cosines are computed from half-precision vectors, with an error of about 0.001."""
        if vector.shape != (identity.dimensions,):
            raise InvalidInput(
                f"The vector has shape {vector.shape}; {identity} needs ({identity.dimensions},)."
            )
        background: Background | None = None

        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            nonlocal background
            hits, background = nearest(
                transaction,
                vector,
                scopes,
                identity=identity,
                identity_number=self._identity(transaction, identity),
                limit=limit,
                now_ms=self._clock.now_ms(),
                kinds=kinds,
            )
            return hits

        ranking = self._ranking("semantic", scope, limit, search)
        return replace(ranking, background=background)

    def lexical(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """See the port."""
        return self._text("lexical", _terms_of(text), scope, limit, kinds)

    def code(
        self, text: str, *, scope: ScopeFilter, limit: int, kinds: Sequence[str] | None = None
    ) -> Ranking:
        """See the port."""
        terms = [stored_term(word) for word in code_query_words(clean_text(text))]
        return self._text("code", terms, scope, limit, kinds)

    def _text(
        self, space: str, terms: Sequence[str], scope: ScopeFilter, limit: int, kinds: Sequence[str] | None
    ) -> Ranking:
        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            chosen = choose_terms(transaction, SPACES[space], terms, scopes)
            now_ms = self._clock.now_ms()
            return best_by_words(transaction, chosen, scopes, limit=limit, now_ms=now_ms, kinds=kinds)

        return self._ranking(space, scope, limit, search if terms else _nothing)

    def word_table(
        self,
        words: Sequence[str],
        *,
        scope: ScopeFilter,
        limit: int,
        also: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        common: bool = True,
    ) -> WordTable:
        """See the port. Common words of a long text are left out if it would take too long to read their postings."""
        terms_of = [_terms_of(word) for word in words]
        table = WordTable(
            ids=(), scores=np.zeros((0, len(words)), np.float32), weights=np.zeros(len(words), np.float32)
        )

        def search(transaction: Transaction) -> WordTable:
            scopes = _searched(transaction, scope) if limit > 0 else ()
            if not scopes:
                return table
            every = [term for terms in terms_of for term in terms]
            chosen = choose_terms(transaction, WORDS, every, scopes, on_demand=common)
            ids, columns = scores_by_term(
                transaction, chosen, scopes, limit=limit, also=also, now_ms=self._clock.now_ms(), kinds=kinds
            )
            scores = np.zeros((len(ids), len(words)), np.float32)
            weights = np.zeros(len(words), np.float32)
            for place, terms in enumerate(terms_of):
                for term in dict.fromkeys(terms):
                    holding = chosen.frequencies.get(term, 0)
                    if term in columns:
                        scores[:, place] += columns[term]
                    if term in columns or not holding:
                        weights[place] = max(weights[place], idf(chosen.total, holding))
            return WordTable(ids=tuple(ids), scores=scores, weights=weights, complete=chosen.complete)

        return self._database.reading(search)

    def entity(
        self,
        entities: Sequence[Entity],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port. The idf of an entity is ln(1 + N / (1 + df)), where N and df count active memories in scope."""
        terms = list(dict.fromkeys(entity_term(entity) for entity in clean_value(tuple(entities))))

        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            values = {**self._values(scopes, limit, kinds), "space": ENTITIES, "terms": terms}
            held = count_documents(transaction, ENTITIES, terms, scopes)
            total = sum(stored.active for stored in scopes)
            weights = [round(math.log(1 + total / (1 + held.get(term, 0))) * UNIT) for term in terms]
            rows = transaction.rows(_of_kinds(_LINKED, kinds), {**values, "weights": weights})
            return [Hit(memory_id=name, score=int(matched) / sum(weights)) for name, matched in rows]

        return self._ranking("entity", scope, limit, search if terms else _nothing)

    def intent(
        self,
        actions: Sequence[tuple[str, float]],
        *,
        scope: ScopeFilter,
        limit: int,
        kinds: Sequence[str] | None = None,
    ) -> Ranking:
        """See the port. Weights are stored in steps of 1/200."""
        probabilities = {ALWAYS: 1.0}
        for name, probability in actions:
            term = stored_term(clean_text(name))
            probabilities[term] = max(float(probability), probabilities.get(term, 0.0))

        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            values = {
                **self._values(scopes, limit, kinds),
                "space": ACTIONS,
                "terms": list(probabilities),
                "probabilities": list(probabilities.values()),
            }
            rows = transaction.rows(_of_kinds(_FITTING, kinds), values)
            return [Hit(memory_id=name, score=float(best) / WEIGHT_STEPS) for name, best in rows]

        return self._ranking("intent", scope, limit, search)

    def standing(
        self, kinds: Sequence[str], *, scope: ScopeFilter, limit: int, broadest: bool = False
    ) -> Ranking:
        """See the port."""
        asked = list(dict.fromkeys(map(clean_text, kinds)))
        column, order = ("breadth", "breadth DESC, ") if broadest else ("0.0", "")

        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            rows = transaction.rows(
                _STANDING.format(breadth=column, order=order), self._values(scopes, limit, asked)
            )
            return [Hit(memory_id=name, score=importance) for name, importance in rows]

        return self._ranking("standing", scope, limit, search if asked else _nothing)

    def error(self, signature: str, *, scope: ScopeFilter, limit: int) -> Ranking:
        """See the port."""
        key = stored_term(clean_text(signature))

        def search(transaction: Transaction, scopes: tuple[StoredScope, ...]) -> list[Hit]:
            rows = transaction.rows(_BY_ERROR, {**self._values(scopes, limit, None), "key": key})
            return [Hit(memory_id=row[0], score=1.0) for row in rows]

        return self._ranking("error", scope, limit, search if key else _nothing)

    def _values(
        self, scopes: Sequence[StoredScope], limit: int, kinds: Sequence[str] | None
    ) -> dict[str, object]:
        return {
            "scopes": [stored.number for stored in scopes],
            "limit": limit,
            "now_ms": self._clock.now_ms(),
            "kinds": None if kinds is None else [clean_text(kind) for kind in kinds],
        }

    def _identity(self, transaction: Transaction, identity: EmbedderIdentity) -> int:
        """Return the number of an embedder's identity; 0 = it is not stored.

        The number never changes.
        """
        number = self._identities.get(identity, 0)
        if not number:
            number = transaction.number(_IDENTITY, identity_values(identity))
            if number:
                self._identities[identity] = number
        return number

    def _ranking(
        self,
        space: str,
        scope: ScopeFilter,
        limit: int,
        search: Callable[[Transaction, tuple[StoredScope, ...]], Iterable[Hit]],
    ) -> Ranking:
        began = self._clock.monotonic_ms()

        def work(transaction: Transaction) -> tuple[Hit, ...]:
            scopes = _searched(transaction, scope) if limit > 0 else ()
            return tuple(search(transaction, scopes)) if scopes else ()

        hits = self._database.reading(work)
        return Ranking(space=space, hits=hits, took_ms=self._clock.monotonic_ms() - began)


def _searched(transaction: Transaction, scope: ScopeFilter) -> tuple[StoredScope, ...]:
    """Return the scopes that hold active memories. No search finds other memories."""
    return tuple(stored for stored in transaction.scopes(scope) if stored.active)


def _terms_of(text: str) -> list[str]:
    """Return the terms of the words of `text` that a search uses."""
    return [term for word in query_words(clean_text(text)) for term in word_terms(word)]


def _nothing(_transaction: Transaction, _scopes: tuple[StoredScope, ...]) -> tuple[Hit, ...]:
    return ()


def _of_kinds(statement: str, kinds: Sequence[str] | None) -> str:
    return statement.format(kinds="" if kinds is None else OF_KINDS)
