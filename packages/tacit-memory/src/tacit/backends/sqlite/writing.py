"""Carry out changes in the writer's transaction. In: changes and vectors. Out: rows. Never begins or ends a transaction.

The searchable parts of a memory: its words, code, entities and trigger. In: a memory and its row. Out: derived rows.

Only active memories have derived rows. Everything here can be made again from the memories. Never reads a derived row
to decide what a memory says.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tacit.backends.changes import (
    MemoryWrite,
    check_expected,
    check_vectors,
    dated_change_id,
    plan_changes,
    stale_version_error,
)
from tacit.backends.codec import (
    clean_text,
    clean_value,
    decode_memory,
    encode,
    encode_reason,
    json_list,
    linked_entities,
    memory_code_words,
)
from tacit.backends.sqlite.connection import scope_number
from tacit.errors import NotFound
from tacit.model.changes import Change
from tacit.model.memory import Entity, Memory, Relation
from tacit.model.trigger import Trigger
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import Recorded
from tacit.text.tokens import segmented

WEIGHT_STEPS = 200
"""Trigger weights (0-1) are kept as 0-200: the usual weights 1, 0.67, 0.33 and 0.25 are exact."""

ALWAYS = 0
"""Action number of `applies always`; real actions count from 1."""

ALWAYS_WEIGHT = 0.25

TEXT_INDEXES = ("text_words", "text_code")
WORTH_MERGING = 4
"""Number of segments from which on a text index is merged into one: a search looks into every segment."""
_MERGED_PAGES = 64

PAIR = struct.Struct("<HB")
"""Binary form of one action of a trigger: its number, and its weight in `WEIGHT_STEPS`."""


def scope_token(scope: int) -> str:
    """Return the word, such as `scope7`, that stands in the text indexes for the scope with this row number."""
    return f"scope{scope}"


def index_memory(connection: sqlite3.Connection, number: int, scope: int, memory: Memory) -> None:
    """Delete and rewrite the index rows of one memory: words, code, entities, trigger. A memory that is not active gets none."""
    connection.execute("DELETE FROM documents WHERE memory = ?", (number,))
    connection.execute("DELETE FROM memory_entities WHERE memory = ?", (number,))
    connection.execute("DELETE FROM intents WHERE memory = ?", (number,))
    if memory.status != "active":
        return
    connection.execute(
        "INSERT INTO documents (memory, scope, words, code) VALUES (?, ?, ?, ?)",
        (number, scope_token(scope), segmented(memory.search_text), " ".join(memory_code_words(memory))),
    )
    _link(connection, number, scope, linked_entities(memory))
    weights = _weights(connection, memory.trigger)
    if weights:
        connection.execute("INSERT INTO intents (memory, weights) VALUES (?, ?)", (number, weights))


def _link(connection: sqlite3.Connection, number: int, scope: int, entities: Iterable[Entity]) -> None:
    for entity in dict.fromkeys(entities):
        connection.execute(
            "INSERT OR IGNORE INTO memory_entities (entity, scope, memory) VALUES (?, ?, ?)",
            (_entity_number(connection, entity.kind, entity.key), scope, number),
        )


def _entity_number(connection: sqlite3.Connection, kind: str, key: str) -> int:
    row = connection.execute("SELECT number FROM entities WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO entities (kind, key) VALUES (?, ?) RETURNING number", (kind, key)
        ).fetchone()
    return int(row[0])


def _weights(connection: sqlite3.Connection, trigger: Trigger) -> bytes:
    weights: dict[int, int] = {}
    if trigger.always or trigger.places_only:
        weights[ALWAYS] = round(ALWAYS_WEIGHT * WEIGHT_STEPS)
    for name, weight in trigger.actions:
        number = _action_number(connection, name)
        weights[number] = max(weights.get(number, 0), 1, round(weight * WEIGHT_STEPS))
    return b"".join(PAIR.pack(number, weight) for number, weight in sorted(weights.items()))


def _action_number(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT number FROM actions WHERE name = ?", (name,)).fetchone()
    if row is None:
        row = connection.execute("INSERT INTO actions (name) VALUES (?) RETURNING number", (name,)).fetchone()
    return int(row[0])


def count_segments(connection: sqlite3.Connection, index: str) -> int:
    """Return the number of segments of an FTS5 text index."""
    return int(connection.execute(f"SELECT count(DISTINCT segid) FROM {index}_idx").fetchone()[0])


def merge_segments(connection: sqlite3.Connection, index: str, *, begin: bool) -> bool:
    """Do one step of merging the segments of a text index, some pages; return whether there was anything to merge.

    `begin` = start a merge of all segments; False = continue it.
    """
    before = connection.total_changes
    # Of FTS5: less than zero takes all pieces for one merge, more goes on with it; it says by its changes when it is done.
    pages = -_MERGED_PAGES if begin else _MERGED_PAGES
    connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
    return connection.total_changes - before > 1


def apply_changes(
    connection: sqlite3.Connection,
    changes: Sequence[Change],
    *,
    vectors: Vectors | None,
    identity: EmbedderIdentity | None,
    now_ms: int,
    change_id: str,
    expected: Mapping[str, str] | None = None,
) -> bool:
    """Write `changes` with their vectors, history and index rows under `change_id`, inside the caller's transaction. Return False if they write nothing.

    Raises:
        NotFound, InvalidInput, Conflict: as `plan_changes` and `check_expected`; the caller rolls back.
    """
    check_expected(expected or {}, lambda name: _newest_change(connection, name))
    plan = plan_changes(
        changes, find=lambda name: _find(connection, name), vectors=vectors, identity=identity, now_ms=now_ms
    )
    if not plan.puts:
        return False
    change = next_change(connection)
    identity_row = None if vectors is None or identity is None else identity_number(connection, identity)
    for put in plan.puts:
        number = _put_memory(connection, put, change=change, now_ms=now_ms, change_id=change_id)
        if put.vector == "dropped":
            connection.execute("DELETE FROM vectors WHERE memory = ?", (number,))
        elif put.vector == "given" and vectors is not None and identity_row is not None:
            _put_vector(connection, number, identity_row, vectors[put.vector_row])
    relate(connection, plan.relations)
    return True


def _newest_change(connection: sqlite3.Connection, memory_id: str) -> str:
    row = connection.execute(
        "SELECT change_id FROM versions WHERE memory = (SELECT number FROM memories WHERE id = ?)"
        " ORDER BY version DESC LIMIT 1",
        (clean_text(memory_id),),
    ).fetchone()
    return "" if row is None else str(row[0])


def next_change(connection: sqlite3.Connection) -> int:
    """Add one to the store's change counter, and return its new value."""
    row = connection.execute("UPDATE state SET change = change + 1 RETURNING change").fetchone()
    return int(row[0])


