"""Writes changes of memories, many rows at once. In: changes and vectors. Out: rows. Never begins or ends a transaction.

The caller must hold the lock of the tenant. A transaction with many changes needs as many statements as one with a single change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tacit.backends.changes import (
    check_expected,
    check_vectors,
    dated_change_id,
    plan_changes,
    stale_version_error,
)
from tacit.backends.codec import decode_memory, encode, encode_reason
from tacit.backends.postgres.documents import (
    NO_DOCUMENT,
    DocumentWrite,
    document_of,
    put_documents,
    stored_term,
)
from tacit.backends.postgres.scopes import scope_numbers
from tacit.backends.postgres.vectors import add_vectors, follow_memories, remove_vectors, settle_vectors
from tacit.backends.text import clean_text, clean_value
from tacit.errors import NotFound
from tacit.model.changes import Change, Contradict, Retire, Skip, Supersede
from tacit.model.memory import Memory, Relation
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import Recorded

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_COLUMNS = {
    "scope": "int", "kind": "text", "status": "text", "source": "text", "tier": "smallint", "sensitivity": "smallint",
    "host": "text", "session_id": "text", "valid_from_ms": "bigint", "valid_to_ms": "bigint", "created_at_ms": "bigint",
    "updated_at_ms": "bigint", "importance": "float8", "breadth": "float8", "pinned": "boolean", "error_key": "text",
    "folded": "text", "use_count": "bigint", "shown_count": "bigint", "change": "bigint", "version": "bigint", "body": "text",
}  # fmt: skip
"""The columns that a write sets, with their types."""
_NAMES = ", ".join(_COLUMNS)
_ARRAYS = ", ".join(f"%({name}){'b' if kind == 'text' else 's'}::{kind}[]" for name, kind in _COLUMNS.items())
"""Texts are sent in binary form (`b`): psycopg escapes each quote of a text array in Python, which was almost half of the work of a write."""

_STORED = """
    SELECT id, number, scope, version, use_count, shown_count, body FROM memories
    WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"""
_NEXT_CHANGE = "UPDATE tenants SET change = change + %(count)s WHERE tenant = %(tenant)s RETURNING change"
_NEWEST_CHANGE = """
    SELECT v.change_id FROM versions AS v
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = v.number
    WHERE v.tenant = %(tenant)s AND m.id = %(id)s
    ORDER BY v.version DESC LIMIT 1"""
_ADD = f"""
    INSERT INTO memories (tenant, number, id, {_NAMES})
    SELECT %(tenant)s, nextval('memory_numbers'), id, {_NAMES}
    FROM unnest(%(ids)s::text[], {_ARRAYS}) AS new (id, {_NAMES})
    RETURNING id, number"""
_UPDATE = f"""
    UPDATE memories AS m SET {", ".join(f"{name} = new.{name}" for name in _COLUMNS)}
    FROM unnest(%(numbers)s::bigint[], {_ARRAYS}) AS new (number, {_NAMES})
    WHERE m.tenant = %(tenant)s AND m.number = new.number"""
_ADD_VERSIONS = """
    INSERT INTO versions (tenant, told, number, version, scope, recorded_at_ms, change_id, reason, body)
    SELECT %(tenant)s, %(before)s + place, number, version, scope, at_ms, change_id, reason, body
    FROM unnest(%(numbers)s::bigint[], %(versions)s::bigint[], %(scopes)s::int[], %(times)s::bigint[],
        %(change_ids)b::text[], %(reasons)b::text[], %(bodies)b::text[])
        WITH ORDINALITY AS new (number, version, scope, at_ms, change_id, reason, body, place)"""
_COUNT_SCOPES = """
    UPDATE scopes AS s SET total = s.total + new.total, active = s.active + new.active, words = s.words + new.words,
        code = s.code + new.code, change = %(change)s, moved = CASE WHEN new.moved THEN %(change)s ELSE s.moved END
    FROM unnest(%(scopes)s::int[], %(totals)s::bigint[], %(actives)s::bigint[], %(words)s::bigint[], %(codes)s::bigint[],
        %(moveds)s::boolean[]) AS new (scope, total, active, words, code, moved)
    WHERE s.tenant = %(tenant)s AND s.scope = new.scope"""
_REMOVE = """
    DELETE FROM memories
    WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s)"""
_MARK_CHANGED = """
    UPDATE memories SET change = %(change)s
    WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s)
    RETURNING scope"""
_MARK_SCOPES = "UPDATE scopes SET change = %(change)s WHERE tenant = %(tenant)s AND scope = ANY(%(scopes)s)"
_RELATE = """
    INSERT INTO relations (tenant, source, target, type, weight)
    SELECT %(tenant)s, source, target, type, weight
    FROM unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(types)s::text[], %(weights)s::float8[])
        AS new (source, target, type, weight)
    ON CONFLICT (tenant, source, target, type) DO UPDATE SET weight = excluded.weight"""
_UNRELATE = """
    DELETE FROM relations AS r USING unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(types)s::text[])
        AS old (source, target, type)
    WHERE r.tenant = %(tenant)s AND r.source = old.source AND r.target = old.target AND r.type = old.type"""
_NEWEST_TIMES = """
    SELECT m.id, max(v.recorded_at_ms) FROM memories AS m
    JOIN versions AS v ON v.tenant = %(tenant)s AND v.number = m.number
    WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s) GROUP BY m.id"""
_SET_USES = """
    UPDATE memories AS m SET use_count = new.uses
    FROM unnest(%(ids)s::text[], %(counts)s::bigint[]) AS new (id, uses)
    WHERE m.tenant = %(tenant)s AND m.id = new.id AND m.use_count <> new.uses"""
_COUNT_SHOWN = """
    UPDATE memories SET shown_count = shown_count + 1
    WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"""
_COUNT_USED = """
    UPDATE memories SET use_count = use_count + 1
    WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """A memory as its row stores it."""

    memory: Memory
    number: int
    scope: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A version to append."""

    memory: Memory
    reason: str
    at_ms: int
    change_id: str


def read_stored(transaction: Transaction, ids: Iterable[str]) -> dict[str, StoredMemory]:
    """Return the stored memories among `ids`, by id."""
    return {
        row[0]: StoredMemory(
            memory=decode_memory(row[6], row[4], row[5]), number=row[1], scope=row[2], version=row[3]
        )
        for row in transaction.rows(_STORED, {"ids": list(dict.fromkeys(ids))})
    }


def apply_changes(
    transaction: Transaction,
    changes: Sequence[Change],
    *,
    vectors: Vectors | None,
    identity: EmbedderIdentity | None,
    now_ms: int,
    change_id: str,
    expected: Mapping[str, str] | None = None,
) -> bool:
    """Write `changes` under `change_id`; see the port for their meaning. Return whether anything was written.

    Raises:
        NotFound, InvalidInput, Conflict: as `plan_changes` and `check_expected`; the caller rolls back.
    """
    check_expected(expected or {}, lambda name: _newest_change(transaction, name))
    stored = read_stored(transaction, (name for change in changes for name in _named(clean_value(change))))

    def find(name: str) -> Memory | None:
        known = stored.get(name)
        return None if known is None else known.memory

    plan = plan_changes(changes, find=find, vectors=vectors, identity=identity, now_ms=now_ms)
    if not plan.puts:
        return False
    numbers = _put_versions(
        transaction,
        [
            _Version(memory=put.memory, reason=encode_reason(put.reason), at_ms=now_ms, change_id=change_id)
            for put in plan.puts
        ],
        stored,
    )
    settle_vectors(transaction, plan.puts, numbers, vectors, identity)
    relate(transaction, plan.relations)
    return True


def _named(change: Change) -> tuple[str, ...]:
    """Return the ids of the memories that a change names."""
    match change:
        case Supersede():
            return (change.memory.id, change.old_id, *change.further, *change.contested)
        case Contradict():
            return (change.memory.id, change.other_id, *change.further)
        case Retire():
            return (change.memory_id,)
        case Skip():
            return ()
        case _:
            return (change.memory.id,)


def _newest_change(transaction: Transaction, memory_id: str) -> str:
    row = transaction.row(_NEWEST_CHANGE, {"id": clean_text(memory_id)})
    return "" if row is None else str(row[0])


def next_change(transaction: Transaction, count: int = 1) -> int:
    """Raise the change counter of the tenant by `count`, and return it. The tenant's row stays locked, so that numbers are stored in their order."""
    return transaction.number(_NEXT_CHANGE, {"count": count})


