"""Which triggers fit what is about to happen, over all memories of a scope at once.

In: the stored triggers of a scope as one matrix (action x memory, weights in steps of 1/200), and action probabilities.
Out: row numbers with the best product of probability and weight. Kept in step with the table by its change counter.
Never decides what may be seen: the caller checks every hit in the table.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite.documents import ALWAYS, PAIR, WEIGHT_STEPS
from tacit.backends.sqlite.index.rows import FOREVER, Positions, Rows, Scores
from tacit.backends.sqlite.scopes import StoredScope

MAX_PARTITIONS = 512

_PAIR_TYPE = np.dtype([("action", "<u2"), ("weight", "u1")])
_Found = tuple[int, str, int, int | None, str, bytes | None]


@dataclass(slots=True)
class _Partition:
    """Triggers of one scope; `weights` has shape (actions, rows)."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    change: int = -1
    rows: Rows = field(default_factory=Rows)
    weights: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((1, 0), np.uint8))


class IntentPartitions:
    """The trigger matrices in use. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: OrderedDict[int, _Partition] = OrderedDict()

    def best(
        self,
        connection: sqlite3.Connection,
        scope: StoredScope,
        probabilities: Mapping[int, float],
        *,
        want: int,
        now_ms: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.bytes_], Scores]:
        """Row numbers, ids and scores (0-1) of the `want` best triggers of `scope`, in no order.

        Args:
            connection: a reader.
            scope: where to look.
            probabilities: action number -> probability; `ALWAYS` with 1.0 is the caller's to give.
            want: how many at most.
            now_ms: the time at which they must hold.
        """
        with self._lock:
            partition = self._partitions.setdefault(scope.number, _Partition())
            self._partitions.move_to_end(scope.number)
            while len(self._partitions) > MAX_PARTITIONS:
                self._partitions.popitem(last=False)
        with partition.lock:
            if partition.change < scope.change:
                _refresh(connection, partition, scope)
            positions, scores = _score(partition, probabilities, want, now_ms)
            return partition.rows.numbers[positions], partition.rows.ids[positions], scores


def _score(
    partition: _Partition, probabilities: Mapping[int, float], want: int, now_ms: int
) -> tuple[Positions, Scores]:
    rows = partition.rows
    scores = np.zeros(rows.size, np.float32)
    product = np.empty(rows.size, np.float32)
    for action, probability in probabilities.items():
        if action < len(partition.weights):
            np.multiply(partition.weights[action], np.float32(probability / WEIGHT_STEPS), out=product)
            np.maximum(scores, product, out=scores)
    usable = rows.usable(now_ms)
    fitting = scores > 0 if usable is None else (scores > 0) & usable
    positions = np.flatnonzero(fitting)
    return rows.best(positions, scores[positions], want)


def _refresh(connection: sqlite3.Connection, partition: _Partition, scope: StoredScope) -> None:
    since = partition.change
    if since < scope.moved:
        since = -1
    found = _read(connection, scope.number, since)
    if since >= 0 and partition.rows.dead + len(found) > max(1000, partition.rows.living // 2):
        since = -1
        found = _read(connection, scope.number, since)
    if since < 0:
        partition.rows = Rows()
        partition.weights = np.zeros((1, 0), np.uint8)
    else:
        partition.rows.remove([row[0] for row in found])
    kept = [row for row in found if row[4] == "active" and row[5] is not None]
    _append(partition, kept)
    partition.change = scope.change


def _read(connection: sqlite3.Connection, scope: int, since: int) -> Sequence[_Found]:
    joined = "JOIN" if since < 0 else "LEFT JOIN"
    return connection.execute(
        "SELECT m.number, m.id, m.valid_from_ms, m.valid_to_ms, m.status, i.weights FROM memories AS m"
        f" {joined} intents AS i ON i.memory = m.number WHERE m.scope = ? AND m.change > ? ORDER BY m.number",
        (scope, since),
    ).fetchall()


def _append(partition: _Partition, found: Sequence[_Found]) -> None:
    if not found:
        return
    blobs = [row[5] or b"" for row in found]
    pairs = np.frombuffer(b"".join(blobs), _PAIR_TYPE)
    owners = np.repeat(np.arange(len(blobs)), [len(blob) // PAIR.size for blob in blobs])
    actions = max(len(partition.weights), int(pairs["action"].max(initial=ALWAYS)) + 1)
    size = partition.rows.size
    weights = np.zeros((actions, size + len(found)), np.uint8)
    weights[: len(partition.weights), :size] = partition.weights
    weights[pairs["action"].astype(np.intp), size + owners] = pairs["weight"]
    partition.weights = weights
    partition.rows.extend(
        [row[0] for row in found],
        [row[1].encode() for row in found],
        [row[2] for row in found],
        [FOREVER if row[3] is None else row[3] for row in found],
    )