def identity_number(connection: sqlite3.Connection, identity: EmbedderIdentity) -> int:
    """Return the row number of an embedder's identity; a new one is inserted."""
    key = (clean_text(identity.name), identity.dimensions)
    row = connection.execute(
        "SELECT number FROM identities WHERE name = ? AND dimensions = ?", key
    ).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO identities (name, dimensions) VALUES (?, ?) RETURNING number", key
        ).fetchone()
    return int(row[0])


def _find(connection: sqlite3.Connection, memory_id: str) -> Memory | None:
    row = connection.execute(
        "SELECT body, use_count, shown_count FROM memories WHERE id = ?", (memory_id,)
    ).fetchone()
    return None if row is None else decode_memory(*row)


def _put_memory(
    connection: sqlite3.Connection, put: MemoryWrite, *, change: int, now_ms: int, change_id: str
) -> int:
    memory = put.memory
    scope = scope_number(connection, memory)
    before = connection.execute(
        "SELECT number, scope, status, version FROM memories WHERE id = ?", (memory.id,)
    ).fetchone()
    version = 1 if before is None else int(before[3]) + 1
    body = encode(memory)
    columns = (
        scope,
        memory.kind,
        memory.status,
        memory.provenance.source,
        memory.validity.valid_from_ms,
        memory.validity.valid_to_ms,
        memory.created_at_ms,
        memory.importance,
        int(memory.pinned),
        memory.error_signature,
        memory.use_count,
        change,
        version,
        body,
        memory.trigger.reach,
    )
    if before is None:
        number = int(
            connection.execute(
                "INSERT INTO memories (scope, kind, status, source, valid_from_ms, valid_to_ms, created_at_ms,"
                " importance, pinned, error_signature, use_count, change, version, body, breadth, id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
                (*columns, memory.id),
            ).fetchone()[0]
        )
    else:
        number = int(before[0])
        connection.execute(
            "UPDATE memories SET scope = ?, kind = ?, status = ?, source = ?, valid_from_ms = ?, valid_to_ms = ?,"
            " created_at_ms = ?, importance = ?, pinned = ?, error_signature = ?, use_count = ?, change = ?,"
            " version = ?, body = ?, breadth = ? WHERE number = ?",
            (*columns, number),
        )
        _count(connection, int(before[1]), total=-1, active=-int(before[2] == "active"), change=change)
        if int(before[1]) != scope:
            connection.execute("UPDATE scopes SET moved = ? WHERE number = ?", (change, before[1]))
    _count(connection, scope, total=1, active=int(memory.status == "active"), change=change)
    connection.execute(
        "INSERT INTO versions (memory, version, recorded_at_ms, scope, reason, body, change_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (number, version, now_ms, scope, encode_reason(put.reason), body, change_id),
    )
    index_memory(connection, number, scope, memory)
    return number


