"""Opening what may be hostile. In: a path. Out: bytes within a bound, rows of a database opened for reading, files of a folder.

Never follows a link, never unpacks an archive, never writes beside what it reads, never runs a trigger or a view.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.errors import InvalidInput
from tacit.system.files import open_handle
from tacit.text.decoding import decode_text

MAX_FILE_BYTES = 256 << 20
MAX_FILES = 5_000
MAX_DEPTH = 8
MAX_CELL_BYTES = 1 << 20
STEPS = 200_000_000
"""Steps of SQLite's virtual machine after which a query is interrupted: a hostile view can run forever."""
_ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"BZh", b"\xfd7zXZ", b"Rar!", b"\x28\xb5\x2f\xfd")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "target"})


def head_of(path: Path, size: int = 4096) -> bytes:
    """Return the first `size` bytes of a regular file.

    Raises:
        InvalidInput: it is a link, no plain file, an archive, or too large.
        OSError: as opening.
    """
    handle = open_handle(path, os.O_RDONLY, follow=False)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(f"{path.name} is no plain file.")
        if status.st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path.name} has {status.st_size} bytes; at most {MAX_FILE_BYTES} are read.")
        head = os.read(handle, size)
    finally:
        os.close(handle)
    if head.startswith(_ARCHIVES):
        raise InvalidInput(
            f"{path.name} is an archive.", hint="Unpack it yourself and look at what is in it."
        )
    return head


def read_text(path: Path, limit: int = MAX_FILE_BYTES) -> str:
    """Return a whole text file, decoded as UTF-8 or UTF-16; invalid bytes are replaced.

    Raises:
        InvalidInput, OSError: as `head_of`, or it is longer than `limit`.
    """
    head_of(path)
    with os.fdopen(open_handle(path, os.O_RDONLY, follow=False), "rb") as opened:
        data = opened.read(limit + 1)
    if len(data) > limit:
        raise InvalidInput(f"{path.name} is longer than {limit} bytes.")
    return decode_text(data)


def read_lines(path: Path, longest: int) -> Iterator[bytes]:
    """Yield the lines of a regular file; of a line longer than `longest` only the first `longest + 1` bytes.

    Raises:
        InvalidInput, OSError: as `head_of`.
    """
    head_of(path)
    with os.fdopen(open_handle(path, os.O_RDONLY, follow=False), "rb") as opened:
        while line := opened.readline(longest + 1):
            whole = line
            while line and not line.endswith(b"\n") and len(line) > longest:
                line = opened.readline(longest + 1)
            yield whole


def markdown_files(folder: Path) -> Iterator[Path]:
    """Yield the Markdown files below a folder in order, without links and hidden folders, at most `MAX_FILES`."""
    count = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED and not name.startswith(".") and depth < MAX_DEPTH
        )
        for name in sorted(names):
            path = Path(place, name)
            if name.lower().endswith((".md", ".mdx")) and not path.is_symlink() and path.is_file():
                count += 1
                if count > MAX_FILES:
                    return
                yield path


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    try:
        return path.is_file() and head_of(path, 16) == b"SQLite format 3\0"
    except (OSError, InvalidInput):
        return False


@contextmanager
def database(path: Path) -> Generator[sqlite3.Connection]:
    """Open an SQLite database read-only, as a context manager; no trigger or view of it can run.

    Raises:
        InvalidInput: as `head_of`.
        sqlite3.Error: it is none, or damaged.
    """
    head_of(path)
    # `immutable` leaves no files beside it; what another process has not moved out of its log is then not seen.
    mode = "ro" if Path(f"{path}-wal").exists() else "ro&immutable=1"
    address = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(address, uri=True, timeout=2.0)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES * 4)
        connection.set_authorizer(_reads_only)
        steps_left = [STEPS // 10_000]

        def tick() -> int:
            steps_left[0] -= 1
            return int(steps_left[0] < 0)

        connection.set_progress_handler(tick, 10_000)
        connection.row_factory = sqlite3.Row
        connection.text_factory = _text
        yield connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA}
)


def _reads_only(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """Return the columns of a plain table; empty = no such table, or it is a view or virtual table."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
    ).fetchone()
    if rows is None or "VIRTUAL" in str(rows[0])[:40].upper():
        return frozenset()
    quoted = table.replace('"', '""')
    return frozenset(str(row[1]) for row in connection.execute(f'PRAGMA table_info("{quoted}")').fetchall())
