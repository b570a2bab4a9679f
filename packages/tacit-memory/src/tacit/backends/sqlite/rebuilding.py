"""A new store from the rows that were found. In: rows. Out: a sound database file of the newest schema, and what it holds.

Derived rows (text indexes, entities, triggers, counts) are made anew. Never reads the damaged file, never replaces a file.

Backups and files in quarantine, cleaned like the store. In: a path, a function that cleans. Out: the file without it.

A damaged file is replaced by what can be read of it, where it holds what has to go. The file is exchanged whole: a process that
is killed leaves the old one. Never touches a file that holds nothing of it.
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
from tacit.backends.sqlite.connection import connect, scope_number, translate, write_error
from tacit.backends.sqlite.health import copy_database, remove_database
from tacit.backends.sqlite.purging import Cleaning, rewrite_texts
from tacit.backends.sqlite.salvaging import FoundRows, MemoryRow, find_rows, open_pages
from tacit.backends.sqlite.schema import (
    APPLICATION_ID,
    is_possible_version,
    migrate_one,
    missing_parts,
    newest_version,
    schema_version,
)
from tacit.backends.sqlite.writing import index_memory
from tacit.errors import NotABackup, StoreCorrupt, StoreError
from tacit.model.memory import Memory
from tacit.system.files import set_mode, sync_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedMemory:
    """A memory as it can be restored from the rows that were found.

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


def assemble_memories(rows: FoundRows) -> dict[str, SalvagedMemory]:
    """Return memory id -> what can be restored of it. If its row is lost or outdated, its newest version is used."""
    versions: dict[int, dict[int, tuple[int, str, str, str]]] = {}
    for (number, version), recorded in rows.versions.items():
        versions.setdefault(number, {})[version] = recorded
    assembled: dict[str, SalvagedMemory] = {}
    for number in sorted(rows.memories.keys() | versions.keys()):
        history = versions.get(number, {})
        row = rows.memories.get(number)
        if history and (row is None or row.version < max(history)):
            newest = max(history)
            row = MemoryRow(version=newest, uses=row.uses if row else -1, body=history[newest][2])
        if row is None:
            continue
        memory = decode(Memory, row.body)
        if row.uses < 0:
            row = replace(row, uses=memory.use_count)
        earlier = assembled.get(memory.id)
        if earlier is None or earlier.row.version < row.version or rows.known.get(memory.id) == number:
            assembled[memory.id] = SalvagedMemory(number=number, row=row, memory=memory, versions=history)
    return assembled


def add_missing(rows: FoundRows, backup: FoundRows) -> int:
    """Add to `rows`, in place, what only `backup` has, and return the number of added memories. Rows that exist stay as they are.

    Relations, records and values are added only if memories were added or pages are damaged; otherwise they were removed on purpose.
    """
    mine, theirs = assemble_memories(rows), assemble_memories(backup)
    numbers = {salvaged.number: mine[name].number for name, salvaged in theirs.items() if name in mine}
    taken = (
        {salvaged.number for salvaged in mine.values()} | set(rows.memories) | {n for n, _ in rows.versions}
    )
    free = max(taken, default=0) + 1
    added = 0
    for name, salvaged in theirs.items():
        if name not in mine:
            number = salvaged.number if salvaged.number not in taken else free
            free = max(free, number) + 1
            taken.add(number)
            numbers[salvaged.number] = number
            rows.memories[number] = salvaged.row
            added += 1
            vector = backup.vectors.get(salvaged.number)
            if vector is not None:
                identity = _identity(rows, backup.identities.get(vector[0]))
                if identity:
                    rows.vectors[number] = (identity, vector[1])
        newest = mine[name].row.version if name in mine else salvaged.row.version
        for version, recorded in salvaged.versions.items():
            if version <= newest:
                rows.versions.setdefault((numbers[salvaged.number], version), recorded)
    if added or rows.damaged_pages:
        for (source, target, kind), weight in backup.relations.items():
            if source in numbers and target in numbers:
                rows.relations.setdefault((numbers[source], numbers[target], kind), weight)
        for row in backup.exposures:
            rows.exposures.setdefault(row)
        rows.sessions = {**backup.sessions, **rows.sessions}
        rows.traces = {**backup.traces, **rows.traces}
        rows.handovers = {**backup.handovers, **rows.handovers}
        rows.projects = {**backup.projects, **rows.projects}
        rows.values = {**backup.values, **rows.values}
    return added