def _put_versions(
    transaction: Transaction, versions: Sequence[_Version], stored: Mapping[str, StoredMemory]
) -> dict[str, int]:
    """Append versions in order, and update each memory and its search data to its last version. Return the numbers of the memories by id."""
    change = next_change(transaction, len(versions))
    scopes = scope_numbers(transaction, (version.memory.scope for version in versions))
    last: dict[str, tuple[Memory, int]] = {}
    numbered: list[tuple[_Version, int]] = []
    for version in versions:
        name = version.memory.id
        before = last[name][1] if name in last else (stored[name].version if name in stored else 0)
        last[name] = (version.memory, before + 1)
        numbered.append((version, before + 1))
    new = [name for name in last if name not in stored]
    old = [name for name in last if name in stored]
    numbers = {name: stored[name].number for name in old}
    if new:
        rows = [_row(*last[name], scopes[last[name][0].scope], change) for name in new]
        numbers |= dict(transaction.rows(_ADD, {"ids": new, **_transposed(rows)}))
    if old:
        rows = [_row(*last[name], scopes[last[name][0].scope], change) for name in old]
        transaction.execute(_UPDATE, {"numbers": [numbers[name] for name in old], **_transposed(rows)})
    transaction.execute(
        _ADD_VERSIONS,
        {
            "before": change - len(versions),
            "numbers": [numbers[version.memory.id] for version, _ in numbered],
            "versions": [number for _, number in numbered],
            "scopes": [scopes[version.memory.scope] for version, _ in numbered],
            "times": [version.at_ms for version, _ in numbered],
            "change_ids": [version.change_id for version, _ in numbered],
            "reasons": [version.reason for version, _ in numbered],
            "bodies": [encode(version.memory) for version, _ in numbered],
        },
    )
    after = {name: (memory, scopes[memory.scope]) for name, (memory, _) in last.items()}
    reindex(transaction, after, stored, numbers, change)
    return numbers


