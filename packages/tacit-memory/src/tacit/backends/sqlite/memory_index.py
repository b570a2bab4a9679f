"""What the store keeps in memory of each scope to answer quickly: arrays of the active memories, and which words of a query are worth asking for.

`QueryTerms` and `Stemmer` choose the words. The cost of a text search is the sum of its words' document frequencies, so only the rarest words are asked for,
within a budget. Words reach FTS5 between quotes and are split into letters and digits first: no query text is ever syntax. Stems are those of the store's
index: words are shown to FTS5 in a scratch index in memory.

The arrays hold, for each memory, row, id and validity, when it applies (one matrix, action x memory, weights in steps of 1/200) and the lengths of its texts.
They give the positions of what fits the coming actions, and follow the table by its change counter; they never widen a scope. Appending moves nothing in the
eyes of a reader that holds the arrays, removing only clears a mark. They are not safe to share between threads: their owner holds a lock.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite.connection import StoredScope, numbers_of
from tacit.backends.sqlite.writing import ALWAYS, PAIR, WEIGHT_STEPS, scope_token

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
        "_kinds_mask",
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
        self._kinds_mask: tuple[bytes, Mask] | None = None
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
        self._ranks = self._mask = self._kinds_mask = None

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
        wanted = kinds.tobytes()
        if self._kinds_mask is None or self._kinds_mask[0] != wanted:
            self._kinds_mask = wanted, np.isin(self.kinds, kinds)
        of_kinds = self._kinds_mask[1]
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


TextIndex = Literal["words", "code"]

MAX_TERMS: dict[TextIndex, int] = {"words": 12, "code": 12}
MAX_POSTINGS: dict[TextIndex, int] = {"words": 300, "code": 120}
"""Most documents, summed over the words, that one query may visit; the rarest word is always asked for.

Reading one takes about half a microsecond (measured). A word that stands in more of the documents says little: its idf is
small beside that of the rarer ones.
"""

ASKED_TERMS = 64
ASKED_POSTINGS = 60_000
"""The same bounds for a question that somebody asks on demand: thirty milliseconds of reading."""

NARROW_SHARE = 0.3
"""If a scope has less than this share of the index, its own word is part of the text search, which then skips other scopes."""

_MOST_SKIPPED = 20
"""Factor by which the budget of postings may grow in a small scope: documents of other scopes are skipped at little cost."""

_CACHED_STEMS = 8192
_SLACK = 200

_TOKENIZER: dict[TextIndex, str] = {"words": "porter unicode61", "code": "unicode61"}


def any_word(index: TextIndex, words: Iterable[str]) -> str:
    """Return the FTS5 expression that finds any of `words` in the column `index`; each word is quoted."""
    return f"{index} : ({' OR '.join(quoted(word) for word in words)})"


def within(scopes: Iterable[StoredScope], expression: str) -> str:
    """Return the FTS5 expression that finds `expression` only in `scopes`."""
    return f"scope : ({' OR '.join(quoted(scope_token(number)) for number in numbers_of(scopes))}) AND {expression}"


def quoted(word: str) -> str:
    """Return the word as FTS5 reads it between quotes: no sign in it is syntax."""
    return '"' + word.replace('"', '""') + '"'


class Stemmer:
    """Computes and caches the terms that FTS5 makes of words, with a scratch index in memory. Thread-safe."""

    def __init__(self, index: TextIndex) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, ...]] = {}
        self._scratch = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._scratch.close)
        self._scratch.execute(
            f"CREATE VIRTUAL TABLE scratch USING fts5 (word, tokenize = '{_TOKENIZER[index]}')"
        )
        self._scratch.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (scratch, instance)")

    def stems(self, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return word -> its index terms; () for a word without letters and digits."""
        wanted = list(dict.fromkeys(words))
        with self._lock:
            fresh = [word for word in wanted if word not in self._known]
            if len(self._known) + len(fresh) > _CACHED_STEMS:
                self._known.clear()
                fresh = wanted
            if fresh:
                self._learn(fresh)
            return {word: self._known[word] for word in wanted}

    def _learn(self, words: list[str]) -> None:
        self._scratch.execute("BEGIN")
        self._scratch.executemany("INSERT INTO scratch (rowid, word) VALUES (?, ?)", enumerate(words))
        terms: dict[int, list[str]] = {}
        for number, term in self._scratch.execute("SELECT doc, term FROM terms ORDER BY doc, offset"):
            terms.setdefault(number, []).append(term)
        self._scratch.execute("ROLLBACK")
        self._known.update({word: tuple(terms.get(number, ())) for number, word in enumerate(words)})


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """The document frequencies of terms, read when the index had `documents` rows; terms in only one document are left out."""

    documents: int
    by_term: dict[str, int]


