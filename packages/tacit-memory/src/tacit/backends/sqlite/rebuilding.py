"""Read what plain SQL still finds in a damaged database, and clean files beside the store. In: paths. Out: a sound database file.

A damaged file is never changed where it lies: its rows go into a new file, on top of those of the newest sound backup. Derived rows
(text indexes, entities, triggers, counts) are made anew, and vectors later. A purge exchanges a copy whole, so that a process that is
killed leaves the old one, and touches no file that holds nothing of what has to go.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tacit.backends.codec import decode_reason
from tacit.backends.sqlite.connection import connect, translate, write_error
from tacit.backends.sqlite.health import BODIES, copy_database, remove_database
from tacit.backends.sqlite.purging import Cleaning, rewrite_texts
from tacit.backends.sqlite.schema import (
    APPLICATION_ID,
    is_possible_version,
    migrate_one,
    missing_parts,
    newest_version,
    schema_version,
)
from tacit.backends.sqlite.writing import restore
from tacit.errors import NotABackup, StoreCorrupt, StoreError, TacitError
from tacit.model.memory import Memory
from tacit.ports.store import Recorded
from tacit.system.files import set_mode, sync_folder

_KEYS = {
    "sessions": "host, session_id", "traces": "id", "handovers": "key", "projects": "id", "named_values": "name",
    "exposures": "host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms",
}  # fmt: skip
"""Tables beside the memories that cannot be made anew, by their keys."""
_Row = tuple[Any, ...]
_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class Readable:
    """The rows that could still be read of a damaged database.

    Attributes:
        known: ids of memories that an index or a row names.
        versions: of memories, by id and number of the version.
        uses: how often a memory was used, by id.
        relations: (source id, target id, type, weight).
        records: rows of the tables of `_KEYS`.
        whole: whether the list of memories could be read to its end, so that `known` is complete.
    """

    known: set[str] = field(default_factory=set[str])
    versions: dict[str, dict[int, Recorded]] = field(default_factory=dict[str, dict[int, Recorded]])
    uses: dict[str, int] = field(default_factory=dict[str, int])
    relations: list[_Row] = field(default_factory=list[_Row])
    records: dict[str, list[_Row]] = field(default_factory=dict[str, list[_Row]])
    whole: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing of a Tacit store was found."""
        return not (self.versions or any(self.records.values()))


def read_damaged(path: Path) -> Readable:
    """Read with SQL whatever can be read of the damaged database `path`: each table from its front, and behind damage from its end."""
    found = Readable()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as old:
            old.execute("PRAGMA writable_schema = ON")  # lets SQLite read a file whose end is missing
            old.text_factory = _text
            _read_memories(old, found)
            for table, keys in _KEYS.items():
                rows, _ = _scan(old, f"SELECT * FROM {table}", keys)
                kind = BODIES.get(table)
                found.records[table] = [row for row in rows if kind is None or _decoded(row[-1], kind)]
    except sqlite3.Error:
        pass  # no database, or without a readable schema
    return found


def _text(stored: bytes) -> str | None:
    """Return the text that these stored bytes hold; None = they are no UTF-8, because they were overwritten."""
    try:
        return stored.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _scan(old: sqlite3.Connection, select: str, keys: str) -> tuple[list[_Row], bool]:
    """Return the rows of a query, and whether these are all; where damage ends it, add those that it gives by `keys`, from either end."""
    rows: dict[_Row, None] = {}
    backwards = ", ".join(f"{key.strip()} DESC" for key in keys.split(","))
    for order in ("", f" ORDER BY {keys}", f" ORDER BY {backwards}"):
        try:
            for row in old.execute(select + order):
                rows[row] = None
            return list(rows), True
        except sqlite3.Error:
            continue
    return list(rows), False


