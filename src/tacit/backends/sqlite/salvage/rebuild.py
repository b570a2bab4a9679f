"""A new store from the rows that were found. In: rows. Out: a sound database file of the newest schema, and what it holds.

Derived rows (text indexes, entities, triggers, counts) are made anew. Never reads the damaged file, never replaces a file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tacit.backends.changes import dated_change_id
from tacit.backends.codec import decode
from tacit.backends.sqlite.connection import connect, device_error, translate
from tacit.backends.sqlite.documents import index_memory
from tacit.backends.sqlite.salvage.rows import FoundRows, MemoryRow
from tacit.backends.sqlite.schema import SCHEMA_VERSION, migrate_one
from tacit.backends.sqlite.scopes import scope_number
from tacit.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedMemory:
    """One memory as it can be put together.

    Attributes:
        number: its row.
        row: its newest version.
        memory: what `row.body` says.
        versions: (recorded_at_ms, reason, body, change_id) by version.
    """

    number: int
    row: MemoryRow
    memory: Memory
    versions: Mapping[int, tuple[int, str, str, str]]


def assemble_memories(found: FoundRows) -> dict[str, SalvagedMemory]:
    """The memories by id. One whose row is lost is put together from its newest version."""
    versions: dict[int, dict[int, tuple[int, str, str, str]]] = {}
    for (number, version), recorded in found.versions.items():
        versions.setdefault(number, {})[version] = recorded
    held: dict[str, SalvagedMemory] = {}
    for number in sorted(found.memories.keys() | versions.keys()):
        history = versions.get(number, {})
        row = found.memories.get(number)
        if history and (row is None or row.version < max(history)):
            newest = max(history)
            row = MemoryRow(version=newest, uses=row.uses if row else -1, body=history[newest][2])
        if row is None:
            continue
        memory = decode(Memory, row.body)
        if row.uses < 0:
            row = replace(row, uses=memory.use_count)
        known = held.get(memory.id)
        if known is None or known.row.version < row.version or found.known.get(memory.id) == number:
            held[memory.id] = SalvagedMemory(number=number, row=row, memory=memory, versions=history)
    return held


def add_missing(found: FoundRows, backup: FoundRows) -> int:
    """Add to `found` what only `backup` holds; what `found` holds stays as it is. Returns how many memories came in.

    Relations, records and values come along where pages are damaged: else they were removed on purpose.
    """
    mine, theirs = assemble_memories(found), assemble_memories(backup)
    numbers = {held.number: mine[name].number for name, held in theirs.items() if name in mine}
    taken = {held.number for held in mine.values()} | set(found.memories) | {n for n, _ in found.versions}
    free = max(taken, default=0) + 1
    added = 0
    for name, held in theirs.items():
        if name not in mine:
            number = held.number if held.number not in taken else free
            free = max(free, number) + 1
            taken.add(number)
            numbers[held.number] = number
            found.memories[number] = held.row
            added += 1
            vector = backup.vectors.get(held.number)
            if vector is not None:
                identity = _identity(found, backup.identities.get(vector[0]))
                if identity:
                    found.vectors[number] = (identity, vector[1])
        newest = mine[name].row.version if name in mine else held.row.version
        for version, recorded in held.versions.items():
            if version <= newest:
                found.versions.setdefault((numbers[held.number], version), recorded)
    if added or found.damaged_pages:
        for (source, target, kind), weight in backup.relations.items():
            if source in numbers and target in numbers:
                found.relations.setdefault((numbers[source], numbers[target], kind), weight)
        for row in backup.exposures:
            found.exposures.setdefault(row)
        found.sessions = {**backup.sessions, **found.sessions}
        found.traces = {**backup.traces, **found.traces}
        found.handovers = {**backup.handovers, **found.handovers}
        found.projects = {**backup.projects, **found.projects}
        found.values = {**backup.values, **found.values}
    return added


def _identity(found: FoundRows, wanted: tuple[str, int] | None) -> int:
    if wanted is None:
        return 0
    for number, identity in found.identities.items():
        if identity == wanted:
            return number
    number = max(found.identities, default=0) + 1
    found.identities[number] = wanted
    return number


def write_store(found: FoundRows, target: Path, *, values: Mapping[str, str]) -> dict[str, SalvagedMemory]:
    """Write a store of `found` and of the named `values` to `target`, which must not exist; returns its memories.

    Raises:
        StoreError: if the file cannot be written.
    """
    held = assemble_memories(found)
    try:
        with closing(connect(target)) as connection:
            target.chmod(0o600)
            connection.execute("PRAGMA synchronous = OFF")  # the whole file is synced at its end
            connection.execute("BEGIN IMMEDIATE")
            for version in range(1, SCHEMA_VERSION + 1):
                migrate_one(connection, version)
            _put_memories(connection, held)
            _put_relations(connection, found, {one.number for one in held.values()})
            _put_vectors(connection, found, held)
            _put_records(connection, found, values)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, target) from error
    except OSError as error:
        raise device_error(error, target) from error
    return held


def _put_memories(connection: sqlite3.Connection, held: Mapping[str, SalvagedMemory]) -> None:
    change = 1
    for one in held.values():
        memory, number = one.memory, one.number
        scope = scope_number(connection, memory.scope)
        connection.execute(
            "INSERT INTO memories (number, id, scope, kind, status, source, valid_from_ms, valid_to_ms, created_at_ms,"
            " importance, pinned, error_signature, use_count, change, version, body, breadth)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, memory.id, scope, memory.kind, memory.status, memory.provenance.source,
                memory.validity.valid_from_ms, memory.validity.valid_to_ms, memory.created_at_ms, memory.importance,
                int(memory.pinned), memory.error_signature, one.row.uses, change, one.row.version, one.row.body,
                memory.trigger.reach,
            ),
        )  # fmt: skip
        versions = dict(one.versions) or {
            one.row.version: (
                memory.updated_at_ms,
                "recovered",
                one.row.body,
                dated_change_id(memory.updated_at_ms),
            )
        }
        for version, (at_ms, reason, body, change_id) in sorted(versions.items()):
            whose = scope_number(connection, decode(Memory, body).scope)
            connection.execute(
                "INSERT INTO versions (memory, version, recorded_at_ms, scope, reason, body, change_id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, version, at_ms, whose, reason, body, change_id),
            )
        index_memory(connection, number, scope, memory)
    connection.execute("UPDATE state SET change = ?", (change,))
    connection.execute(
        "UPDATE scopes SET change = :change, moved = :change,"
        " total = (SELECT count(*) FROM memories AS m WHERE m.scope = scopes.number),"
        " active = (SELECT count(*) FROM memories AS m WHERE m.scope = scopes.number AND m.status = 'active')",
        {"change": change},
    )


def _put_relations(connection: sqlite3.Connection, found: FoundRows, numbers: set[int]) -> None:
    connection.executemany(
        "INSERT INTO relations (source, target, type, weight) VALUES (?, ?, ?, ?)",
        [
            (*key, weight)
            for key, weight in sorted(found.relations.items())
            if key[0] in numbers and key[1] in numbers
        ],
    )


def _put_vectors(
    connection: sqlite3.Connection, found: FoundRows, held: Mapping[str, SalvagedMemory]
) -> None:
    """Keep vectors that can be those of their memories; the others are made anew by `reindex`."""
    connection.executemany(
        "INSERT INTO identities (number, name, dimensions) VALUES (?, ?, ?)",
        [(number, *identity) for number, identity in sorted(found.identities.items())],
    )
    rows: list[tuple[int, int, bytes]] = []
    for one in held.values():
        identity, vector = found.vectors.get(one.number, (0, b""))
        _, dimensions = found.identities.get(identity, ("", 0))
        row = found.memories.get(one.number)
        if row is one.row and _is_vector(vector, dimensions):
            rows.append((one.number, identity, vector))
    connection.executemany("INSERT INTO vectors (memory, identity, vector) VALUES (?, ?, ?)", rows)


def _is_vector(vector: bytes, dimensions: int) -> bool:
    if not dimensions or len(vector) != 2 * dimensions:
        return False
    return bool(np.isfinite(np.frombuffer(vector, "<f2")).all())


def _put_records(connection: sqlite3.Connection, found: FoundRows, values: Mapping[str, str]) -> None:
    many = connection.executemany
    many(
        "INSERT INTO sessions (host, session_id, last_signal_at_ms, body) VALUES (?, ?, ?, ?)",
        found.sessions.values(),
    )
    many(
        "INSERT INTO traces (id, session, surface, at_ms, body) VALUES (?, ?, ?, ?, ?)", found.traces.values()
    )
    many(
        "INSERT INTO handovers (key, host, session_id, payload, at_ms, attempts, error, done_at_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        found.handovers.values(),
    )
    many("INSERT INTO exposures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", found.exposures)
    many("INSERT INTO projects (id, body) VALUES (?, ?)", found.projects.items())
    many("INSERT INTO named_values (name, value) VALUES (?, ?)", {**found.values, **values}.items())
