"""Rows of single pages. In: pages. Out: the records of their cells, each by itself: one that cannot be read harms no other.

Source: the SQLite file format, sections 1.6 and 2.1. Never raises for what stands in a page.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tacit.backends.sqlite.salvage.pages import PageFile

TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER = 0x0D, 0x05, 0x0A, 0x02
KINDS = frozenset({TABLE_LEAF, TABLE_INNER, INDEX_LEAF, INDEX_INNER})
Value = int | float | str | bytes | None
_REAL = struct.Struct(">d")
_INT_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FILE_HEADER = 100
_MAX_COLUMNS = 64


class Unreadable(Exception):
    """A cell or page holds nothing that can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row: `rowid` is None in an index, which tables without rowid are, too."""

    rowid: int | None
    values: tuple[Value, ...]


def is_tree_page(page: bytes, number: int) -> bool:
    """Whether the page can be one of a table or index."""
    head = _FILE_HEADER if number == 1 else 0
    return len(page) > head and page[head] in KINDS


def children(page: bytes, number: int) -> Iterator[int]:
    """The pages below an inner page; none of a leaf."""
    head = _FILE_HEADER if number == 1 else 0
    if not is_tree_page(page, number) or page[head] not in (TABLE_INNER, INDEX_INNER):
        return
    for place in _cells(page, head, 12):
        yield int.from_bytes(page[place : place + 4], "big")
    yield int.from_bytes(page[head + 8 : head + 12], "big")


def records(file: PageFile, page: bytes, number: int, chained: set[int]) -> Iterator[Record]:
    """The rows of a page; the numbers of the pages that hold the rest of long rows go into `chained`."""
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