def _row(memory: Memory, version: int, scope: int, change: int) -> tuple[object, ...]:
    """Return the values of `_COLUMNS`, in order."""
    validity, provenance = memory.validity, memory.provenance
    return (
        scope, memory.kind, memory.status, provenance.source, provenance.tier.value, int(memory.sensitivity),
        provenance.host, provenance.session_id, validity.valid_from_ms, validity.valid_to_ms, memory.created_at_ms,
        memory.updated_at_ms, float(memory.importance), float(memory.trigger.reach), memory.pinned, stored_term(memory.error_signature),
        clean_text(memory.content.casefold()), memory.use_count, memory.shown_count, change, version, encode(memory),
    )  # fmt: skip


def _transposed(rows: Sequence[tuple[object, ...]]) -> dict[str, object]:
    return {name: list(column) for name, column in zip(_COLUMNS, zip(*rows, strict=True), strict=True)}


def reindex(
    transaction: Transaction,
    after: Mapping[str, tuple[Memory, int]],
    stored: Mapping[str, StoredMemory],
    numbers: Mapping[str, int],
    change: int,
) -> None:
    """Update postings, counts, and the columns beside the vectors after memories were written.

    Args:
        transaction: the transaction of the write.
        after: each written memory with the number of its scope, by id.
        stored: the memories as they were stored before, by id; new ones are missing.
        numbers: the numbers of the memories by id.
        change: the change counter of this write.
    """
    totals: Counter[int] = Counter()
    actives: Counter[int] = Counter()
    left: set[int] = set()
    documents: list[DocumentWrite] = []
    for name, (memory, scope) in after.items():
        before = stored.get(name)
        totals[scope] += 1
        actives[scope] += memory.status == "active"
        document = document_of(memory)
        if before is not None:
            totals[before.scope] -= 1
            actives[before.scope] -= before.memory.status == "active"
            left |= {before.scope} - {scope}
            if before.scope == scope and document_of(before.memory) == document:
                continue
        documents.append(DocumentWrite(number=numbers[name], scope=scope, document=document))
    lengths = put_documents(transaction, documents) if documents else Counter[tuple[int, str]]()
    _count_scopes(transaction, change, totals, actives, lengths, left)
    follow_memories(transaction, list(numbers.values()))


