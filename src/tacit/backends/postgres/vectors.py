"""Writes the vectors of memories. In: vectors, or memories that were written. Out: rows of `vectors`.

A row holds the vector in half precision, the signs of its values, and a copy of the columns of its memory that searches filter by. So a search by vector
reads only this table. Never reads the words of a memory.
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
    WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s)"""
_ADD = """
    INSERT INTO vectors (tenant, number, identity, scope, active, id, kind, valid_from_ms, valid_to_ms, bits, vector)
    SELECT %(tenant)s, m.number, %(identity)s, m.scope, m.status = 'active', m.id, m.kind, m.valid_from_ms,
        m.valid_to_ms, binary_quantize(new.vector::halfvec)::bit varying, new.vector::halfvec
    FROM unnest(%(numbers)s::bigint[], %(vectors)b::text[]) AS new (number, vector)
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = new.number"""
_FOLLOW = """
    UPDATE vectors AS v SET scope = m.scope, active = m.status = 'active', kind = m.kind, valid_from_ms = m.valid_from_ms,
        valid_to_ms = m.valid_to_ms
    FROM memories AS m
    WHERE v.tenant = %(tenant)s AND v.number = ANY(%(numbers)s)
        AND m.tenant = %(tenant)s AND m.number = v.number
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
    """Update the columns that the vectors' rows copy from the rows of their memories."""
    transaction.execute(_FOLLOW, {"numbers": list(numbers)})


def settle_vectors(
    transaction: Transaction,
    puts: Sequence[MemoryWrite],
    numbers: Mapping[str, int],
    vectors: Vectors | None,
    identity: EmbedderIdentity | None,
) -> None:
    """Remove the vectors of memories whose words changed, and store the given ones. If a memory is written several times, the last write counts.

    Args:
        transaction: the transaction of the write.
        puts: the memories that were written, in order.
        numbers: the numbers of the memories by id.
        vectors: the given vectors; `MemoryWrite.vector_row` is the row of a memory.
        identity: the embedder of the vectors.
    """
    fates = {numbers[put.memory.id]: put for put in puts if put.vector != "kept"}
    remove_vectors(transaction, list(fates))
    given = {number: put.vector_row for number, put in fates.items() if put.vector == "given"}
    if given and vectors is not None and identity is not None:
        add_vectors(transaction, list(given), vectors[list(given.values())], identity)


def add_vectors(
    transaction: Transaction, numbers: Sequence[int], vectors: Vectors, identity: EmbedderIdentity
) -> None:
    """Store a vector for each of the memories. None of them may have a vector yet."""
    transaction.execute(
        _ADD,
        {
            "identity": _identity_number(transaction, identity),
            "numbers": list(numbers),
            "vectors": [vector_text(vector) for vector in vectors],
        },
    )


def vector_text(vector: Vectors) -> str:
    """Return a vector in the text form of pgvector, rounded to half precision as it is stored."""
    return f"[{','.join(map(str, vector.astype(np.float16).tolist()))}]"


def _identity_number(transaction: Transaction, identity: EmbedderIdentity) -> int:
    """Return the number of an embedder's identity. A new identity is added."""
    values = {"name": clean_text(identity.name), "dimensions": identity.dimensions}
    return transaction.number(_FIND_IDENTITY, values) or transaction.number(_ADD_IDENTITY, values)
