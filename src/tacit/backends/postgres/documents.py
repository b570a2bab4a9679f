"""The searchable parts of a memory: its words, code, entities and trigger. In: memories. Out: postings, and counts of them.

A posting says that a memory holds a term in one of four spaces. Only active memories have postings. Every write also counts how many memories of a scope
hold a term, so that searches need not count. Never reads a posting to find out what a memory says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from tacit.backends.text import linked_entities, memory_code_words
from tacit.model.memory import Entity, Memory
from tacit.model.trigger import Trigger
from tacit.text.stemming import porter_stem
from tacit.text.tokens import fold_word, index_words

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

WORDS, CODE, ENTITIES, ACTIONS = range(4)
"""The spaces of terms. The value of a posting is the number of words of its document; of an action, its weight in steps."""

WEIGHT_STEPS = 200
"""Trigger weights (0-1) are kept as 0-200: the usual weights 1, 0.67, 0.33 and 0.25 are exact."""
ALWAYS, ALWAYS_WEIGHT = "", 0.25
"""The action of a trigger that applies always, or wherever it names places only, and what it counts for."""

_LONGEST_TERM = 200
"""Longer terms are cut and told apart by a hash: an index takes no more than 2,700 bytes."""
_BETWEEN = "\x1f"

Posting = tuple[int, str, int]
"""Space, term, value."""
TermCounts = Counter[tuple[int, str, int]]
"""How many documents hold a term, by space, term and scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The terms by which searches find a memory."""

    postings: frozenset[Posting]
    words: int
    code: int


NO_DOCUMENT = Document(postings=frozenset(), words=0, code=0)


def stored_term(term: str) -> str:
    """Return a term in its stored form."""
    if len(term) <= _LONGEST_TERM:
        return term
    return f"{term[:_LONGEST_TERM]}{_BETWEEN}{blake2b(term.encode(), digest_size=12).hexdigest()}"


def word_terms(text: str) -> list[str]:
    """Return the stems of all words of `text`, in order."""
    return [stored_term(porter_stem(fold_word(word))) for word in index_words(text)]


def entity_term(entity: Entity) -> str:
    """Return the term of an entity."""
    return stored_term(f"{entity.kind}{_BETWEEN}{entity.key}")


def document_of(memory: Memory) -> Document:
    """Return the document of a memory; a memory that is not active has an empty one."""
    if memory.status != "active":
        return NO_DOCUMENT
    words = word_terms(memory.search_text)
    code = [stored_term(word) for word in memory_code_words(memory)]
    postings = {(WORDS, term, len(words)) for term in words}
    postings |= {(CODE, term, len(code)) for term in code}
    postings |= {(ENTITIES, entity_term(entity), 0) for entity in linked_entities(memory)}
    postings |= {(ACTIONS, term, steps) for term, steps in _weights(memory.trigger).items()}
    return Document(postings=frozenset(postings), words=len(words), code=len(code))


def _weights(trigger: Trigger) -> Mapping[str, int]:
    weights: dict[str, int] = {}
    if trigger.always or trigger.places_only:
        weights[ALWAYS] = round(ALWAYS_WEIGHT * WEIGHT_STEPS)
    for name, weight in trigger.actions:
        term = stored_term(name)
        weights[term] = max(weights.get(term, 0), 1, round(weight * WEIGHT_STEPS))
    return weights


_REMOVE = """
    DELETE FROM postings
    WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s)
    RETURNING number, space, term, scope, value"""
_ADD = """
    INSERT INTO postings (tenant, space, term, scope, number, value)
    SELECT %(tenant)s, space, term, scope, number, value
    FROM unnest(%(spaces)b::smallint[], %(terms)b::text[], %(scopes)b::int[], %(numbers)b::bigint[], %(values)b::int[])
        AS new (space, term, scope, number, value)"""
_COUNT = """
    INSERT INTO terms (tenant, space, term, scope, documents)
    SELECT %(tenant)s, space, term, scope, documents
    FROM unnest(%(spaces)b::smallint[], %(terms)b::text[], %(scopes)b::int[], %(counts)b::bigint[])
        AS new (space, term, scope, documents)
    ON CONFLICT (tenant, space, term, scope) DO UPDATE SET documents = terms.documents + excluded.documents"""
_FORGET = """
    DELETE FROM terms AS t
    USING unnest(%(spaces)b::smallint[], %(terms)b::text[], %(scopes)b::int[]) AS old (space, term, scope)
    WHERE t.tenant = %(tenant)s AND t.space = old.space AND t.term = old.term AND t.scope = old.scope
        AND t.documents <= 0"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """The new document of a memory."""

    number: int
    scope: int
    document: Document


def put_documents(transaction: Transaction, writes: Sequence[DocumentWrite]) -> Counter[tuple[int, str]]:
    """Replace the postings of memories, and update the counts of terms. Return the change of the number of words, by scope and `words` or `code`."""
    counts: TermCounts = Counter()
    lengths: Counter[tuple[int, str]] = Counter()
    seen: set[tuple[int, int]] = set()
    removed = transaction.rows(_REMOVE, {"numbers": [write.number for write in writes]})
    for number, space, term, scope, value in removed:
        counts[space, term, scope] -= 1
        if space in (WORDS, CODE) and (number, space) not in seen:
            seen.add((number, space))
            lengths[scope, "words" if space == WORDS else "code"] -= value
    added = [(write, posting) for write in writes for posting in sorted(write.document.postings)]
    for write, (space, term, _) in added:
        counts[space, term, write.scope] += 1
    for write in writes:
        lengths[write.scope, "words"] += write.document.words
        lengths[write.scope, "code"] += write.document.code
    if added:
        transaction.execute(
            _ADD,
            {
                "spaces": [posting[0] for _, posting in added],
                "terms": [posting[1] for _, posting in added],
                "scopes": [write.scope for write, _ in added],
                "numbers": [write.number for write, _ in added],
                "values": [posting[2] for _, posting in added],
            },
        )
    _count_terms(transaction, counts)
    return lengths


def _count_terms(transaction: Transaction, counts: TermCounts) -> None:
    moved = sorted((key, count) for key, count in counts.items() if count and key[0] != ACTIONS)
    if not moved:
        return
    transaction.execute(
        _COUNT, {**_columns([key for key, _ in moved]), "counts": [count for _, count in moved]}
    )
    if fewer := [key for key, count in moved if count < 0]:
        transaction.execute(_FORGET, _columns(fewer))


def _columns(keys: Sequence[tuple[int, str, int]]) -> dict[str, object]:
    return {
        "spaces": [key[0] for key in keys],
        "terms": [key[1] for key in keys],
        "scopes": [key[2] for key in keys],
    }