class QueryTerms:
    """Chooses the words of a query that are worth asking the text index for: the rarest within a budget. Thread-safe."""

    def __init__(self, index: TextIndex) -> None:
        self.index: TextIndex = index
        self._stemmer = Stemmer(index)
        self._lock = threading.Lock()
        self._frequencies: _Frequencies | None = None

    def choose(
        self,
        connection: sqlite3.Connection,
        words: Iterable[str],
        *,
        documents: int,
        share: float,
        on_demand: bool = False,
    ) -> tuple[str, ...]:
        """Return the rarest of `words` within the budget, rarest first; then those that are in one document or in none.

        Args:
            connection: a reader.
            words: what was asked, without repeats.
            documents: size of the index.
            share: part of the index (0-1) that the search may visit.
            on_demand: whether somebody asks for the answer; then the budget is larger.
        """
        most_terms = ASKED_TERMS if on_demand else MAX_TERMS[self.index]
        by_stem: dict[tuple[str, ...], str] = {}
        for word, stems in self._stemmer.stems(words).items():
            if stems:
                by_stem.setdefault(stems, word)
        frequencies = self._current(connection, documents).by_term
        # A word that is not in the table stands in one document or in none. To find out which costs more than to ask
        # the index for it, so such words are asked for beside the others.
        rare = [stems for stems in by_stem if not all(stem in frequencies for stem in stems)]
        common = [stems for stems in by_stem if all(stem in frequencies for stem in stems)]
        weighed = sorted((min(frequencies[stem] for stem in stems), stems) for stems in common)
        most = ASKED_POSTINGS if on_demand else MAX_POSTINGS[self.index]
        budget = most if share >= NARROW_SHARE else most * min(1 / max(share, 1e-9), _MOST_SKIPPED)
        chosen: list[str] = []
        postings = 0
        for frequency, stems in weighed:
            postings += frequency
            if len(chosen) >= most_terms or (postings > budget and chosen):
                break
            chosen.append(by_stem[stems])
        return (*chosen, *(by_stem[stems] for stems in rare[:most_terms]))

    def prepare(self, connection: sqlite3.Connection, documents: int) -> None:
        """Read the document frequencies unless those in memory are near enough (see `_current`), so that no search waits for it. Blocks: a second for a million documents."""
        self._current(connection, documents)

    def _current(self, connection: sqlite3.Connection, documents: int) -> _Frequencies:
        """Return the document frequencies; they are read again when the number of documents changed by more than a quarter."""
        frequencies = self._frequencies
        if (
            frequencies is not None
            and frequencies.documents * 3 // 4 <= documents <= frequencies.documents * 5 // 4 + _SLACK
        ):
            return frequencies
        with self._lock:
            rows = connection.execute(
                f"SELECT term, doc FROM text_{self.index}_terms WHERE doc > 1"
            ).fetchall()
            frequencies = _Frequencies(documents, dict(rows))
            self._frequencies = frequencies
        return frequencies


MAX_PARTITIONS = 512

Lengths = NDArray[np.uint16]
"""Number of words of each text, per position; at most 65,535."""

_WHOLE = 65_000
_STEP = 8
"""One row in this many is sampled to estimate which products are among the greatest."""
_LONGEST = np.iinfo(np.uint16).max
_PAIR_TYPE = np.dtype([("action", "<u2"), ("weight", "u1")])
_Found = tuple[int, str, int, int | None, str, bytes | None, bytes | None, bytes | None, str]


def _no_lengths() -> dict[TextIndex, Lengths]:
    return {"words": np.empty(0, np.uint16), "code": np.empty(0, np.uint16)}


