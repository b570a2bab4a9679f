"""The memories of a team, their versions and their vectors. In: changes, ids, queries. Out: one transaction each.

A row holds a memory as it is now, its words as a text search vector, and its vector in half precision. Each write adds a version, which the feed of changes
returns. Everything that can be computed before a transaction is computed before it, so that other writers of the team wait as briefly as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.backends.changes import MemoryWrite, new_change_id, plan_changes
from tacit.backends.codec import clean_text, decode, encode, scope_named
from tacit.errors import NotFound
from tacit.model.changes import Change
from tacit.model.evidence import Hit
from tacit.model.memory import Memory
from tacit.model.scope import Scope
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.text.stemming import porter_stem
from tacit.text.tokens import fold_word, index_words, query_words
from tacit_server.postgres.connection import Connections, TenantDatabase

if TYPE_CHECKING:
    from tacit_server.postgres.transaction import Transaction

_LONGEST_TERM = 200
"""Longer terms are cut: PostgreSQL takes none of more than 2,046 bytes."""
_LAST_POSITION = 16_383
"""PostgreSQL stores no higher position of a word."""

_IN_SCOPES = "(%(everywhere)s OR scope = ANY(%(scopes)s))"
_STORED = "SELECT id, body FROM memories WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"
_GET = f"{_STORED} AND {_IN_SCOPES}"
_STATED_BY = """
    SELECT body FROM memories WHERE tenant = %(tenant)s AND source = %(source)s ORDER BY created_at_ms DESC, id"""
_BEGINNING = """
    SELECT body FROM memories
    WHERE tenant = %(tenant)s AND status = 'active' AND scope = %(scope)s AND starts_with(folded, %(start)s)
    ORDER BY created_at_ms DESC, id LIMIT %(limit)s"""
_SCOPES = "SELECT DISTINCT scope FROM memories WHERE tenant = %(tenant)s"
_NEXT_NUMBER = "UPDATE tenants SET change = change + %(count)s WHERE tenant = %(tenant)s RETURNING change"
_PUT = """
    INSERT INTO memories (tenant, id, scope, status, source, created_at_ms, valid_from_ms, valid_to_ms, folded, words, embedder, vector, body)
    VALUES (%(tenant)s, %(id)s, %(scope)s, %(status)s, %(source)s, %(created_at_ms)s, %(valid_from_ms)s, %(valid_to_ms)s, %(folded)s,
        %(words)s::tsvector, %(embedder)s, %(vector)s::halfvec, %(body)s)
    ON CONFLICT (tenant, id) DO UPDATE SET scope = excluded.scope, status = excluded.status, source = excluded.source,
        created_at_ms = excluded.created_at_ms, valid_from_ms = excluded.valid_from_ms, valid_to_ms = excluded.valid_to_ms,
        folded = excluded.folded, words = excluded.words, body = excluded.body,
        embedder = CASE WHEN %(keeps_vector)s THEN memories.embedder ELSE excluded.embedder END,
        vector = CASE WHEN %(keeps_vector)s THEN memories.vector ELSE excluded.vector END"""
_ADD_VERSION = """
    INSERT INTO versions (tenant, number, id, change_id, body) VALUES (%(tenant)s, %(number)s, %(id)s, %(change_id)s, %(body)s)"""
_REMOVE = "DELETE FROM memories WHERE tenant = %(tenant)s AND id = %(id)s"
_REMOVE_VERSIONS = "DELETE FROM versions WHERE tenant = %(tenant)s AND id = %(id)s"
_ADD_PURGE = """
    INSERT INTO purges (tenant, number, id, change_id) VALUES (%(tenant)s, %(number)s, %(id)s, %(change_id)s)"""
_SEARCH = f"""
    WITH seen AS MATERIALIZED (
        SELECT id,
            CASE WHEN embedder = %(embedder)s THEN -(vector <#> %(vector)s::halfvec) END AS cosine,
            CASE WHEN words @@ %(words)s::tsquery THEN ts_rank(words, %(words)s::tsquery, 1) END AS rank
        FROM memories
        WHERE tenant = %(tenant)s AND status = 'active' AND {_IN_SCOPES}
            AND valid_from_ms <= %(now_ms)s AND (valid_to_ms IS NULL OR valid_to_ms > %(now_ms)s)
    )
    (SELECT 'meaning', id, cosine FROM seen WHERE cosine IS NOT NULL ORDER BY cosine DESC, id DESC LIMIT %(limit)s)
    UNION ALL
    (SELECT 'words', id, rank FROM seen WHERE rank IS NOT NULL ORDER BY rank DESC, id DESC LIMIT %(limit)s)"""
"""Searches by meaning and by words in one statement. `ts_rank(..., 1)` divides by 1 + the logarithm of the length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """The vector of a query, and the embedder that made it."""

    vector: Vectors
    identity: EmbedderIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHits:
    """What a search found: the hits by meaning (scores are cosines) and those by words, best first, ties by id."""

    meaning: tuple[Hit, ...]
    words: tuple[Hit, ...]


class TeamMemories:
    """The memories that a team shares. Safe to share between threads; any number of processes may serve the same team."""

    def __init__(self, connections: Connections, tenant: str, *, clock: Clock, principal: str) -> None:
        """Open the memories of the team whose tenant is called `tenant`, for `principal`; see `TenantDatabase`."""
        self._clock = clock
        self.database = TenantDatabase(connections, tenant, principal=principal)

    def apply(
        self,
        changes: Sequence[Change],
        *,
        vectors: Vectors | None = None,
        identity: EmbedderIdentity | None = None,
        beside: Callable[[Transaction], None],
    ) -> None:
        """Write changes in one transaction.

        Args:
            changes: the changes, in order.
            vectors: a vector for each change that brings words; None = there are none.
            identity: the embedder of the vectors.
            beside: runs first in the same transaction; if it raises, nothing is written.

        Raises:
            NotFound: a change names a memory that is not stored.
            InvalidInput: a new memory has the id of a stored one, or the vectors have the wrong shape.
        """
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)

        def work(transaction: Transaction) -> None:
            beside(transaction)
            plan = plan_changes(
                changes,
                find=lambda name: stored_memories(transaction, [name]).get(name),
                vectors=vectors,
                identity=identity,
                now_ms=now_ms,
            )
            first = _next_numbers(transaction, len(plan.puts))
            for number, put in enumerate(plan.puts, first):
                given = vectors[put.vector_row] if vectors is not None and put.vector == "given" else None
                body = encode(put.memory)
                transaction.execute(_PUT, _columns(put, body, given, identity))
                values = {"number": number, "id": put.memory.id, "change_id": change_id, "body": body}
                transaction.execute(_ADD_VERSION, values)

        self.database.writing(work, alone=True)

    def purge(self, memory_id: str, *, beside: Callable[[Transaction], None]) -> None:
        """Remove a memory with all of its versions for good. `beside` runs first in the same transaction.

        Raises:
            NotFound: there is no such memory.
        """
        change_id = new_change_id(self._clock)

        def work(transaction: Transaction) -> None:
            beside(transaction)
            if not transaction.execute(_REMOVE, {"id": memory_id}).rowcount:
                raise NotFound(f"No memory {memory_id[:40]!r}; nothing was changed.")
            transaction.execute(_REMOVE_VERSIONS, {"id": memory_id})
            values = {"number": _next_numbers(transaction, 1), "id": memory_id, "change_id": change_id}
            transaction.execute(_ADD_PURGE, values)

        self.database.writing(work, alone=True)

    def get(self, ids: Sequence[str], *, scopes: Sequence[Scope] | None = None) -> tuple[Memory, ...]:
        """Return the memories among `ids`, of any status, in their order. `scopes` = only of these scopes."""
        values = {"ids": list(map(clean_text, ids)), **_shown(scopes)}
        found = {
            name: decode(Memory, body) for name, body in self.database.reading(lambda t: t.rows(_GET, values))
        }
        return tuple(found[name] for name in dict.fromkeys(map(clean_text, ids)) if name in found)

    def stated_by(self, source: str) -> tuple[Memory, ...]:
        """Return the memories of an author, of any status, newest first."""
        return self._memories(_STATED_BY, {"source": source})

    def beginning_with(self, text: str, *, scope: Scope, limit: int) -> tuple[Memory, ...]:
        """Return active memories of a scope that begin with `text`, whatever the case of its letters, newest first."""
        return self._memories(
            _BEGINNING, {"start": text.casefold(), "scope": clean_text(str(scope)), "limit": limit}
        )

    def scopes(self) -> tuple[Scope, ...]:
        """Return the scopes of all memories."""
        rows = self.database.reading(lambda transaction: transaction.rows(_SCOPES))
        return tuple(scope_named(str(row[0])) for row in rows)

    def search(
        self,
        text: str,
        query: QueryVector | None,
        *,
        limit: int,
        scopes: Sequence[Scope] | None = None,
    ) -> FoundHits:
        """Return the active memories nearest to a query, and those that hold most of its words. Every memory of the team is compared.

        Args:
            text: the words of the query; "" = search by meaning alone.
            query: the vector of the query; None = search by words alone. Vectors of other embedders are not compared.
            limit: largest number of hits of each kind.
            scopes: only memories of these scopes; None = of all.
        """
        values = {
            "words": _query_text(text),
            "vector": None if query is None else _vector_text(query.vector),
            "embedder": None if query is None else clean_text(str(query.identity)),
            "now_ms": self._clock.now_ms(),
            "limit": limit,
            **_shown(scopes),
        }
        rows = self.database.reading(lambda transaction: transaction.rows(_SEARCH, values))
        hits = {arm: tuple(Hit(name, float(score)) for of, name, score in rows if of == arm) for arm in ("meaning", "words")}  # fmt: skip
        return FoundHits(meaning=hits["meaning"], words=hits["words"])

    def _memories(self, statement: str, values: dict[str, object]) -> tuple[Memory, ...]:
        rows = self.database.reading(lambda transaction: transaction.rows(statement, values))
        return tuple(decode(Memory, row[0]) for row in rows)


