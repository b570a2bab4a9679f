"""Pages of a database file and of its write-ahead log, read without SQLite. In: a path. Out: pages.

Source: the SQLite file format (https://www.sqlite.org/fileformat2.html) and WAL format (section 4 there). Opens files for
reading only. A frame of the log is trusted where its own checksum fits; SQLite itself stops at the first that does not.

Rows of single pages. In: pages. Out: the records of their cells, each by itself: one that cannot be read harms no other.

Source: the SQLite file format, sections 1.6 and 2.1. Never raises for what stands in a page.

The rows that a damaged database still holds. In: its pages. Out: rows, each once.

A row is known by its form (how many columns, and what stands in them), not by the tree it hangs in: so a damaged schema, root or
inner page costs no row. Pages that no tree leads to are read first and give way to the others; free pages are passed over, because
they hold what was deleted. Of several versions of a row the newest counts.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import numpy.typing as npt

from tacit.backends.changes import dated_change_id
from tacit.model.memory import Memory, RelationType
from tacit.model.session import SessionState
from tacit.model.trace import Trace
from tacit.ports.store import ProjectRecord

MAGIC = b"SQLite format 3\0"
DEFAULT_PAGE_BYTES = 4096
_FORMATS = (1, 2)
_FRACTIONS = bytes((64, 32, 32))
_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682
_CHUNK_FRAMES = 256
_Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame of the write-ahead log: `page` = number of its page, `offset` = where the page's bytes begin in the log.

    `pages_after` = size of the database in pages after the transaction that ends here, 0 = none ends; `sound` = its checksum is right.
    """

    page: int
    pages_after: int
    offset: int
    sound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The parsed write-ahead log of a database: the frames of its present generation, in order.

    Attributes:
        page_bytes: size of a page.
        frames: those whose salts are of the present generation.
        header_sound: whether the log's header can be trusted.
    """

    page_bytes: int = DEFAULT_PAGE_BYTES
    frames: tuple[Frame, ...] = ()
    header_sound: bool = True

    @property
    def damaged(self) -> bool:
        """Whether SQLite would lose a finished transaction, because it comes after a damaged frame or header.

        An interrupted transaction also leaves an unreadable end, but nothing finished after it.
        """
        stops = 0 if not self.header_sound else None
        for number, frame in enumerate(self.frames):
            if stops is None and not frame.sound:
                stops = number
            elif stops is not None and frame.sound and frame.pages_after:
                return True
        return False


@dataclass(slots=True, kw_only=True)
class PageFile:
    """The pages of a database file, with the newer pages of its log over them.

    Attributes:
        page_bytes: size of a page.
        usable_bytes: size without what is reserved at the end of each page.
        count: pages of the database; the first has the number 1.
        spare: pages of the log whose checksum does not fit, for what is found nowhere else.
    """

    page_bytes: int
    usable_bytes: int
    count: int
    spare: tuple[bytes, ...] = ()
    _database: bytes | mmap.mmap = b""
    _newer: dict[int, bytes] = field(default_factory=dict[int, bytes])

    def page(self, number: int) -> bytes:
        """Return the page of this number (from 1), or b"" if the file does not hold all of it."""
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.page_bytes
        content = bytes(self._database[start : start + self.page_bytes]) if number > 0 else b""
        return content if len(content) == self.page_bytes else b""


def open_pages(path: Path) -> PageFile:
    """Open the database `path` with its write-ahead log for reading its pages, without SQLite; a missing file has no pages.

    Raises:
        OSError: a file cannot be read.
    """
    content = _mapped(path)
    wal = _read_log_file(path)
    log = read_log(wal)
    page_bytes, reserved = _page_sizes(content, log if wal else None)
    last = max((n for n, frame in enumerate(log.frames) if frame.sound and frame.pages_after), default=-1)
    newer: dict[int, bytes] = {}
    spare: list[bytes] = []
    for number, frame in enumerate(log.frames):
        page = wal[frame.offset : frame.offset + page_bytes]
        if frame.sound and number <= last:
            newer[frame.page] = page
        else:
            spare.append(page)
    return PageFile(
        page_bytes=page_bytes,
        usable_bytes=page_bytes - reserved,
        count=_count(content, page_bytes, log.frames[last].pages_after if last >= 0 else 0),
        spare=tuple(spare) if log.damaged else (),
        _database=content,
        _newer=newer,
    )


def log_is_damaged(path: Path) -> bool:
    """Whether the log beside the database `path` is damaged, so that SQLite would silently drop what stands behind the damage."""
    wal = _read_log_file(path)
    return bool(wal) and read_log(wal).damaged


def _mapped(path: Path) -> bytes | mmap.mmap:
    if not path.exists() or not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _read_log_file(path: Path) -> bytes:
    try:
        return Path(f"{path}-wal").read_bytes()
    except FileNotFoundError:
        return b""


def _page_sizes(content: bytes | mmap.mmap, log: Log | None) -> tuple[int, int]:
    # Bytes 18 to 23 hold fixed values but for one: where they do not, the sizes beside them are damage as well.
    if (
        content[:16] == MAGIC
        and content[18] in _FORMATS
        and content[19] in _FORMATS
        and content[21:24] == _FRACTIONS
    ):
        size = int.from_bytes(content[16:18], "big")
        size = 65_536 if size == 1 else size
        if 512 <= size <= 65_536 and not size & (size - 1) and content[20] <= size - 480:
            return size, content[20]
    return (log.page_bytes if log else DEFAULT_PAGE_BYTES), 0


def _count(content: bytes | mmap.mmap, page_bytes: int, by_log: int) -> int:
    """Return the number of pages of the database: `by_log` if not 0, else from its header if that can be trusted, else from the file's size."""
    by_size = len(content) // page_bytes
    if by_log:
        return by_log
    by_header = int.from_bytes(content[28:32], "big")
    trusted = content[:16] == MAGIC and content[24:28] == content[92:96] and 0 < by_header < by_size
    return by_header if trusted else by_size