def _identity(rows: FoundRows, backup_identity: tuple[str, int] | None) -> int:
    if backup_identity is None:
        return 0
    for number, identity in rows.identities.items():
        if identity == backup_identity:
            return number
    number = max(rows.identities, default=0) + 1
    rows.identities[number] = backup_identity
    return number


def write_store(rows: FoundRows, target: Path, *, values: Mapping[str, str]) -> dict[str, SalvagedMemory]:
    """Write a new store with `rows` and the named values `values` to `target`, which must not exist; return its memories by id.

    Raises:
        StoreError: if the file cannot be written.
    """
    memories = assemble_memories(rows)
    try:
        with closing(connect(target)) as connection:
            set_mode(target, 0o600)
            connection.execute("PRAGMA synchronous = OFF")  # the whole file is synced at its end
            connection.execute("BEGIN IMMEDIATE")
            for version in range(1, newest_version() + 1):
                migrate_one(connection, version)
            _put_memories(connection, memories)
            _put_relations(connection, rows, {memory.number for memory in memories.values()})
            _put_vectors(connection, rows, memories)
            _put_records(connection, rows, values)
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, target) from error
    except OSError as error:
        raise write_error(error, target) from error
    return memories


def _put_memories(connection: sqlite3.Connection, memories: Mapping[str, SalvagedMemory]) -> None:
    change = 1
    for salvaged in memories.values():
        memory, number = salvaged.memory, salvaged.number
        scope = scope_number(connection, memory)
        connection.execute(
            "INSERT INTO memories (number, id, scope, kind, status, source, valid_from_ms, valid_to_ms, created_at_ms,"
            " importance, pinned, error_signature, use_count, change, version, body, breadth)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                memory.id,
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
                salvaged.row.uses,
                change,
                salvaged.row.version,
                salvaged.row.body,
                memory.trigger.reach,
            ),
        )
        versions = dict(salvaged.versions) or {
            salvaged.row.version: (
                memory.updated_at_ms,
                "recovered",
                salvaged.row.body,
                dated_change_id(memory.updated_at_ms),
            )
        }
        for version, (at_ms, reason, body, change_id) in sorted(versions.items()):
            version_scope = scope_number(connection, decode(Memory, body))
            connection.execute(
                "INSERT INTO versions (memory, version, recorded_at_ms, scope, reason, body, change_id)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (number, version, at_ms, version_scope, reason, body, change_id),
            )
        index_memory(connection, number, scope, memory)
    connection.execute("UPDATE state SET change = ?", (change,))
    connection.execute(
        "UPDATE scopes SET change = :change, moved = :change,"
        " total = (SELECT count(*) FROM memories AS m WHERE m.scope = scopes.number),"
        " active = (SELECT count(*) FROM memories AS m WHERE m.scope = scopes.number AND m.status = 'active')",
        {"change": change},
    )


def _put_relations(connection: sqlite3.Connection, rows: FoundRows, numbers: set[int]) -> None:
    connection.executemany(
        "INSERT INTO relations (source, target, type, weight) VALUES (?, ?, ?, ?)",
        [
            (*key, weight)
            for key, weight in sorted(rows.relations.items())
            if key[0] in numbers and key[1] in numbers
        ],
    )


def _put_vectors(
    connection: sqlite3.Connection, found_rows: FoundRows, memories: Mapping[str, SalvagedMemory]
) -> None:
    """Write the embedder identities and the vectors that are intact and belong to the current version of their memories.

    The others are left out; `reindex` computes them anew.
    """
    connection.executemany(
        "INSERT INTO identities (number, name, dimensions) VALUES (?, ?, ?)",
        [(number, *identity) for number, identity in sorted(found_rows.identities.items())],
    )
    rows: list[tuple[int, int, bytes]] = []
    for memory in memories.values():
        identity, vector = found_rows.vectors.get(memory.number, (0, b""))
        _, dimensions = found_rows.identities.get(identity, ("", 0))
        row = found_rows.memories.get(memory.number)
        if row is memory.row and _is_vector(vector, dimensions):
            rows.append((memory.number, identity, vector))
    connection.executemany("INSERT INTO vectors (memory, identity, vector) VALUES (?, ?, ?)", rows)


def _is_vector(vector: bytes, dimensions: int) -> bool:
    if not dimensions or len(vector) != 2 * dimensions:
        return False
    return bool(np.isfinite(np.frombuffer(vector, "<f2")).all())


