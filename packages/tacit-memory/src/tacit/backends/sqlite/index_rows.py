"""The memories of one scope as arrays: which row, which id, when it holds. In: rows of the table. Out: masks and picks.

Appending never moves what is there in the eyes of a reader that holds the arrays; removing only clears a mark. Never asks
the database anything, and is not safe to share between threads: its owner holds a lock.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]
Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]

Kinds = NDArray[np.uint32]

FOREVER = np.iinfo(np.int64).max


def kind_number(kind: str) -> int:
    """Return the number that stands for a kind in arrays and files: the CRC-32 of its name."""
    return zlib.crc32(kind.encode())


def kind_numbers(kinds: Iterable[str]) -> Kinds:
    """Return the numbers of several kinds, shape (n,); see `kind_number`."""
    return np.fromiter(map(kind_number, kinds), np.uint32)


class Rows:
    """The memories of one scope as arrays: row number, id, validity and kind for each position. The owner's own arrays use the same positions.

    Attributes:
        numbers: row number of the memory per position, shape (size,).
        ids: its id as UTF-8 bytes per position, shape (size,).
        valid_from, valid_to: milliseconds since the epoch; `FOREVER` = still holds.
        kinds: number of its kind per position, shape (size,).
        alive: False where a memory was removed.
    """

    __slots__ = (
        "_greatest",
        "_last_from",
        "_mask",
        "_mask_holds",
        "_next_to",
        "_ranks",
        "alive",
        "dead",
        "ids",
        "kinds",
        "numbers",
        "valid_from",
        "valid_to",
    )

    def __init__(self) -> None:
        self.numbers: Numbers = np.empty(0, np.int64)
        self.ids: NDArray[np.bytes_] = np.empty(0, "S1")
        self.valid_from: Numbers = np.empty(0, np.int64)
        self.valid_to: Numbers = np.empty(0, np.int64)
        self.kinds: Kinds = np.empty(0, np.uint32)
        self.alive: Mask = np.empty(0, np.bool_)
        self.dead = 0
        self._greatest = -1
        self._last_from = -FOREVER
        self._next_to = FOREVER
        self._mask: Mask | None = None
        self._mask_holds = (0, 0)
        self._ranks: NDArray[np.int32] | None = None

    @property
    def size(self) -> int:
        """Number of positions, removed ones included."""
        return len(self.numbers)

    @property
    def living(self) -> int:
        """Number of memories that were not removed."""
        return self.size - self.dead

    def extend(
        self,
        numbers: Sequence[int] | Numbers,
        ids: Sequence[bytes] | NDArray[np.bytes_],
        valid_from: Sequence[int] | Numbers,
        valid_to: Sequence[int] | Numbers,
        kinds: Sequence[int] | Kinds,
    ) -> None:
        """Append memories; `valid_to` uses `FOREVER`, `kinds` the numbers of `kind_number`."""
        if len(numbers) == 0:
            return
        self.numbers = np.concatenate([self.numbers, np.asarray(numbers, np.int64)])
        self.ids = np.concatenate([self.ids, np.asarray(ids, np.bytes_)])
        self.valid_from = np.concatenate([self.valid_from, np.asarray(valid_from, np.int64)])
        self.valid_to = np.concatenate([self.valid_to, np.asarray(valid_to, np.int64)])
        self.kinds = np.concatenate([self.kinds, np.asarray(kinds, np.uint32)])
        self.alive = np.concatenate([self.alive, np.ones(len(numbers), np.bool_)])
        self._greatest = max(self._greatest, int(self.numbers[-len(numbers) :].max()))
        self._last_from = max(self._last_from, int(self.valid_from[-len(numbers) :].max()))
        self._next_to = min(self._next_to, int(self.valid_to[-len(numbers) :].min()))
        self._ranks = self._mask = None

    def remove(self, numbers: Sequence[int]) -> None:
        """Mark the memories with these row numbers as removed; unknown ones are ignored. No position changes."""
        if not self.size or not len(numbers) or min(numbers) > self._greatest:
            return
        gone = np.isin(self.numbers, np.asarray(numbers, np.int64)) & self.alive
        self.alive[gone] = False
        self.dead += int(np.count_nonzero(gone))
        self._mask = None

    def usable(self, now_ms: int, kinds: Kinds | None = None) -> Mask | None:
        """Return a mask of the positions that are valid at `now_ms` and have one of `kinds` (None = any); None = all positions. Do not change the mask."""
        holding = self._holding(now_ms)
        if kinds is None:
            return holding
        of_kinds = np.isin(self.kinds, kinds)
        return of_kinds if holding is None else of_kinds & holding

    def _holding(self, now_ms: int) -> Mask | None:
        """Return a mask of the positions that are not removed and valid at `now_ms`; None = all positions.

        The mask is cached until the next memory becomes valid or ends.
        """
        if not self.dead and self._last_from <= now_ms < self._next_to:
            return None
        since, until = self._mask_holds
        if self._mask is None or not since <= now_ms < until:
            begun, ended = self.valid_from <= now_ms, self.valid_to <= now_ms
            self._mask = self.alive & begun & ~ended
            begins = self.valid_from.min(where=~begun, initial=FOREVER)
            ends = self.valid_to.min(where=~ended, initial=FOREVER)
            self._mask_holds = (now_ms, int(min(begins, ends)))
        return self._mask

    def ranks(self) -> NDArray[np.int32]:
        """Return the rank of each position in the order of ids, the newest first, to break ties without comparing strings. Cached."""
        if self._ranks is None:
            order = np.argsort(self.ids, kind="stable")[::-1]
            ranks = np.empty(self.size, np.int32)
            ranks[order] = np.arange(self.size, dtype=np.int32)
            self._ranks = ranks
        return self._ranks

    def best(self, positions: Positions, scores: Scores, want: int) -> tuple[Positions, Scores]:
        """Return the `want` best of `positions` with their scores, in no order; ties by id, the newest first.

        Args:
            positions: candidates, shape (k,).
            scores: their scores, shape (k,).
            want: how many at most.
        """
        if want <= 0:
            return positions[:0], scores[:0]
        if len(positions) <= want:
            return positions, scores
        order = scores.argsort()[-want - 1 :]
        least = scores[order[1]]
        if scores[order[0]] < least:
            chosen = order[1:]
        else:
            (better,), (tied,) = (scores > least).nonzero(), (scores == least).nonzero()
            room = want - len(better)
            in_order = self.ranks()[positions[tied]].argpartition(room - 1)
            chosen = np.concatenate((better, tied[in_order[:room]]))
        return positions[chosen], scores[chosen]