@dataclass(slots=True)
class MemoryRows:
    """The active memories of one scope as arrays: trigger weights and text lengths per position.

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
        """Return the mean number of words of the texts in `index`; 0 without memories. Cached."""
        mean = self.means.get(index)
        if mean is None:
            living = self.lengths[index][self.rows.alive]
            mean = self.means[index] = float(living.mean()) if len(living) else 0.0
        return mean

    def fitting(
        self, probabilities: Mapping[int, float], *, want: int, now_ms: int, kinds: Kinds | None = None
    ) -> tuple[Positions, Scores]:
        """Return the positions and scores (0-1) of the `want` memories whose triggers fit best, in no order.

        Args:
            probabilities: action number -> probability; the caller adds `ALWAYS` with 1.0.
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
        products = self._products(scaled_probabilities)
        if usable is not None:
            products[~usable] = 0
        positions = _greatest(products, want)
        best = products[positions]
        scores = best.astype(np.float32)
        scores *= np.float32(1 / _WHOLE)
        return self.rows.best(positions, scores, want)

    def _products(self, scaled_probabilities: Mapping[int, np.uint16]) -> NDArray[np.uint16]:
        """Return for each row its greatest product of trigger weight and probability over the actions; 65,000 = 1.

        `scaled_probabilities` = action number -> probability x 65,000 / `WEIGHT_STEPS`.
        """
        best = np.zeros(self.rows.size, np.uint16)
        product = np.empty_like(best)
        for action, probability in scaled_probabilities.items():
            np.multiply(self.weights[action], probability, out=product, dtype=np.uint16)
            np.maximum(best, product, out=best)
        return best

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

    def holding(self, positions: Positions, now_ms: int, kinds: Kinds | None) -> Mask:
        """Return which of the `positions` (of `positions_of`) are memories valid at `now_ms` and of `kinds` (None = any), same shape."""
        held = positions >= 0
        usable = self.rows.usable(now_ms, kinds)
        return held if usable is None else held & usable[positions]


def _greatest(products: NDArray[np.uint16], want: int) -> Positions:
    """Return positions that include those of the `want` greatest products above 0, with all ties of the last one; may be more."""
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
    """The cache of `MemoryRows`, one for each scope in use, at most `MAX_PARTITIONS`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions: OrderedDict[tuple[str, str], MemoryRows] = OrderedDict()

    @contextmanager
    def current(
        self, connection: sqlite3.Connection, scope: StoredScope
    ) -> Generator[MemoryRows, None, None]:
        """Return a context manager that gives the rows of `scope`, brought up to date with what `connection` sees, and locks them for this thread."""
        with self._lock:
            partition = self._partitions.setdefault(scope.key, MemoryRows())
            self._partitions.move_to_end(scope.key)
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
    rows = _read(connection, scope.numbers, since)
    if since >= 0 and partition.rows.dead + len(rows) > max(1000, partition.rows.living // 2):
        since = -1
        rows = _read(connection, scope.numbers, since)
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


def _read(connection: sqlite3.Connection, numbers: tuple[int, ...], since: int) -> Sequence[_Found]:
    # The sizes stand in tables that FTS5 keeps for its own BM25, one row for each document.
    return connection.execute(
        "SELECT m.number, m.id, m.valid_from_ms, m.valid_to_ms, m.status, i.weights, w.sz, c.sz, m.kind FROM memories AS m"
        " LEFT JOIN intents AS i ON i.memory = m.number"
        " LEFT JOIN text_words_docsize AS w ON w.id = m.number"
        " LEFT JOIN text_code_docsize AS c ON c.id = m.number"
        f" WHERE m.scope IN ({','.join('?' * len(numbers))}) AND m.change > ?{' AND m.status = ' + repr('active') if since < 0 else ''} ORDER BY m.number",
        (*numbers, since),
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
    """Return the number of words in the second column of an FTS5 document, from its size record (SQLite varints); from 1 to 65,535, 1 if unknown."""
    if not blob:
        return 1
    values: list[int] = [0]
    for byte in blob:
        values[-1] = values[-1] << 7 | byte & 0x7F
        if byte < 0x80:
            values.append(0)
    return min(max(values[1], 1), _LONGEST)