def _put_records(connection: sqlite3.Connection, rows: FoundRows, values: Mapping[str, str]) -> None:
    many = connection.executemany
    many(
        "INSERT INTO sessions (host, session_id, last_signal_at_ms, body) VALUES (?, ?, ?, ?)",
        rows.sessions.values(),
    )
    many(
        "INSERT INTO traces (id, session, surface, at_ms, body) VALUES (?, ?, ?, ?, ?)", rows.traces.values()
    )
    many(
        "INSERT INTO handovers (key, host, session_id, payload, at_ms, attempts, error, done_at_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rows.handovers.values(),
    )
    many("INSERT INTO exposures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows.exposures)
    many("INSERT INTO projects (id, body) VALUES (?, ?)", rows.projects.items())
    many("INSERT INTO named_values (name, value) VALUES (?, ?)", {**rows.values, **values}.items())


_CHUNK_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 16


def rewrite_copy(path: Path, cleaning: Cleaning, *, dry_run: bool) -> Mapping[str, int]:
    """Clean a backup or a damaged database, and return table -> number of changed rows. The file is replaced only if something changes.

    A damaged file is replaced by what can be read of it. `dry_run` = only count.

    Raises:
        StoreError: if it is no store, of a newer version, or cannot be written; nothing is changed then.
    """
    sound = is_sound(path)
    if sound:
        counts = _look(path, cleaning)
        if counts is not None and (dry_run or not counts):
            return counts
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if sound:
            copy_store(path, partial)
        else:
            rows = find_rows(open_pages(path))
            if rows.empty:
                raise StoreCorrupt(f"Nothing of {path} can be read.")
            write_store(rows, partial, values={})
        counts = _clean(partial, cleaning)
        if not counts and not sound and _holds(path, cleaning):
            counts = {"damaged": 1}
        if counts and not dry_run:
            partial.replace(path)
            for suffix in ("-wal", "-shm", "-journal"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            sync_folder(path.parent)
    except OSError as error:
        raise write_error(error, path) from error
    finally:
        remove_database(partial)
    return counts


def is_sound(path: Path) -> bool:
    """Whether the database `path` is an undamaged, complete Tacit store.

    Raises:
        NotABackup: if it is another program's.
        StoreError: if it is of a newer version, or cannot be read.
    """
    try:
        with closing(connect(path, read_only=True)) as connection:
            whole = connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
            owner = connection.execute("PRAGMA application_id").fetchone()[0]
            version = schema_version(connection)
            complete = is_possible_version(version) and (
                version > newest_version() or not missing_parts(connection)
            )
    except sqlite3.DatabaseError as error:
        failed = translate(error, path)
        if isinstance(failed, StoreCorrupt):
            return False
        raise failed from error
    if not whole:
        return False
    if owner != APPLICATION_ID:
        raise NotABackup(
            f"{path} is no backup of a Tacit store.", hint="Choose a file that `tacit backup` wrote."
        )
    if not complete:
        return False
    if version > newest_version():
        raise StoreError(f"It has schema {version}, and this Tacit knows up to {newest_version()}.")
    return True


def copy_store(source: Path, target: Path) -> None:
    """Copy a sound store to `target` and bring the copy to the newest schema.

    Raises:
        StoreError: if it cannot be read or written.
    """
    try:
        with closing(connect(source, read_only=True)) as connection:
            copy_database(connection, target)
        with closing(connect(target)) as copy:
            copy.execute("BEGIN IMMEDIATE")
            for version in range(schema_version(copy) + 1, newest_version() + 1):
                migrate_one(copy, version)
            copy.execute("COMMIT")
    except sqlite3.Error as error:
        raise translate(error, source) from error


def _look(path: Path, cleaning: Cleaning) -> Mapping[str, int] | None:
    """Return table -> number of rows that would change, reading only; None = the file has an older schema, so a migrated copy is needed."""
    try:
        with closing(connect(path, read_only=True)) as connection:
            if schema_version(connection) != newest_version():
                return None
            connection.execute("BEGIN")
            return rewrite_texts(connection, cleaning, dry_run=True)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _clean(path: Path, cleaning: Cleaning) -> Mapping[str, int]:
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("BEGIN IMMEDIATE")
            counts = rewrite_texts(connection, cleaning, dry_run=False)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return counts


def _holds(path: Path, cleaning: Cleaning) -> bool:
    """Whether the raw bytes of a damaged file or of its log contain a text or id that must be removed."""
    for file in (path, Path(f"{path}-wal")):
        content = file.read_bytes() if file.exists() else b""
        for start in range(0, len(content), _CHUNK_BYTES):
            if cleaning.holds(content[start : start + _CHUNK_BYTES + _OVERLAP_BYTES]):
                return True
    return False