def stored_memories(transaction: Transaction, ids: Sequence[str]) -> dict[str, Memory]:
    """Return the memories among `ids`, of any status, by id."""
    rows = transaction.rows(_STORED, {"ids": list(map(clean_text, ids))})
    return {name: decode(Memory, body) for name, body in rows}


def _next_numbers(transaction: Transaction, count: int) -> int:
    """Take `count` numbers of the feed, and return the first. The tenant's row stays locked, so that entries are stored in the order of their numbers."""
    transaction.tell()
    return transaction.number(_NEXT_NUMBER, {"count": count}) - count + 1


def _shown(scopes: Sequence[Scope] | None) -> dict[str, object]:
    return {"everywhere": scopes is None, "scopes": [clean_text(str(scope)) for scope in scopes or ()]}


def _columns(
    put: MemoryWrite, body: str, vector: Vectors | None, identity: EmbedderIdentity | None
) -> dict[str, object]:
    memory = put.memory
    return {
        "id": memory.id,
        "scope": str(memory.scope),
        "status": memory.status,
        "source": memory.provenance.source,
        "created_at_ms": memory.created_at_ms,
        "valid_from_ms": memory.validity.valid_from_ms,
        "valid_to_ms": memory.validity.valid_to_ms,
        "folded": memory.content.casefold(),
        "words": _words_text(memory.search_text),
        "embedder": None if vector is None else str(identity),
        "vector": None if vector is None else _vector_text(vector),
        "keeps_vector": put.vector == "kept",
        "body": body,
    }


def _terms(text: str) -> list[str]:
    """Return the stems of all words of `text`, in order."""
    stems = (porter_stem(fold_word(word))[:_LONGEST_TERM] for word in index_words(clean_text(text)))
    return [stem for stem in stems if stem]


def _words_text(text: str) -> str:
    """Return the words of a memory in the text form of `tsvector`."""
    terms = _terms(text)[:_LAST_POSITION]
    return " ".join(f"{_quoted(term)}:{place}" for place, term in enumerate(terms, 1))


def _query_text(text: str) -> str | None:
    """Return a query for any of the words of `text` in the text form of `tsquery`; None = it has no words to search for."""
    terms = dict.fromkeys(term for word in query_words(clean_text(text)) for term in _terms(word))
    return " | ".join(map(_quoted, terms)) or None


def _quoted(term: str) -> str:
    """Return a term in quotes, so that none of its characters is read as syntax."""
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _vector_text(vector: Vectors) -> str:
    """Return a vector in the text form of pgvector, rounded to half precision as it is stored."""
    return f"[{','.join(map(str, vector.astype(np.float16).tolist()))}]"
