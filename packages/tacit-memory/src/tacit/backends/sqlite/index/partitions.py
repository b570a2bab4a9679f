"""The vector indexes of a store: one per embedder and scope, kept in step with the table by its change counter.

In: a reader's connection, a scope, an embedder. Out: an index that knows every change that the connection sees. What is
missing or stale is made from the table or from a sidecar file; a write adds or removes rows and rebuilds nothing.
Never answers a search itself, never writes to the database.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.backends.sqlite.index.rows import FOREVER, Rows, kind_number
from tacit.backends.sqlite.index.sidecar import Sidecar, SidecarKey, read_sidecar, write_sidecar
from tacit.backends.sqlite.index.vectors import (
    SMALL_ROWS,
    ExactVectors,
    HalfVectors,
    SignBitVectors,
    VectorRows,
)
from tacit.backends.sqlite.scopes import StoredScope

MAX_PARTITIONS = 512
"""Indexes kept in memory; the one used longest ago goes first."""

_BATCH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredIdentity:
    """An embedder's row in the store."""

    number: int
    dimensions: int


@dataclass(slots=True)
class Partition:
    """The index of one scope and one embedder. `change` = the counter up to which it follows the table; -1 = empty."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    change: int = -1
    index: VectorRows | None = None


class VectorPartitions:
    """Every vector index in use. Safe to share between threads."""

    def __init__(self, folder: Path | None, store_id: str) -> None:
        """Keep the sidecars of large indexes in `folder`; None = keep none."""
        self._folder = folder
        self._store_id = store_id
        self._lock = threading.Lock()
        self._partitions: OrderedDict[tuple[int, int], Partition] = OrderedDict()
        self._background: ThreadPoolExecutor | None = None
        self._writes: dict[tuple[int, int], Future[bool]] = {}

    @contextmanager
    def current(
        self, connection: sqlite3.Connection, scope: StoredScope, identity: StoredIdentity
    ) -> Generator[VectorRows, None, None]:
        """The index of `scope`, in step with what `connection` sees, for this thread alone while inside."""
        with self._lock:
            key = (identity.number, scope.number)
            partition = self._partitions.setdefault(key, Partition())
            self._partitions.move_to_end(key)
            while len(self._partitions) > MAX_PARTITIONS:
                self._partitions.popitem(last=False)
        with partition.lock:
            index = partition.index
            if index is None or partition.change < scope.moved:
                index = self._build(connection, partition, scope, identity)
            elif partition.change < scope.change:
                index = self._catch_up(connection, partition, index, scope, identity)
            yield index

    def _build(
        self,
        connection: sqlite3.Connection,
        partition: Partition,
        scope: StoredScope,
        identity: StoredIdentity,
        *,
        from_file: bool = True,
    ) -> VectorRows:
        if from_file and scope.active >= SMALL_ROWS and self._folder is not None:
            sidecar = read_sidecar(self._folder, self._key(scope, identity))
            if sidecar is not None and scope.moved <= sidecar.change <= scope.change:
                rows = Rows()
                rows.extend(sidecar.numbers, sidecar.ids, sidecar.valid_from, sidecar.valid_to, sidecar.kinds)
                partition.index = SignBitVectors(rows, sidecar.vectors, sidecar.bits)
                partition.change = sidecar.change
                return self._catch_up(connection, partition, partition.index, scope, identity)
        rows, vectors = _read_all(connection, scope.number, identity)
        partition.change = scope.change
        if len(vectors) < SMALL_ROWS:
            partition.index = ExactVectors(rows, vectors)
            return partition.index
        built = SignBitVectors(rows, vectors)
        partition.index = built
        self._save(scope, identity, built)
        return built

    def _catch_up(
        self,
        connection: sqlite3.Connection,
        partition: Partition,
        index: VectorRows,
        scope: StoredScope,
        identity: StoredIdentity,
    ) -> VectorRows:
        changed, rows, vectors = _read_changed(connection, scope.number, identity, partition.change)
        outgrown = isinstance(index, ExactVectors) and index.rows.living + len(vectors) >= SMALL_ROWS
        if outgrown or index.rows.dead + len(changed) > max(SMALL_ROWS, index.rows.living // 2):
            # Too much has changed to patch: the table is read as a whole, not a file that is as old.
            return self._build(connection, partition, scope, identity, from_file=False)
        index.rows.remove(changed)
        index.rows.extend(rows.numbers, rows.ids, rows.valid_from, rows.valid_to, rows.kinds)
        index.append(vectors)
        partition.change = scope.change
        if isinstance(index, SignBitVectors) and index.appended > max(SMALL_ROWS, len(index.base) // 8):
            partition.index = self._fold(index)
            self._save(scope, identity, partition.index)
            return partition.index
        return index

    def _fold(self, index: SignBitVectors) -> SignBitVectors:
        """Base and tail as one new base, without what was removed."""
        alive = np.flatnonzero(index.rows.alive)
        rows = Rows()
        old = index.rows
        rows.extend(
            old.numbers[alive], old.ids[alive], old.valid_from[alive], old.valid_to[alive], old.kinds[alive]
        )
        return SignBitVectors(rows, index.gather(alive))

    def _key(self, scope: StoredScope, identity: StoredIdentity) -> SidecarKey:
        return SidecarKey(
            store_id=self._store_id,
            scope=scope.number,
            identity=identity.number,
            dimensions=identity.dimensions,
        )

    def _save(self, scope: StoredScope, identity: StoredIdentity, index: SignBitVectors) -> None:
        """Write the sidecar in the background. Its arrays are never changed: the base and full copies of the rows."""
        if self._folder is None:
            return
        rows = index.rows
        data = Sidecar(
            change=scope.change,
            numbers=rows.numbers,
            ids=rows.ids,
            valid_from=rows.valid_from,
            valid_to=rows.valid_to,
            kinds=rows.kinds,
            bits=index.base_bits,
            vectors=index.base,
        )
        with self._lock:
            if self._background is None:
                self._background = ThreadPoolExecutor(1, thread_name_prefix="tacit-sidecar")
            self._writes[(identity.number, scope.number)] = self._background.submit(
                write_sidecar, self._folder, self._key(scope, identity), data
            )

    def settle(self) -> None:
        """Wait until every sidecar that was begun is written."""
        with self._lock:
            writes = list(self._writes.values())
            self._writes.clear()
        for write in writes:
            write.result()

    def close(self) -> None:
        """Finish writing and let go of the memory."""
        with self._lock:
            background, self._background = self._background, None
            self._partitions.clear()
        if background is not None:
            background.shutdown(wait=True)


def _read_all(
    connection: sqlite3.Connection, scope: int, identity: StoredIdentity
) -> tuple[Rows, HalfVectors]:
    cursor = connection.execute(
        "SELECT m.number, m.id, m.valid_from_ms, m.valid_to_ms, m.kind, v.vector FROM memories AS m"
        " JOIN vectors AS v ON v.memory = m.number"
        " WHERE m.scope = ? AND m.status = 'active' AND v.identity = ? AND length(v.vector) = ?",
        (scope, identity.number, 2 * identity.dimensions),
    )
    rows = Rows()
    vector_batches: list[HalfVectors] = [np.empty((0, identity.dimensions), np.float16)]
    numbers: list[int] = []
    ids: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    kinds: list[int] = []
    while batch := cursor.fetchmany(_BATCH):
        numbers += [row[0] for row in batch]
        ids += [row[1].encode() for row in batch]
        starts += [row[2] for row in batch]
        ends += [FOREVER if row[3] is None else row[3] for row in batch]
        kinds += [kind_number(row[4]) for row in batch]
        blob = b"".join([row[5] for row in batch])
        vector_batches.append(np.frombuffer(blob, "<f2").reshape(-1, identity.dimensions))
    rows.extend(numbers, ids, starts, ends, kinds)
    return rows, np.concatenate(vector_batches)


def _read_changed(
    connection: sqlite3.Connection, scope: int, identity: StoredIdentity, since: int
) -> tuple[list[int], Rows, HalfVectors]:
    """Numbers of all rows written after `since`, and those of them that belong into the index."""
    changed = connection.execute(
        "SELECT m.number, m.id, m.valid_from_ms, m.valid_to_ms, m.status, m.kind, v.vector FROM memories AS m"
        " LEFT JOIN vectors AS v ON v.memory = m.number AND v.identity = ? AND length(v.vector) = ?"
        " WHERE m.scope = ? AND m.change > ? ORDER BY m.change, m.number",
        (identity.number, 2 * identity.dimensions, scope, since),
    ).fetchall()
    current = [row for row in changed if row[4] == "active" and row[6] is not None]
    rows = Rows()
    rows.extend(
        [row[0] for row in current],
        [row[1].encode() for row in current],
        [row[2] for row in current],
        [FOREVER if row[3] is None else row[3] for row in current],
        [kind_number(row[5]) for row in current],
    )
    blob = b"".join([row[6] for row in current])
    return [row[0] for row in changed], rows, np.frombuffer(blob, "<f2").reshape(-1, identity.dimensions)