def _count_scopes(  # noqa: PLR0917 - what a scope counts
    transaction: Transaction,
    change: int,
    totals: Counter[int],
    actives: Counter[int],
    lengths: Counter[tuple[int, str]],
    left: set[int],
) -> None:
    """Add to the counts of scopes. `left` = the scopes that a memory left."""
    touched = sorted(totals)
    transaction.execute(
        _COUNT_SCOPES,
        {
            "change": change,
            "scopes": touched,
            "totals": [totals[scope] for scope in touched],
            "actives": [actives[scope] for scope in touched],
            "words": [lengths[scope, "words"] for scope in touched],
            "codes": [lengths[scope, "code"] for scope in touched],
            "moveds": [scope in left for scope in touched],
        },
    )


def rewrite_memories(transaction: Transaction, after: Mapping[str, Memory], change: int) -> None:
    """Replace the words of stored memories without a new version. Vectors of changed statements are removed."""
    stored = read_stored(transaction, after)
    numbers = {name: one.number for name, one in stored.items()}
    rows = [_row(after[name], one.version, one.scope, change) for name, one in stored.items()]
    transaction.execute(_UPDATE, {"numbers": list(numbers.values()), **_transposed(rows)})
    placed = {name: (after[name], one.scope) for name, one in stored.items()}
    reindex(transaction, placed, stored, numbers, change)
    other = [one.number for name, one in stored.items() if one.memory.content != after[name].content]
    remove_vectors(transaction, other)


def remove_memories(transaction: Transaction, ids: Iterable[str]) -> None:
    """Remove the rows of memories and their search data. The caller removes versions and relations."""
    stored = read_stored(transaction, ids)
    if not stored:
        return
    gone = [
        DocumentWrite(number=one.number, scope=one.scope, document=NO_DOCUMENT) for one in stored.values()
    ]
    lengths = put_documents(transaction, gone)
    numbers = [one.number for one in stored.values()]
    remove_vectors(transaction, numbers)
    transaction.execute(_REMOVE, {"numbers": numbers})
    totals = Counter(one.scope for one in stored.values())
    actives = Counter(one.scope for one in stored.values() if one.memory.status == "active")
    change = next_change(transaction)
    fewer = Counter({scope: -count for scope, count in totals.items()})
    fewer_active = Counter({scope: -count for scope, count in actives.items()})
    _count_scopes(transaction, change, fewer, fewer_active, lengths, set(totals))


def put_vectors(
    transaction: Transaction, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity
) -> None:
    """Store vectors; see the port.

    Raises:
        NotFound: an id names no memory; the caller rolls back.
    """
    check_vectors(vectors, identity, len(ids))
    if not ids:
        return
    change = next_change(transaction)
    rows = {clean_text(name): row for row, name in enumerate(ids)}
    numbers = memory_numbers(transaction, rows)
    for name in ids:
        if clean_text(name) not in numbers:
            raise NotFound(f"No memory {name!r} to store a vector for; nothing was changed.")
    values = {"change": change, "numbers": [numbers[name] for name in rows]}
    scopes = {row[0] for row in transaction.rows(_MARK_CHANGED, values)}
    transaction.execute(_MARK_SCOPES, {"change": change, "scopes": sorted(scopes)})
    remove_vectors(transaction, [numbers[name] for name in rows])
    add_vectors(
        transaction, [numbers[name] for name in rows], np.asarray(vectors)[list(rows.values())], identity
    )