def _decoded(body: object, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(body, type=kind) if isinstance(body, str) else None
    except (msgspec.MsgspecError, TacitError, ValueError):
        return None


def _read_memories(old: sqlite3.Connection, found: Readable) -> None:
    numbers: dict[object, str] = {}
    history = "SELECT memory, version, recorded_at_ms, reason, body, change_id FROM versions"
    for number, version, at_ms, reason, body, change_id in _scan(old, history, "memory, version")[0]:
        if memory := _decoded(body, Memory):
            numbers[number] = memory.id
            if isinstance(at_ms, int) and isinstance(version, int) and isinstance(reason, str):
                recorded = Recorded(
                    memory=memory,
                    before=None,
                    at_ms=at_ms,
                    reason=decode_reason(reason),
                    change_id=str(change_id),
                )
                found.versions.setdefault(memory.id, {})[version] = recorded
    named, found.whole = _scan(old, "SELECT id, number FROM memories", "id")
    found.known |= {name for name, _ in named if isinstance(name, str)}
    select = "SELECT id, number, use_count, version, body FROM memories"
    rows, _ = _scan(old, select, "number")
    for name in found.known - {row[0] for row in rows}:  # between two damaged pages no scan comes
        with suppress(sqlite3.Error):
            rows += old.execute(f"{select} WHERE id = ?", (name,)).fetchall()
    for name, number, uses, version, body in rows:
        memory = _decoded(body, Memory)
        if memory is None or memory.id != name or not isinstance(version, int):
            continue
        numbers[number] = memory.id
        if isinstance(uses, int):
            found.uses[memory.id] = max(0, uses)
        history_of = found.versions.get(memory.id, {})
        if not history_of or history_of[max(history_of)].memory != memory:
            recorded = Recorded(
                memory=memory, before=None, at_ms=memory.updated_at_ms, reason=decode_reason("recovered")
            )
            found.versions.setdefault(memory.id, {})[version] = recorded
    found.known |= found.versions.keys()
    relations, _ = _scan(old, "SELECT source, target, type, weight FROM relations", "source, target, type")
    for source, target, kind, weight in relations:
        if source in numbers and target in numbers:
            found.relations.append((numbers[source], numbers[target], kind, weight))


def write_rebuilt(found: Readable, target: Path, *, base: Path | None) -> set[str]:
    """Write a store to `target`, which must not exist: the rows of the sound backup `base` and, over them, those of `found`.

    Returns the ids of the memories that only the backup had.

    Raises:
        StoreError: if the file cannot be written.
    """
    try:
        if base is not None:
            copy_store(base, target)
        with closing(connect(target)) as new:
            set_mode(target, 0o600)
            new.execute("BEGIN IMMEDIATE")
            for version in range(schema_version(new) + 1, newest_version() + 1):
                migrate_one(new, version)
            had = {
                str(name): (int(version), int(at_ms))
                for name, version, at_ms in new.execute(
                    "SELECT m.id, m.version, max(v.recorded_at_ms) FROM memories AS m"
                    " JOIN versions AS v ON v.memory = m.number GROUP BY m.number"
                )
            }
            restore(new, sorted(_newer(found, had), key=lambda one: one.at_ms), found.uses)
            new.executemany(
                "INSERT OR REPLACE INTO relations (source, target, type, weight)"
                " SELECT s.number, t.number, ?3, ?4 FROM memories AS s, memories AS t WHERE s.id = ?1 AND t.id = ?2",
                found.relations,
            )
            for table, rows in found.records.items():
                for row in rows:
                    with suppress(sqlite3.IntegrityError):
                        new.execute(
                            f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row
                        )
            new.execute("COMMIT")
            new.execute("PRAGMA journal_mode = WAL").fetchone()
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except sqlite3.Error as error:
        raise translate(error, target) from error
    except OSError as error:
        raise write_error(error, target) from error
    return had.keys() - found.versions.keys()


def _newer(found: Readable, had: Mapping[str, tuple[int, int]]) -> Iterable[Recorded]:
    """Yield the versions that a backup with the versions `had` lacks, each no older than the one before it."""
    for name, versions in found.versions.items():
        version_had, at_ms = had.get(name, (0, 0))
        for version in sorted(versions):
            if version > version_had:
                at_ms = max(at_ms, versions[version].at_ms)
                yield replace(versions[version], at_ms=at_ms)


def log_is_damaged(path: Path) -> bool:
    """Return whether the write-ahead log of the database `path` is damaged, so that SQLite ignores a committed transaction in it.

    No process may write to the database meanwhile.

    SQLite reads the log up to the first frame whose checksum is wrong, and notes in the `-shm` file how many frames these are
    (https://www.sqlite.org/walformat.html, `mxFrame`). An interrupted transaction leaves frames behind that, but none that ends one.
    """
    wal = Path(f"{path}-wal")
    if not wal.exists() or wal.stat().st_size < _LOG_HEADER + _FRAME.size:
        return False
    try:
        with closing(connect(path, read_only=True)) as connection:
            page_bytes = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            index = Path(f"{path}-shm").read_bytes()
            with wal.open("rb") as log:
                frames = _frame_heads(log.read(), page_bytes)
    except sqlite3.Error:
        return False
    used = struct.unpack_from("=I", index, _FRAMES_USED)[0] if len(index) > _FRAMES_USED + 4 else 0
    return any(pages_after for pages_after in frames[used:])


_LOG_HEADER, _FRAMES_USED = 32, 16
_FRAME = struct.Struct(">4I")


def _frame_heads(log: bytes, page_bytes: int) -> Sequence[int]:
    """Return of each frame of the log's present generation how large the database is after it; 0 = no transaction ends there."""
    ends: list[int] = []
    generation = _FRAME.unpack_from(log, _LOG_HEADER)[2:]
    for at in range(_LOG_HEADER, len(log) - page_bytes - 23, page_bytes + 24):
        _, pages_after, *salts = _FRAME.unpack_from(log, at)
        ends.append(pages_after if tuple(salts) == generation else 0)
    return ends


_CHUNK_BYTES = 1 << 20
_OVERLAP_BYTES = 1 << 16


def clean_copy(path: Path, cleaning: Cleaning, *, dry_run: bool) -> Mapping[str, int]:
    """Apply `cleaning` to a backup or a damaged database at `path`, put the result in its place, and return table -> number of changed rows.

    Without a change the file stays. A damaged one is replaced by what can be read of it, and `{"damaged": 1}` says that only
    unreadable bytes held something to remove. `dry_run` = only count.

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
            found = read_damaged(path)
            if found.empty:
                raise StoreCorrupt(f"Nothing of {path} can be read.")
            write_rebuilt(found, partial, base=None)
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