def read_log(wal: bytes) -> Log:
    """Parse the bytes of a write-ahead log, and return its frames of the present generation."""
    if len(wal) < _WAL_HEADER.size + _FRAME_HEADER.size:
        return Log()
    magic, _, page_bytes, _, *salts, sum0, sum1 = _WAL_HEADER.unpack_from(wal)
    little = magic == _WAL_MAGIC
    sound = magic & ~1 == _WAL_MAGIC and _checksum(wal[:24], (0, 0), little=little) == (sum0, sum1)
    if not sound:
        # The size of a page and the salts stand in every frame, too: the first frame is always of the present generation.
        page_bytes, little = DEFAULT_PAGE_BYTES, True
        salts = list(_FRAME_HEADER.unpack_from(wal, _WAL_HEADER.size)[2:4])
    if not 512 <= page_bytes <= 65_536 or page_bytes & (page_bytes - 1):
        return Log()
    return Log(
        page_bytes=page_bytes,
        frames=tuple(_frames(wal, page_bytes, (salts[0], salts[1]), (sum0, sum1), little=little)),
        header_sound=sound,
    )


def _frames(
    wal: bytes, page_bytes: int, salts: tuple[int, int], start: tuple[int, int], *, little: bool
) -> Iterator[Frame]:
    frame_bytes = _FRAME_HEADER.size + page_bytes
    whole = (len(wal) - _WAL_HEADER.size) // frame_bytes
    before = start
    for first in range(0, whole, _CHUNK_FRAMES):
        count = min(_CHUNK_FRAMES, whole - first)
        rows = np.frombuffer(wal, np.uint8, count * frame_bytes, _WAL_HEADER.size + first * frame_bytes)
        rows = rows.reshape(count, frame_bytes)
        headers = rows[:, : _FRAME_HEADER.size].copy().view(">u4").astype(np.uint32)
        summed = np.concatenate((rows[:, :8], rows[:, _FRAME_HEADER.size :]), axis=1)
        words = np.ascontiguousarray(summed).view("<u4" if little else ">u4").astype(np.uint32)
        starts = np.concatenate((np.array([before], np.uint32), headers[:-1, 4:6]))
        sound = (_checksums(words, starts) == headers[:, 4:6]).all(axis=1)
        before = (int(headers[-1, 4]), int(headers[-1, 5]))
        for row in range(count):
            page, pages_after, salt0, salt1 = (int(value) for value in headers[row, :4])
            if (salt0, salt1) == salts and page:
                offset = _WAL_HEADER.size + (first + row) * frame_bytes + _FRAME_HEADER.size
                yield Frame(page=page, pages_after=pages_after, offset=offset, sound=bool(sound[row]))


def _checksum(content: bytes, start: tuple[int, int], *, little: bool) -> tuple[int, int]:
    words = np.frombuffer(content, "<u4" if little else ">u4").astype(np.uint32).reshape(1, -1)
    first, second = _checksums(words, np.array([start], np.uint32))[0]
    return int(first), int(second)


