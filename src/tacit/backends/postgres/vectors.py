"""Write vectors. In: vectors, or memories that were written. Out: rows that stand beside what searches filter by.

A vector is kept in half precision with the signs of its values, and with what its memory is filtered by, so that a search reads one
table. Never reads a memory's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit.backends.changes import MemoryWrite
from tacit.backends.text import clean_text
from tacit.ports.models import EmbedderIdentity, Vectors

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_REMOVE = """
    DELETE FROM vectors
    WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s) AND number = ANY(%(numbers)s)"""
_ADD = """
    INSERT INTO vectors (tenant, placement, number, identity, scope, active, id, kind, valid_from_ms, valid_to_ms, bits, vector)
    SELECT %(tenant)s, %(placement)s, m.number, %(identity)s, m.scope, m.status = 'active', m.id, m.kind, m.valid_from_ms,
        m.valid_to_ms, binary_quantize(new.vector::halfvec)::bit varying, new.vector::halfvec
    FROM unnest(%(numbers)s::bigint[], %(vectors)s::text[]) AS new (number, vector)
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.placement = ANY(%(placements)s) AND m.number = new.number"""
_FOLLOW = """
    UPDATE vectors AS v SET scope = m.scope, active = m.status = 'active', kind = m.kind, valid_from_ms = m.valid_from_ms,
        valid_to_ms = m.valid_to_ms
    FROM memories AS m
    WHERE v.tenant = %(tenant)s AND v.placement = ANY(%(placements)s) AND v.number = ANY(%(numbers)s)
        AND m.tenant = %(tenant)s AND m.placement = ANY(%(placements)s) AND m.number = v.number
        AND (v.scope, v.active, v.kind, v.valid_from_ms, v.valid_to_ms)
            IS DISTINCT FROM (m.scope, m.status = 'active', m.kind, m.valid_from_ms, m.valid_to_ms)"""
_FIND_IDENTITY = """
    SELECT identity FROM identities
    WHERE tenant = %(tenant)s AND name = %(name)s AND dimensions = %(dimensions)s"""
_ADD_IDENTITY = """
    INSERT INTO identities (tenant, identity, name, dimensions)
    SELECT %(tenant)s, coalesce(max(identity), 0) + 1, %(name)s, %(dimensions)s FROM identities WHERE tenant = %(tenant)s
    RETURNING identity"""


def remove_vectors(transaction: Transaction, numbers: Sequence[int]) -> None:
    """Remove the vectors of memories."""
    if numbers:
        transaction.execute(_REMOVE, {"numbers": list(numbers)})


def follow_memories(transaction: Transaction, numbers: Sequence[int]) -> None:
    """Make what stands beside the vectors of memories as their rows are now."""
    transaction.execute(_FOLLOW, {"numbers": list(numbers)})


def settle_vectors(
    transaction: Transaction,
    puts: Sequence[MemoryWrite],
    numbers: Mapping[str, int],
    vectors: Vectors | None,
    identity: EmbedderIdentity | None,
) -> None:
    """Drop the vectors of changed words, and put those that came along; the last word on a memory counts."""
    fates = {numbers[put.memory.id]: put for put in puts if put.vector != "kept"}
    remove_vectors(transaction, list(fates))
    given = {number: put.vector_row for number, put in fates.items() if put.vector == "given"}
    if given and vectors is not None and identity is not None:
        add_vectors(transaction, list(given), vectors[list(given.values())], identity)


def add_vectors(
    transaction: Transaction, numbers: Sequence[int], vectors: Vectors, identity: EmbedderIdentity
) -> None:
    """Store vectors of memories that have none."""
    transaction.execute(
        _ADD,
        {
            "identity": _identity_number(transaction, identity),
            "numbers": list(numbers),
            "vectors": [vector_text(vector) for vector in vectors],
        },
    )


def vector_text(vector: Vectors) -> str:
    """A vector as pgvector reads it, rounded as it is stored."""
    return f"[{','.join(map(str, vector.astype(np.float16).tolist()))}]"


def _identity_number(transaction: Transaction, identity: EmbedderIdentity) -> int:
    """The row of an embedder's identity, added when it is new."""
    values = {"name": clean_text(identity.name), "dimensions": identity.dimensions}
    return transaction.number(_FIND_IDENTITY, values) or transaction.number(_ADD_IDENTITY, values)
