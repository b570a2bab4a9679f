"""Pages of a database file and of its write-ahead log, read without SQLite. In: a path. Out: pages.

Source: the SQLite file format (https://www.sqlite.org/fileformat2.html) and WAL format (section 4 there). Opens files for
reading only. A frame of the log is trusted where its own checksum fits; SQLite itself stops at the first that does not.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

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
    """A frame of the log: the place of its page in the file, and the facts of its header.

    `pages_after` is not 0 where a transaction ends; `sound` = the checksum of this frame fits.
    """

    page: int
    pages_after: int
    offset: int
    sound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The frames of the log's present generation, in order.

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
        """Whether a finished transaction stands behind a frame that SQLite would stop at.

        A transaction that was interrupted leaves an end that cannot be read, with nothing finished behind it.
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
    """The pages of one database as its log leaves them.

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
        """The page of this number, b"" where the file does not hold the whole of it."""
        if number in self._newer:
            return self._newer[number]
        start = (number - 1) * self.page_bytes
        content = bytes(self._database[start : start + self.page_bytes]) if number > 0 else b""
        return content if len(content) == self.page_bytes else b""


def open_pages(path: Path) -> PageFile:
    """Read the database `path` with its log.

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
    """Count the pages of the database: by the log, else by its header where that can be trusted, else by the file's size."""
    by_size = len(content) // page_bytes
    if by_log:
        return by_log
    by_header = int.from_bytes(content[28:32], "big")
    trusted = content[:16] == MAGIC and content[24:28] == content[92:96] and 0 < by_header < by_size
    return by_header if trusted else by_size


def read_log(wal: bytes) -> Log:
    """The frames of the present generation of the log `wal`."""
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
    """SQLite's checksums of rows of words (WAL format, section 4.2), modulo 2**32.

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
    """The powers of the step's matrix for each pair of words, and for the sums before them."""
    power = [[1, 0], [0, 1]]
    factors = np.empty((pairs, 2, 2), np.uint32)
    for at in range(pairs - 1, -1, -1):
        factors[at] = power
        power = [[(row[0] + row[1]) & 0xFFFFFFFF, (row[0] + 2 * row[1]) & 0xFFFFFFFF] for row in power]
    return factors, np.array(power, np.uint32)
