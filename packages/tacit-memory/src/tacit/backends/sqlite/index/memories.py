"""The memories of a scope as arrays: when each applies and how long its texts are.

In: the active memories of a scope with their stored triggers (one matrix, action x memory, weights in steps of 1/200) and
the lengths of their texts as the text indexes know them. Out: positions of what fits the coming actions, positions of what
the text indexes found. Kept in step with the table by its change counter. Never widens a scope.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite.documents import ALWAYS, PAIR, WEIGHT_STEPS
from tacit.backends.sqlite.index.rows import (
    FOREVER,
    Kinds,
    Mask,
    Numbers,
    Positions,
    Rows,
    Scores,
    kind_number,
)
from tacit.backends.sqlite.index.terms import TextIndex
from tacit.backends.sqlite.scopes import StoredScope

MAX_PARTITIONS = 512

Lengths = NDArray[np.uint16]
"""Words of a text, per position; what is longer counts as 65,535."""

_WHOLE = 65_000
_STEP = 8
"""One in so many rows of a middling scope tells which products are among the greatest."""
_SAMPLED = 4096
_LARGE = 65_536
"""In a scope of more rows, a sample of them tells from which score on a row may be among the best."""
_LONGEST = np.iinfo(np.uint16).max
_PAIR_TYPE = np.dtype([("action", "<u2"), ("weight", "u1")])
_Found = tuple[int, str, int, int | None, str, bytes | None, bytes | None, bytes | None, str]


def _no_lengths() -> dict[TextIndex, Lengths]:
    return {"words": np.empty(0, np.uint16), "code": np.empty(0, np.uint16)}


@dataclass(slots=True)
class MemoryRows:
    """The memories of one scope.

    Attributes:
        change: the store's counter up to which it follows the table; -1 = empty.
        rows: which memory stands at which position.
        weights: their triggers, shape (actions, rows).
        lengths: words of their texts in each text index, shape (rows,).
        sorted_until: row numbers ascend up to this position; behind it stand those that were written again.
        means: words of the mean text in each text index, as far as anybody asked.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    change: int = -1
    rows: Rows = field(default_factory=Rows)
    weights: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((1, 0), np.uint8))
    lengths: dict[TextIndex, Lengths] = field(default_factory=_no_lengths)
    sorted_until: int = 0
    means: dict[TextIndex, float] = field(default_factory=dict[TextIndex, float])

    def mean_length(self, index: TextIndex) -> float:
        """Words of the mean text in `index`; 0 without memories."""
        mean = self.means.get(index)
        if mean is None:
            living = self.lengths[index][self.rows.alive]
            mean = self.means[index] = float(living.mean()) if len(living) else 0.0
        return mean

    def fitting(
        self, probabilities: Mapping[int, float], *, want: int, now_ms: int, kinds: Kinds | None = None
    ) -> tuple[Positions, Scores]:
        """Positions and scores (0-1) of the `want` best triggers, in no order.

        Args:
            probabilities: action number -> probability; `ALWAYS` with 1.0 is the caller's to give.
            want: how many at most.
            now_ms: the time at which they must hold.
            kinds: numbers of the kinds that are wanted; None = any.
        """
        # In whole numbers, 65,000 = 1: half as much to move as in single precision.
        scaled_probabilities = {
            action: np.uint16(round(probability * _WHOLE / WEIGHT_STEPS))
            for action, probability in probabilities.items()
            if action < len(self.weights)
        }
        usable = self.rows.usable(now_ms, kinds)
        positions = self._likely(scaled_probabilities, want, usable) if self.rows.size > _LARGE else None
        if positions is None:
            best = self._products(scaled_probabilities, slice(None))
            if usable is not None:
                best[~usable] = 0
            positions = _greatest(best, want)
            best = best[positions]
        else:
            best = self._products(scaled_probabilities, positions)
        scores = best.astype(np.float32)
        scores *= np.float32(1 / _WHOLE)
        return self.rows.best(positions, scores, want)

    def _products(
        self, scaled_probabilities: Mapping[int, np.uint16], rows: slice | Positions
    ) -> NDArray[np.uint16]:
        """The best product of weight and probability of every one of `rows`."""
        best = np.zeros(len(self.weights[0, rows]), np.uint16)
        product = np.empty_like(best)
        for action, probability in scaled_probabilities.items():
            np.multiply(self.weights[action, rows], probability, out=product, dtype=np.uint16)
            np.maximum(best, product, out=best)
        return best

    def _likely(
        self, scaled_probabilities: Mapping[int, np.uint16], want: int, usable: Mask | None
    ) -> Positions | None:
        """Positions of the rows among which the `want` best are, all of those as good as the last one; None = look at all.

        A sample tells which product that many rows reach; then whole columns need but be compared with one weight each.
        """
        step = self.rows.size // _SAMPLED
        sample = self._products(scaled_probabilities, slice(None, None, step))
        if usable is not None:
            sample[~usable[::step]] = 0
        rank = len(sample) - (2 * want // step + 8)
        floor = int(np.sort(sample)[rank]) if rank >= 0 else 0
        if floor == 0:
            return None
        reach = np.zeros(self.rows.size, np.bool_)
        for action, probability in scaled_probabilities.items():
            least = -(-floor // max(1, int(probability)))
            if least <= WEIGHT_STEPS:
                reach |= self.weights[action] >= np.uint8(least)
        if usable is not None:
            reach &= usable
        positions = np.flatnonzero(reach)
        return positions if len(positions) >= want else None

    def positions_of(self, numbers: Numbers) -> Positions:
        """Return the position of each of `numbers`, -1 for what is no active memory of this scope; shape (len(numbers),)."""
        rows = self.rows
        positions = _lookup(rows.numbers[: self.sorted_until], numbers)
        if rows.dead:
            positions[(positions >= 0) & ~rows.alive[positions]] = -1
        if self.sorted_until < rows.size:
            tail = rows.numbers[self.sorted_until :]
            order = np.argsort(tail, kind="stable")
            again = _lookup(tail[order], numbers)
            behind = order[again] + self.sorted_until
            lives = (again >= 0) & rows.alive[behind]
            positions[lives] = behind[lives]
        return positions


def _greatest(products: NDArray[np.uint16], want: int) -> Positions:
    """Positions of the `want` greatest above 0 and of some more, all of those as good as the last one."""
    sample = products[::_STEP].copy()
    sample.sort()
    rank = len(sample) - (2 * want // _STEP + 8)
    if want > 0 and rank >= 0 and sample[rank]:
        positions = (products >= sample[rank]).nonzero()[0]
        if len(positions) >= want:
            return positions
    return products.nonzero()[0]


def _lookup(ascending: Numbers, numbers: Numbers) -> Positions:
    """Return the last position of each of `numbers` in `ascending`, -1 for those that are not in it."""
    if not len(ascending):
        return np.full(len(numbers), -1, np.intp)
    at = ascending.searchsorted(numbers, side="right") - 1
    at[ascending[at] != numbers] = -1
    return at


class MemoryPartitions:
    """The memories of every scope in use. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: OrderedDict[int, MemoryRows] = OrderedDict()

    @contextmanager
    def current(
        self, connection: sqlite3.Connection, scope: StoredScope
    ) -> Generator[MemoryRows, None, None]:
        """The memories of `scope`, in step with what `connection` sees, for this thread alone while inside."""
        with self._lock:
            partition = self._partitions.setdefault(scope.number, MemoryRows())
            self._partitions.move_to_end(scope.number)
            while len(self._partitions) > MAX_PARTITIONS:
                self._partitions.popitem(last=False)
        with partition.lock:
            if partition.change < scope.change:
                _refresh(connection, partition, scope)
            yield partition


def _refresh(connection: sqlite3.Connection, partition: MemoryRows, scope: StoredScope) -> None:
    since = partition.change
    if since < scope.moved:
        since = -1
    rows = _read(connection, scope.number, since)
    if since >= 0 and partition.rows.dead + len(rows) > max(1000, partition.rows.living // 2):
        since = -1
        rows = _read(connection, scope.number, since)
    if since < 0:
        partition.rows = Rows()
        partition.weights = np.zeros((1, 0), np.uint8)
        partition.lengths = _no_lengths()
        partition.sorted_until = 0
    else:
        partition.rows.remove([row[0] for row in rows])
    _append(partition, [row for row in rows if row[4] == "active"])
    partition.means.clear()
    partition.change = scope.change


def _read(connection: sqlite3.Connection, scope: int, since: int) -> Sequence[_Found]:
    # The sizes stand in tables that FTS5 keeps for its own BM25, one row for each document.
    return connection.execute(
        "SELECT m.number, m.id, m.valid_from_ms, m.valid_to_ms, m.status, i.weights, w.sz, c.sz, m.kind FROM memories AS m"
        " LEFT JOIN intents AS i ON i.memory = m.number"
        " LEFT JOIN text_words_docsize AS w ON w.id = m.number"
        " LEFT JOIN text_code_docsize AS c ON c.id = m.number"
        f" WHERE m.scope = ? AND m.change > ?{' AND m.status = ' + repr('active') if since < 0 else ''} ORDER BY m.number",
        (scope, since),
    ).fetchall()


def _append(partition: MemoryRows, rows: Sequence[_Found]) -> None:
    if not rows:
        return
    blobs = [row[5] or b"" for row in rows]
    pairs = np.frombuffer(b"".join(blobs), _PAIR_TYPE)
    owners = np.repeat(np.arange(len(blobs)), [len(blob) // PAIR.size for blob in blobs])
    actions = max(len(partition.weights), int(pairs["action"].max(initial=ALWAYS)) + 1)
    size = partition.rows.size
    weights = np.zeros((actions, size + len(rows)), np.uint8)
    weights[: len(partition.weights), :size] = partition.weights
    weights[pairs["action"].astype(np.intp), size + owners] = pairs["weight"]
    partition.weights = weights
    _lengthen(partition, "words", [row[6] for row in rows])
    _lengthen(partition, "code", [row[7] for row in rows])
    numbers = [row[0] for row in rows]
    # What is written again keeps its number: it stands behind the others, out of order, until all are read anew.
    if partition.sorted_until == size and (not size or numbers[0] > partition.rows.numbers[-1]):
        partition.sorted_until += len(rows)
    partition.rows.extend(
        numbers,
        [row[1].encode() for row in rows],
        [row[2] for row in rows],
        [FOREVER if row[3] is None else row[3] for row in rows],
        [kind_number(row[8]) for row in rows],
    )


def _lengthen(partition: MemoryRows, index: TextIndex, blobs: Sequence[bytes | None]) -> None:
    sizes = np.fromiter((_size(blob) for blob in blobs), np.uint16, len(blobs))
    partition.lengths[index] = np.concatenate([partition.lengths[index], sizes])


def _size(blob: bytes | None) -> int:
    """Words of the second column of an FTS5 document: SQLite's varints, seven bits a byte, highest first."""
    if not blob:
        return 1
    values: list[int] = [0]
    for byte in blob:
        values[-1] = values[-1] << 7 | byte & 0x7F
        if byte < 0x80:
            values.append(0)
    return min(max(values[1], 1), _LONGEST)
