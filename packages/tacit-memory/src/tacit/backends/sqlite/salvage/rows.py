"""The rows that a damaged database still holds. In: its pages. Out: rows, each once.

A row is known by its form (how many columns, and what stands in them), not by the tree it hangs in: so a damaged schema, root or
inner page costs no row. Pages that no tree leads to are read first and give way to the others; free pages are passed over, because
they hold what was deleted. Of several versions of a row the newest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from tacit.backends.changes import dated_change_id
from tacit.backends.sqlite.salvage.pages import PageFile
from tacit.backends.sqlite.salvage.records import Record, Value, children, is_tree_page, records
from tacit.model.memory import Memory, RelationType
from tacit.model.session import SessionState
from tacit.model.trace import Trace
from tacit.ports.store import ProjectRecord

_RELATIONS = frozenset(get_args(RelationType))
_OBJECTS = frozenset({"table", "index", "trigger", "view"})
_LOCK_BYTE = 1 << 30
_STORE_ID = re.compile(r"[0-9a-f]{32}$")
"""The row of the table `state` has the form of an embedder's identity."""
_memory = msgspec.json.Decoder(Memory).decode
_session = msgspec.json.Decoder(SessionState).decode
_trace = msgspec.json.Decoder(Trace).decode
_project = msgspec.json.Decoder(ProjectRecord).decode

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """The columns of a memory beside its body."""

    version: int
    uses: int
    body: str


@dataclass(slots=True, kw_only=True)
class FoundRows:
    """The rows of one database, by their keys.

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
    """Every row that can be read."""
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
    """The pages that the trees of the schema lead to."""
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
    """The pages on the list of free ones, and whether that list is whole."""
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
        case (None, str(name), int(dimensions)) if dimensions > 0 and not _STORE_ID.match(name):
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