def _count(connection: sqlite3.Connection, scope: int, *, total: int, active: int, change: int) -> None:
    connection.execute(
        "UPDATE scopes SET total = total + ?, active = active + ?, change = ? WHERE number = ?",
        (total, active, change, scope),
    )


def _put_vector(connection: sqlite3.Connection, number: int, identity: int, vector: Vectors) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO vectors (memory, identity, vector) VALUES (?, ?, ?)",
        (number, identity, vector.astype("<f2").tobytes()),
    )


def put_vectors(
    connection: sqlite3.Connection, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity
) -> None:
    """Store the vectors of the memories `ids`, shape (len(ids), dimensions), replacing those they have; counts as one change of the store.

    Raises:
        NotFound: an id names no memory; the caller rolls back.
    """
    check_vectors(vectors, identity, len(ids))
    if not ids:
        return
    change = next_change(connection)
    row = identity_number(connection, identity)
    for name, vector in zip(ids, np.asarray(vectors), strict=True):
        rows = connection.execute(
            "UPDATE memories SET change = ? WHERE id = ? RETURNING number, scope", (change, clean_text(name))
        ).fetchone()
        if rows is None:
            raise NotFound(f"No memory {name!r} to store a vector for; nothing was changed.")
        connection.execute("UPDATE scopes SET change = ? WHERE number = ?", (change, rows[1]))
        _put_vector(connection, int(rows[0]), row, vector)


def unrelate(connection: sqlite3.Connection, relations: Iterable[Relation]) -> None:
    """Delete relations, identified by source, target and type; unknown ones are ignored."""
    connection.executemany(
        "DELETE FROM relations WHERE type = ? AND source = (SELECT number FROM memories WHERE id = ?)"
        " AND target = (SELECT number FROM memories WHERE id = ?)",
        [
            (relation.type, clean_text(relation.source_id), clean_text(relation.target_id))
            for relation in relations
        ],
    )


def relate(connection: sqlite3.Connection, relations: Iterable[Relation]) -> None:
    """Store relations; one with the same source, target and type gets the new weight.

    Raises:
        NotFound: a relation names a memory that does not exist; the caller rolls back.
    """
    for relation in clean_value(tuple(relations)):
        ends: list[int] = []
        for end in (relation.source_id, relation.target_id):
            row = connection.execute("SELECT number FROM memories WHERE id = ?", (end,)).fetchone()
            if row is None:
                raise NotFound(f"No memory {end!r} to relate; nothing was changed.")
            ends.append(int(row[0]))
        connection.execute(
            "INSERT OR REPLACE INTO relations (source, target, type, weight) VALUES (?, ?, ?, ?)",
            (*ends, relation.type, relation.weight),
        )


def restore(connection: sqlite3.Connection, versions: Sequence[Recorded], uses: Mapping[str, int]) -> None:
    """Append versions that were written in another store, oldest first, with their own times and reasons, and set use counts (id -> count).

    Raises:
        InvalidInput: one is older than what is stored of its memory; the caller rolls back.
    """
    change = next_change(connection)
    for version in clean_value(tuple(versions)):
        newest = connection.execute(
            "SELECT max(recorded_at_ms) FROM versions WHERE memory = (SELECT number FROM memories WHERE id = ?)",
            (version.memory.id,),
        ).fetchone()[0]
        if newest is not None and newest > version.at_ms:
            raise stale_version_error(version.memory.id)
        before = _find(connection, version.memory.id)
        put = MemoryWrite(memory=version.memory, reason=version.reason, vector="kept")
        change_id = version.change_id or dated_change_id(version.at_ms)
        number = _put_memory(connection, put, change=change, now_ms=version.at_ms, change_id=change_id)
        if before is None or before.content_hash != version.memory.content_hash:
            connection.execute("DELETE FROM vectors WHERE memory = ?", (number,))
    connection.executemany(
        "UPDATE memories SET use_count = ?, version = version + 1 WHERE id = ? AND use_count <> ?",
        [(count, clean_text(name), count) for name, count in uses.items()],
    )


def count_usage(connection: sqlite3.Connection, shown: Sequence[str], used: Sequence[str]) -> None:
    """Add one to `shown_count` of each memory id in `shown`, and one to `use_count` of each in `used`; unknown ids are ignored."""
    for column, ids in (("shown_count", shown), ("use_count", used)):
        connection.execute(
            f"UPDATE memories SET {column} = {column} + 1, version = version + 1"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (json_list([clean_text(name) for name in ids]),),
        )