_NUMBERS = """
    SELECT id, number FROM memories
    WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)"""


def memory_numbers(transaction: Transaction, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers of the stored memories among `ids`, by id."""
    return dict(transaction.rows(_NUMBERS, {"ids": list(dict.fromkeys(ids))}))


def unrelate(transaction: Transaction, relations: Iterable[Relation]) -> None:
    """Remove relations."""
    edges = clean_value(tuple(relations))
    numbers = memory_numbers(transaction, (end for edge in edges for end in (edge.source_id, edge.target_id)))
    known = [edge for edge in edges if edge.source_id in numbers and edge.target_id in numbers]
    transaction.execute(
        _UNRELATE,
        {
            "sources": [numbers[edge.source_id] for edge in known],
            "targets": [numbers[edge.target_id] for edge in known],
            "types": [edge.type for edge in known],
        },
    )


def relate(transaction: Transaction, relations: Iterable[Relation]) -> None:
    """Add relations, or change their weights.

    Raises:
        NotFound: a relation names a memory that does not exist; the caller rolls back.
    """
    edges = clean_value(tuple(relations))
    if not edges:
        return
    numbers = memory_numbers(transaction, (end for edge in edges for end in (edge.source_id, edge.target_id)))
    for edge in edges:
        for end in (edge.source_id, edge.target_id):
            if end not in numbers:
                raise NotFound(f"No memory {end!r} to relate; nothing was changed.")
    weights = {(numbers[edge.source_id], numbers[edge.target_id], edge.type): edge.weight for edge in edges}
    transaction.execute(
        _RELATE,
        {
            "sources": [key[0] for key in weights],
            "targets": [key[1] for key in weights],
            "types": [key[2] for key in weights],
            "weights": [float(weight) for weight in weights.values()],
        },
    )


def restore(transaction: Transaction, versions: Sequence[Recorded], uses: Mapping[str, int]) -> None:
    """Append versions that were written in another store.

    Raises:
        InvalidInput: a version is older than what is stored of its memory; the caller rolls back.
    """
    cleaned = clean_value(tuple(versions))
    ids = [version.memory.id for version in cleaned]
    stored = read_stored(transaction, ids)
    newest: dict[str, int] = dict(transaction.rows(_NEWEST_TIMES, {"ids": ids}))
    now = {name: one.memory for name, one in stored.items()}
    appended: list[_Version] = []
    other_words: set[str] = set()
    for version in cleaned:
        name = version.memory.id
        if newest.get(name, version.at_ms) > version.at_ms:
            raise stale_version_error(name)
        before = now.get(name)
        if before is None or before.content_hash != version.memory.content_hash:
            other_words.add(name)
        shown = max(version.memory.shown_count, before.shown_count if before else 0)
        now[name] = replace(version.memory, shown_count=shown)
        newest[name] = version.at_ms
        appended.append(
            _Version(
                memory=now[name],
                reason=encode_reason(version.reason),
                at_ms=version.at_ms,
                change_id=version.change_id or dated_change_id(version.at_ms),
            )
        )
    if appended:
        numbers = _put_versions(transaction, appended, stored)
        remove_vectors(transaction, [numbers[name] for name in sorted(other_words)])
    if uses:
        values = {"ids": [clean_text(name) for name in uses], "counts": list(uses.values())}
        transaction.execute(_SET_USES, values)


def count_usage(transaction: Transaction, shown: Sequence[str], used: Sequence[str]) -> None:
    """Count a session for each of `shown`, and a use for each of `used`."""
    for statement, ids in ((_COUNT_SHOWN, shown), (_COUNT_USED, used)):
        if ids:
            transaction.execute(statement, {"ids": [clean_text(name) for name in ids]})