def _checksums(words: _Words, starts: _Words) -> _Words:
    """Return SQLite's checksum pair of each row of 32-bit words (WAL format, section 4.2), from the pairs in `starts`.

    `s0 += x[i] + s1; s1 += x[i+1] + s0` is linear, so the last sums are those of the words times fixed factors.
    """
    factors, last = _factors(words.shape[1] // 2)
    first = words[:, 0::2]
    second = first + words[:, 1::2]
    sums = [
        (first * factors[:, row, 0] + second * factors[:, row, 1]).sum(axis=1, dtype=np.uint32)
        + starts[:, 0] * last[row, 0]
        + starts[:, 1] * last[row, 1]
        for row in (0, 1)
    ]
    return np.stack(sums, axis=1).astype(np.uint32)


@cache
def _factors(pairs: int) -> tuple[_Words, _Words]:
    """Return the powers of the checksum step's matrix: one for each pair of words, and the last one for the start values."""
    power = [[1, 0], [0, 1]]
    factors = np.empty((pairs, 2, 2), np.uint32)
    for at in range(pairs - 1, -1, -1):
        factors[at] = power
        power = [[(row[0] + row[1]) & 0xFFFFFFFF, (row[0] + 2 * row[1]) & 0xFFFFFFFF] for row in power]
    return factors, np.array(power, np.uint32)


TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02
KINDS = frozenset({TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER})
Value = int | float | str | bytes | None
_REAL = struct.Struct(">d")
_INT_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FILE_HEADER = 100
_MAX_COLUMNS = 64


class Unreadable(Exception):
    """A cell of a page cannot be read as a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row as stored: `rowid` and column values. `rowid` None = it is from an index or a table WITHOUT ROWID."""

    rowid: int | None
    values: tuple[Value, ...]


def is_tree_page(page: bytes, number: int) -> bool:
    """Whether the page has the type of a table's or index's page."""
    head = _FILE_HEADER if number == 1 else 0
    return len(page) > head and page[head] in KINDS


def children(page: bytes, number: int) -> Iterator[int]:
    """Yield the numbers of the child pages of an inner page; none for a leaf."""
    head = _FILE_HEADER if number == 1 else 0
    if not is_tree_page(page, number) or page[head] not in (TABLE_INNER, INDEX_INNER):
        return
    for place in _cells(page, head, 12):
        yield int.from_bytes(page[place : place + 4], "big")
    yield int.from_bytes(page[head + 8 : head + 12], "big")


def records(file: PageFile, page: bytes, number: int, chained: set[int]) -> Iterator[Record]:
    """Yield the rows of a page, skipping unreadable ones; add the numbers of the overflow pages of long rows to `chained`."""
    head = _FILE_HEADER if number == 1 else 0
    if not is_tree_page(page, number) or page[head] == TABLE_INNER:
        return
    kind = page[head]
    for place in _cells(page, head, 12 if kind == INDEX_INNER else 8):
        try:
            yield _record(file, page, place, kind, chained)
        except (Unreadable, IndexError, UnicodeDecodeError):
            continue


def _cells(page: bytes, head: int, header_bytes: int) -> Iterator[int]:
    start = head + header_bytes
    count = min(int.from_bytes(page[head + 3 : head + 5], "big"), (len(page) - start) // 2)
    for at in range(start, start + 2 * count, 2):
        place = page[at] << 8 | page[at + 1]
        if start <= place < len(page) - 3:
            yield place


def _record(file: PageFile, page: bytes, place: int, kind: int, chained: set[int]) -> Record:
    rowid = None
    if kind == INDEX_INNER:
        place += 4
    size, place = _varint(page, place)
    if kind == TABLE_LEAF:
        rowid, place = _varint(page, place)
        rowid -= (rowid & 1 << 63) << 1
    payload = _payload(file, page, place, size=size, kind=kind, chained=chained)
    return Record(rowid=rowid, values=_values(payload))


def _payload(file: PageFile, page: bytes, place: int, *, size: int, kind: int, chained: set[int]) -> bytes:
    usable = file.usable_bytes
    most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if size <= most:
        payload = page[place : place + size]
        if len(payload) < size:
            raise Unreadable
        return payload
    least = (usable - 12) * 32 // 255 - 23
    local = least + (size - least) % (usable - 4)
    local = local if local <= most else least
    pieces = [page[place : place + local]]
    missing = size - local
    number = int.from_bytes(page[place + local : place + local + 4], "big")
    overflow_pages: set[int] = set()
    while missing > 0:
        following = file.page(number) if 1 < number <= file.count and number not in overflow_pages else b""
        if not following:
            raise Unreadable
        overflow_pages.add(number)
        pieces.append(following[4 : min(usable, 4 + missing)])
        missing -= usable - 4
        number = int.from_bytes(following[:4], "big")
    chained |= overflow_pages
    return b"".join(pieces)


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = 0
    for at in range(place, place + 8):
        byte = content[at]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + 1
    return value << 8 | content[place + 8], place + 9


def _values(payload: bytes) -> tuple[Value, ...]:
    head_bytes, at = _varint(payload, 0)
    if not at <= head_bytes <= len(payload):
        raise Unreadable
    types: list[int] = []
    while at < head_bytes:
        kind, at = _varint(payload, at)
        types.append(kind)
        if len(types) > _MAX_COLUMNS:
            raise Unreadable
    values: list[Value] = []
    for kind in types:
        size = _size(kind)
        data = payload[at : at + size]
        if len(data) < size:
            raise Unreadable
        values.append(_value(kind, data))
        at += size
    if at != len(payload):
        raise Unreadable
    return tuple(values)


def _size(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):
        raise Unreadable
    return 8 if kind == 7 else _INT_BYTES.get(kind, 0)


def _value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind in _INT_BYTES:
        return int.from_bytes(data, "big", signed=True)
    if kind == 7:
        return float(_REAL.unpack(data)[0])
    if kind in (8, 9):
        return kind - 8
    return data if kind % 2 == 0 else data.decode("utf-8")


_RELATIONS = frozenset(get_args(RelationType))
_OBJECTS = frozenset({"table", "index", "trigger", "view"})
_LOCK_BYTE = 1 << 30
_memory = msgspec.json.Decoder(Memory).decode
_session = msgspec.json.Decoder(SessionState).decode
_trace = msgspec.json.Decoder(Trace).decode
_project = msgspec.json.Decoder(ProjectRecord).decode

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """The columns of a memory's row that are needed: its version, its use count (-1 = lost) and its JSON body."""

    version: int
    uses: int
    body: str


@dataclass(slots=True, kw_only=True)
class FoundRows:
    """The rows that were found in a damaged database, by their keys.

    Attributes:
        memories: by number.
        versions: (recorded_at_ms, reason, body, change_id) by memory's number and version.
        relations: weights by (source, target, type), with memories' numbers.
        identities: (name, dimensions) of embedders by number.
        vectors: (identity, bytes) by memory's number.
        sessions, traces, handovers, projects, values: whole rows by key.
        exposures: whole rows.
        known: memories' numbers by id as the index of ids has them, with or without a row.
        damaged_pages: pages that hold nothing that can be read.
    """

    memories: dict[int, MemoryRow] = field(default_factory=dict[int, MemoryRow])
    versions: dict[tuple[int, int], tuple[int, str, str, str]] = field(
        default_factory=dict[tuple[int, int], tuple[int, str, str, str]]
    )
    relations: dict[tuple[int, int, str], float] = field(default_factory=dict[tuple[int, int, str], float])
    identities: dict[int, tuple[str, int]] = field(default_factory=dict[int, tuple[str, int]])
    vectors: dict[int, tuple[int, bytes]] = field(default_factory=dict[int, tuple[int, bytes]])
    sessions: dict[tuple[str, str], Row] = field(default_factory=dict[tuple[str, str], Row])
    traces: dict[str, Row] = field(default_factory=dict[str, Row])
    handovers: dict[str, Row] = field(default_factory=dict[str, Row])
    projects: dict[str, str] = field(default_factory=dict[str, str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    exposures: dict[Row, None] = field(default_factory=dict[Row, None])
    known: dict[str, int] = field(default_factory=dict[str, int])
    damaged_pages: int = 0

    @property
    def empty(self) -> bool:
        """Whether nothing of a Tacit store was found."""
        return not (self.memories or self.versions or self.sessions or self.projects or self.values)


def find_rows(file: PageFile) -> FoundRows:
    """Read every row that can still be read from a database file, also from pages that no tree leads to; free pages are skipped."""
    reached = _reached(file)
    free, free_known = _free_pages(file)
    free -= reached
    found_rows = FoundRows()
    chained: set[int] = set()
    for page in file.spare:
        _take_all(found_rows, records(file, page, 0, set()))
    numbers = range(1, file.count + 1)
    loose = [n for n in numbers if n not in reached and not (free_known and n in free)]
    read: set[int] = set()
    for number in (*loose, *sorted(reached)):
        page = file.page(number)
        if is_tree_page(page, number):
            read.add(number)
            _take_all(found_rows, records(file, page, number, chained))
    lock_page = _LOCK_BYTE // file.page_bytes + 1
    whole = set(numbers) - read - chained - free - {lock_page}
    found_rows.damaged_pages = len(whole)
    return found_rows


# --- which pages ---------------------------------------------------------------------------------------------------


def _reached(file: PageFile) -> set[int]:
    """Return the numbers of all pages that the tables and indexes of the schema lead to."""
    roots = {1}
    for number in range(1, file.count + 1):
        page = file.page(number)
        if is_tree_page(page, number):
            for record in records(file, page, number, set()) if _may_be_schema(page) else ():
                root = _root_of(record)
                if root:
                    roots.add(root)
    reached: set[int] = set()
    waiting = [root for root in roots if 1 <= root <= file.count]
    while waiting:
        number = waiting.pop()
        page = file.page(number)
        if number in reached or not is_tree_page(page, number):
            continue
        reached.add(number)
        waiting += [child for child in children(page, number) if 1 <= child <= file.count]
    return reached


def _may_be_schema(page: bytes) -> bool:
    return (
        b"CREATE TABLE" in page
        or b"CREATE INDEX" in page
        or b"sqlite_autoindex" in page
        or b"CREATE VIRTUAL" in page
    )


def _root_of(record: Record) -> int:
    match record.values:
        case (str(kind), str(), str(), int(root), str() | None) if kind in _OBJECTS:
            return root
        case _:
            return 0


def _free_pages(file: PageFile) -> tuple[set[int], bool]:
    """Return (numbers of the pages on the free list, whether that list could be read completely)."""
    first = file.page(1)
    trunk, promised = int.from_bytes(first[32:36], "big"), int.from_bytes(first[36:40], "big")
    free: set[int] = set()
    most = file.usable_bytes // 4 - 2
    while trunk:
        page = file.page(trunk)
        count = int.from_bytes(page[4:8], "big")
        if not page or trunk in free or count > most:
            return free, False
        free.add(trunk)
        leaves = {int.from_bytes(page[8 + 4 * at : 12 + 4 * at], "big") for at in range(count)}
        if not all(1 < leaf <= file.count for leaf in leaves):
            return free, False
        free |= leaves
        trunk = int.from_bytes(page[:4], "big")
    return free, bool(first) and len(free) == promised


# --- which rows ----------------------------------------------------------------------------------------------------


def _take_all(found_rows: FoundRows, rows: Iterable[Record]) -> None:
    for row in rows:
        try:
            _take_of_index(found_rows, row.values) if row.rowid is None else _take_of_table(
                found_rows, row.rowid, row.values
            )
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue


def _take_of_table(found_rows: FoundRows, rowid: int, values: Row) -> None:
    match values:
        case (
            None,
            str(name),
            int(),
            str(),
            str(),
            str(),
            int(),
            int() | None,
            int(),
            int() | float(),
            int(),
            str(),
            int(uses),
            int(),
            int(version),
            str(body),
            *_,
        ):
            _take_memory(found_rows, rowid, name, MemoryRow(version=version, uses=max(0, uses), body=body))
        case (str(host), str(name), int(), str(body)):
            key = _session(body).key
            if (key.host, key.session_id) == (host, name):
                found_rows.sessions[host, name] = values
        case (str(name), str(), str(), int(), str(body)) if name not in _OBJECTS:
            if _trace(body).id == name:
                found_rows.traces[name] = values
        case (str(key), str(), str(), str(), int(), int(), str(), int() | None):
            found_rows.handovers[key] = values
        case (str(name), str(body)):
            if _is_project(name, body):
                found_rows.projects[name] = body
            else:
                found_rows.values[name] = body
        case (None, str(name), int(dimensions)) if dimensions > 0:
            found_rows.identities[rowid] = (name, dimensions)
        case (None, int(identity), bytes(vector)) if vector:
            found_rows.vectors[rowid] = (identity, vector)
        case _:
            pass


def _take_of_index(found_rows: FoundRows, values: Row) -> None:
    match values:
        case (int(number), int(version), int(at_ms), int(), str(reason), str(body), str(change)):
            if _memory(body):
                found_rows.versions[number, version] = (at_ms, reason, body, change or dated_change_id(at_ms))
        case (int(source), int(target), str(kind), int() | float() as weight) if kind in _RELATIONS:
            found_rows.relations[source, target, kind] = float(weight)
        case (str(), str(), str(), str(), int(), int(), str(), int(), int()):
            found_rows.exposures[values] = None
        case (str(name), int(number)) if name.startswith("mem_"):
            found_rows.known[name] = number
        case _:
            pass


def _take_memory(rows: FoundRows, number: int, name: str, row: MemoryRow) -> None:
    earlier_row = rows.memories.get(number)
    if (earlier_row is None or earlier_row.version <= row.version) and _memory(row.body).id == name:
        rows.memories[number] = row


def _is_project(name: str, body: str) -> bool:
    try:
        return _project(body).id == name
    except (msgspec.MsgspecError, ValueError):
        return False
