"""Damages database files, reproducibly, and says what plain SQL can still read of them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

PAGE = 4096
TABLES = {
    "memories": "number", "versions": "memory, version", "relations": "source, target, type", "sessions": "host, session_id",
    "traces": "id", "handovers": "key", "projects": "id", "named_values": "name",
    "exposures": "host, session_id, memory_id, content_hash, epoch, turn, surface, tokens, at_ms",
}  # fmt: skip
"""Tables that hold what cannot be made anew, by their keys."""
Rows = dict[str, set[tuple[object, ...]]]


def _fill(random: Random, size: int) -> bytes:
    return random.choice(
        (b"\0" * size, b"\xff" * size, random.randbytes(size), b"\x0d" + random.randbytes(size - 1))
    )


def page(path: Path, random: Random) -> None:
    """One page anywhere."""
    number = random.randrange(path.stat().st_size // PAGE)
    write(path, number * PAGE, _fill(random, PAGE))


def pages(path: Path, random: Random) -> None:
    """Several pages in a row."""
    count = path.stat().st_size // PAGE
    first = random.randrange(count)
    write(path, first * PAGE, _fill(random, PAGE * min(random.randint(2, 6), count - first)))


def scattered(path: Path, random: Random) -> None:
    """Some bytes at many places."""
    for _ in range(random.randint(1, 30)):
        write(path, random.randrange(path.stat().st_size), random.randbytes(random.randint(1, 40)))


def header(path: Path, random: Random) -> None:
    """The first bytes, or the whole first page."""
    write(path, 0, _fill(random, random.choice((16, 100, 600, PAGE))))


def schema(path: Path, random: Random) -> None:
    """A page that holds part of the schema."""
    content = path.read_bytes()
    found = [n for n in range(len(content) // PAGE) if b"CREATE TABLE" in content[n * PAGE : (n + 1) * PAGE]]
    write(path, random.choice(found) * PAGE, _fill(random, PAGE))


def roots(path: Path, random: Random) -> None:
    """Pages that lead to others, with the numbers of the page's own header kept or not."""
    content = path.read_bytes()
    inner = [n for n in range(1, len(content) // PAGE) if content[n * PAGE] in (2, 5)]
    for number in random.sample(inner, min(len(inner), 3)):
        write(path, number * PAGE + random.choice((0, 8, 12)), _fill(random, 2000))


def cut(path: Path, random: Random) -> None:
    """The end is missing."""
    with path.open("r+b") as file:
        file.truncate(random.randrange(1, path.stat().st_size))


def log_bytes(path: Path, random: Random) -> None:
    """Some bytes of the write-ahead log."""
    wal = Path(f"{path}-wal")
    for _ in range(random.randint(1, 4)):
        write(
            wal, random.randrange(32, wal.stat().st_size * 2 // 3), random.randbytes(random.randint(1, 400))
        )


def log_header(path: Path, random: Random) -> None:
    """The header of the write-ahead log."""
    write(Path(f"{path}-wal"), 0, _fill(random, random.choice((4, 16, 32))))


def shared_memory(path: Path, random: Random) -> None:
    """The index of the log, which is made anew."""
    Path(f"{path}-shm").write_bytes(random.randbytes(32_768))


IN_FILE: tuple[Callable[[Path, Random], None], ...] = (page, pages, scattered, header, schema, roots, cut)
IN_LOG: tuple[Callable[[Path, Random], None], ...] = (log_bytes, log_header, shared_memory)


def write(path: Path, offset: int, content: bytes) -> None:
    """Overwrite bytes in place."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def copy_database(source: Path, target: Path) -> None:
    """Copy a database with what lies beside it."""
    for part in ("", "-wal"):
        if Path(f"{source}{part}").exists():
            shutil.copy(f"{source}{part}", f"{target}{part}")


def all_rows(path: Path) -> Rows:
    """Every row of a sound database."""
    with closing(sqlite3.connect(path)) as raw:
        return {table: set(raw.execute(f"SELECT * FROM {table}").fetchall()) for table in TABLES}


def readable_rows(path: Path, original: Rows, work: Path) -> Rows:
    """The original rows that plain SQL still reads: by a scan from each end, and memories one by one by their keys."""
    copy_database(path, work)
    found: Rows = {table: set() for table in TABLES}
    try:
        with closing(sqlite3.connect(work)) as raw:
            raw.execute("PRAGMA writable_schema = ON")
            for table, keys in TABLES.items():
                for order in (
                    "",
                    f" ORDER BY {keys}",
                    " ORDER BY " + ", ".join(f"{k.strip()} DESC" for k in keys.split(",")),
                ):
                    found[table] |= _until_damage(raw, f"SELECT * FROM {table}{order}", ()) & original[table]
                columns = [row[1] for row in _rows(raw, f"PRAGMA table_info({table})", ())]
                where = " AND ".join(f"{key.strip()} = ?" for key in keys.split(","))
                places = [columns.index(key.strip()) for key in keys.split(",") if key.strip() in columns]
                for row in original[table] - found[table] if columns and table == "memories" else ():
                    found[table] |= _until_damage(
                        raw, f"SELECT * FROM {table} WHERE {where}", [row[place] for place in places]
                    ) & {row}
    except sqlite3.Error:
        pass
    return found


def _until_damage(raw: sqlite3.Connection, sql: str, values: object) -> set[tuple[object, ...]]:
    return set(_rows(raw, sql, values))


def _rows(raw: sqlite3.Connection, sql: str, values: object) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    try:
        for row in raw.execute(sql, values):  # type: ignore[arg-type]
            found.append(row)  # noqa: PERF402 - what came before the damage stays
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    return found
