"""Databases of other tools. In: an SQLite file. Out: its statements, row by row. Opened for reading alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.capture.importing import statements
from tacit.capture.importing.fields import text_of
from tacit.capture.importing.items import ForeignStatement, FormatReader, RefusedHook
from tacit.capture.importing.safe_files import columns_of, database, is_database
from tacit.errors import InvalidInput

Row = Mapping[str, Any]
MAX_ROWS = 50_000
"""Most rows of one table; the newest."""

SIGNS: dict[str, tuple[str, frozenset[str]]] = {
    "sugar": ("memory_entries", frozenset({"id", "memory_type", "content", "importance", "created_at"})),
    "mcp-memory-service": ("memories", frozenset({"content_hash", "content", "tags", "memory_type"})),
    "claude-mem": ("observations", frozenset({"memory_session_id", "project", "type", "narrative"})),
    "mem0": ("history", frozenset({"memory_id", "old_memory", "new_memory", "event"})),
}
"""By what a database is known: a table, and columns of it."""


def _knows(tool: str) -> Callable[[Path], bool]:
    table, columns = SIGNS[tool]

    def knows(path: Path) -> bool:
        if not is_database(path):
            return False
        try:
            with database(path) as connection:
                return columns <= columns_of(connection, table)
        except (sqlite3.Error, InvalidInput, OSError):
            return False

    return knows


def _rows(path: Path, table: str, order: str) -> Iterator[tuple[Row | None, str]]:
    """Rows with where they stand; None with the reason where reading ended."""
    try:
        with database(path) as connection:
            count = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            cursor = connection.execute(
                f'SELECT * FROM "{table}" ORDER BY {order} DESC LIMIT ?',
                (MAX_ROWS,),
            )
            for number, row in enumerate(cursor, start=1):
                yield dict(row), f"{path.name}, {table} {number}"
            if count > MAX_ROWS:
                yield None, f"{count - MAX_ROWS} older rows of {table}: more than {MAX_ROWS} are not read"
    except (sqlite3.Error, InvalidInput, OSError, OverflowError) as error:
        yield None, f"{table}: {error}"


def _read(
    table: str, order: str, read_row: Callable[[Row, str], ForeignStatement | RefusedHook]
) -> Callable[[Path], Iterator[ForeignStatement | RefusedHook]]:
    def read(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
        for row, where in _rows(path, table, order):
            yield RefusedHook(where=path.name, reason=where) if row is None else read_row(row, where)

    return read


def _claude_mem(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
    yield from _read("observations", "created_at_epoch", statements.read_claude_mem)(path)
    for row, where in _rows(path, "session_summaries", "created_at_epoch"):
        if row is None:
            yield RefusedHook(where=path.name, reason=where)
        else:
            yield from statements.read_claude_mem_summary(row, where)


def _mem0(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
    """The history of mem0: what each memory says last, unless it was deleted."""
    memory_ids: set[str] = set()
    for row, where in _rows(path, "history", "rowid"):
        if row is None:
            yield RefusedHook(where=path.name, reason=where)
            continue
        name = text_of(row.get("memory_id"))
        if name in memory_ids:
            continue
        memory_ids.add(name)
        if row.get("is_deleted") or str(row.get("event")).upper() == "DELETE":
            yield RefusedHook(where=where, reason="deleted there", meant=True)
        else:
            yield statements.read_mem0({"id": name, "memory": row.get("new_memory"), **_times(row)}, where)


def _times(row: Row) -> dict[str, object]:
    return {"created_at": row.get("created_at") or row.get("updated_at")}


DATABASES: tuple[FormatReader, ...] = (
    FormatReader(
        tool="sugar",
        about="Sugar's `.sugar/memory.db`",
        knows=_knows("sugar"),
        read=_read("memory_entries", "created_at", statements.read_sugar),
    ),
    FormatReader(
        tool="mcp-memory-service",
        about="mcp-memory-service's `sqlite_vec.db`",
        knows=_knows("mcp-memory-service"),
        read=_read("memories", "created_at", statements.read_memory_service),
    ),
    FormatReader(
        tool="claude-mem",
        about="claude-mem's `claude-mem.db`",
        knows=_knows("claude-mem"),
        read=_claude_mem,
    ),
    FormatReader(tool="mem0", about="mem0's `history.db`", knows=_knows("mem0"), read=_mem0),
)
