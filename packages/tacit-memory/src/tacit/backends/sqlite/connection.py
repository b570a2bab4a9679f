"""Connections to one database file: a pool of readers, one writer behind a lock that all processes share.

In: paths and a clock. Out: connections inside transactions. SQLite's errors leave as the store's own errors. The writer's
lock is held for one transaction only; never across anything a caller computes before or after it. A database in memory has
one connection, which threads use in turn.

Scopes as small numbers. In: a scope filter. Out: the scopes of the filter that the store holds, each with its change mark.

Every statement that reads memories takes these numbers; a filter that names no stored scope gives no numbers and so no rows.
Never widens a filter.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from tacit.backends.codec import clean_text, json_list, scope_named
from tacit.backends.sqlite.schema import (
    empty_database,
    is_foreign,
    is_possible_version,
    migrate_one,
    missing_parts,
    newest_version,
    schema_version,
)
from tacit.errors import (
    UPGRADE,
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from tacit.frozen import frozen
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter
from tacit.ports.store import Step, no_step
from tacit.system.files import open_handle, set_mode

_BATCH = 500


@frozen
class StoredScope:
    """A scope as the store numbers it, with its change counters. What it lends to other projects has a row of its own.

    Attributes:
        key: its name, and "" or as what others see it, where only that part is seen.
        numbers: its rows, ascending.
        change: the store's change counter when a memory of this scope was last written.
        moved: the counter when a memory last left one of the rows; what was derived earlier must be made again.
        active: how many active memories it holds.
    """

    key: tuple[str, str]
    numbers: tuple[int, ...]
    change: int
    moved: int
    active: int


@lru_cache(maxsize=64)
def _names_of(scope: ScopeFilter) -> tuple[str, ...]:
    """Return the names under which the scopes of a filter are stored. Cached, because a session asks with the same filter repeatedly."""
    return tuple(clean_text(str(name)) for name in scope.scopes)


def stored_scopes(connection: sqlite3.Connection, scope: ScopeFilter) -> tuple[StoredScope, ...]:
    """Return the stored scopes that `scope` shows and that hold memories, sorted by number."""
    if not scope.scopes and not scope.lent:
        return ()
    names = _names_of(scope)
    rows_of: dict[tuple[str, str], list[tuple[int, int, int, int, int]]] = {}
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        rows = connection.execute(
            f"{_COUNTERS} WHERE name IN ({','.join('?' * len(batch))}) ORDER BY number", batch
        )
        for row in rows:
            rows_of.setdefault((row[0], ""), []).append(row[2:])
    if scope.lent:
        for row in connection.execute(f"{_COUNTERS} WHERE {_lent(scope)}"):
            if row[0] not in names:
                rows_of[row[0], row[1]] = [row[2:]]
    stored: list[StoredScope] = []
    for key, found in rows_of.items():
        numbers, changes, moves, totals, actives = zip(*found, strict=True)
        if any(totals):
            stored.append(
                StoredScope(
                    key=key, numbers=numbers, change=max(changes), moved=max(moves), active=sum(actives)
                )
            )
    return tuple(sorted(stored, key=lambda part: part.numbers))


_COUNTERS = "SELECT name, lent, number, change, moved, total, active FROM scopes"


def numbers_of(scopes: Iterable[StoredScope]) -> tuple[int, ...]:
    """Return the row numbers of all of `scopes`, in their order."""
    return tuple(number for scope in scopes for number in scope.numbers)


def visible_numbers(connection: sqlite3.Connection, scope: ScopeFilter) -> str:
    """Return the numbers of all stored scopes that `scope` shows, as a JSON list for `json_each`; also of scopes without memories now."""
    rows = connection.execute(
        f"SELECT number FROM scopes WHERE name IN (SELECT value FROM json_each(?)) OR {_lent(scope)} ORDER BY number",
        (json_list(_names_of(scope)),),
    )
    return json_list([int(row[0]) for row in rows])


def _lent(scope: ScopeFilter) -> str:
    """Return the SQL condition for what other projects lend to `scope`; it holds for no row if that is nothing."""
    return f"lent IN ({','.join(repr(name) for name in scope.lent)})"


def scope_number(connection: sqlite3.Connection, memory: Memory) -> int:
    """Return the number of the memory's scope; a new one is inserted, so `connection` must be in a write transaction.

    What a project lends to others has a number of its own there, so that a search of another project reads no other row.
    """
    key = (clean_text(str(memory.scope)), memory.lent_as)
    row = connection.execute("SELECT number FROM scopes WHERE name = ? AND lent = ?", key).fetchone()
    if row is not None:
        return int(row[0])
    return int(
        connection.execute("INSERT INTO scopes (name, lent) VALUES (?, ?) RETURNING number", key).fetchone()[
            0
        ]
    )


def every_scope(connection: sqlite3.Connection) -> ScopeFilter:
    """Return a filter of all scopes that hold memories."""
    rows = connection.execute("SELECT DISTINCT name FROM scopes WHERE total > 0").fetchall()
    return ScopeFilter.of(*(scope_named(str(row[0])) for row in rows))


DAMAGED_HINT = (
    "The next start puts it into `quarantine/` and recovers every row that can be read into a new one; "
    "nothing is deleted. `tacit restore BACKUP` brings a backup back."
)
WAIT_S = 5.0
"""Longest wait for another writer, in seconds."""

_POLL_S = 0.004
_MAX_IDLE_READERS = 8
_FULL_BYTES = 256 * 1024
_PRIMARY = 0xFF  # the low byte of an extended SQLite result code
_SIGNS_OF_DAMAGE = ("decode to UTF-8", "no such table", "no such column", "malformed JSON")


def damage_marker(path: Path) -> Path:
    """Return the path of the file beside a database whose existence says that damage was found in it while it was open."""
    return path.with_name(f"{path.name}.suspect")


def translate(error: sqlite3.Error, path: Path) -> StoreError:
    """Return (not raise) the store's error for an SQLite error, with a hint."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & _PRIMARY if isinstance(code, int) else None
    # Our statements fit our schema and our rows: where they do not, bytes of the file were overwritten.
    unfit = any(words in str(error) for words in _SIGNS_OF_DAMAGE)
    if primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} or unfit:
        return damaged(path, str(error))
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and _device_is_full(path)):
        return StoreFull(
            f"No space is left for {path}; nothing was stored.", hint="Free some space, then try again."
        )
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return StoreReadOnly(
            f"The database {path} cannot be written ({error}).",
            hint=f"Make {path.parent} writable, or set TACIT_HOME to another folder.",
        )
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return busy(path)
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return closed()
    return StoreError(f"The database {path} cannot serve: {error}.", hint="`tacit doctor` examines it.")


def damaged(path: Path, reason: str) -> StoreCorrupt:
    """Return (not raise) the error for a damaged database file."""
    return StoreCorrupt(f"The database {path} is damaged ({reason}).", hint=DAMAGED_HINT)


def busy(path: Path) -> StoreBusy:
    """Return (not raise) the error for a writer that could not get the write lock in time."""
    return StoreBusy(
        f"Another program has been writing to {path} for more than {WAIT_S:g} seconds; nothing was stored.",
        hint="Try again; if it stays so, `tacit status` says which process holds the store.",
    )


def closed() -> StoreError:
    """Return (not raise) the error for a call after `close`."""
    return StoreError("The store is closed.", hint="Open it again.")


def _device_is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Return a new connection to the database `path` in autocommit mode (the caller begins transactions). Creates the file unless `read_only`.

    Raises:
        sqlite3.Error: if the file cannot be opened, or its schema cannot be read.
    """
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=WAIT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        _prepare(connection)
    except UnicodeDecodeError as error:  # SQLite's message quotes overwritten bytes of the schema
        connection.close()
        raise sqlite3.DatabaseError("could not decode to UTF-8 what its schema holds") from error
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -2048")
    connection.create_function("text_holds", 2, _text_holds, deterministic=True)


def _text_holds(text: object, needle: str) -> bool:
    return isinstance(text, str) and needle in text.casefold()


@contextmanager
def file_lock(lock_file: Path, database: Path) -> Generator[None, None, None]:
    """Return a context manager that holds the write lock shared by all processes. It waits for the lock at most `WAIT_S` seconds.

    Raises:
        StoreBusy: another process holds it for longer.
        StoreReadOnly, StoreFull: the lock file cannot be made.
    """
    lock = _WriterLock(lock_file)
    try:
        with lock.hold(database, wait_s=WAIT_S):
            yield
    finally:
        lock.close()


class _WriterLock:
    """The lock that all writers of all processes share: a lock of the operating system on a file that stays open.

    One thread may hold it at a time; its owner sees to that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    @contextmanager
    def hold(self, database: Path, *, wait_s: float) -> Generator[None, None, None]:
        """Return a context manager that holds the lock; waits at most `wait_s` seconds. Raises as `file_lock`."""
        until = time.monotonic() + wait_s
        try:
            self._open()
            while not lock_descriptor(self._descriptor, blocking=False):
                if time.monotonic() >= until:
                    raise busy(database)
                time.sleep(_POLL_S)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise StoreFull(
                    f"No space is left for {self._path}.", hint="Free some space, then try again."
                ) from error
            raise StoreReadOnly(
                f"The lock file {self._path} cannot be written: {error.strerror or error}.",
                hint=f"Make {self._path.parent} writable, or set TACIT_HOME to another folder.",
            ) from error
        try:
            yield
        finally:
            unlock_descriptor(self._descriptor)

    def close(self) -> None:
        """Close the lock file, which frees the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    __del__ = close

    def _open(self) -> None:
        """Open the lock file unless it is open; open it again if it was removed or replaced."""
        if self._descriptor >= 0:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._descriptor), self._path.stat()):
                    return
            self.close()
        self._descriptor = open_handle(self._path, os.O_RDWR | os.O_CREAT, follow=False)


class _ThreadState(threading.local):
    """The state of one thread: the connection of its open read transaction, None = no transaction, and the scopes it has read there."""

    def __init__(self) -> None:
        self.connection: sqlite3.Connection | None = None
        self.scopes: dict[ScopeFilter, tuple[StoredScope, ...]] = {}


class Database:
    """A database file with a pool of reading connections and one writer. Thread-safe; processes take turns in writing."""

    def __init__(self, path: Path, lock_file: Path, *, step: Step = no_step) -> None:
        self.path = path
        self._step = step
        self.wait_s = WAIT_S
        self._file_lock = _WriterLock(lock_file)
        self._write_lock = threading.Lock()
        self._pool_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._durable: bool | None = None
        self._here = _ThreadState()
        self._writer = self._open()
        self._inode = self._current_inode()

    def _open(self) -> sqlite3.Connection:
        try:
            writer = connect(self.path)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        try:
            self._refuse_foreign_file(writer)
            if self._version(writer) < newest_version():
                self._migrate(writer)
            # A few pages read and one written lock: a damaged or read-only file says so now, not at the first memory.
            writer.execute("BEGIN IMMEDIATE")
            self._refuse_incomplete_file(writer)
            writer.execute("ROLLBACK")
        except sqlite3.Error as error:
            writer.close()
            raise translate(error, self.path) from error
        except StoreError:
            writer.close()
            raise
        return writer

    def _version(self, connection: sqlite3.Connection) -> int:
        version = schema_version(connection)
        if 0 <= version <= newest_version():
            return version
        if not is_possible_version(version):
            raise damaged(self.path, f"no release has the schema {version}")
        raise StoreNewer(
            f"{self.path} has schema {version}; this Tacit knows up to {newest_version()} and reads nothing.",
            hint=UPGRADE,
        )

    def _migrate(self, writer: sqlite3.Connection) -> None:
        with self._file_lock.hold(self.path, wait_s=WAIT_S):
            self._refuse_incomplete_file(writer)
            with suppress(OSError):
                set_mode(self.path, 0o600)
            writer.execute("PRAGMA journal_mode = WAL").fetchone()
            writer.execute("PRAGMA synchronous = FULL")
            # Another process may have migrated while this one waited for the lock.
            for version in range(self._version(writer) + 1, newest_version() + 1):
                writer.execute("BEGIN IMMEDIATE")
                try:
                    migrate_one(writer, version)
                    writer.execute("COMMIT")
                except sqlite3.OperationalError as error:
                    _roll_back(writer)
                    if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
                        # Every file of this version can be migrated, so what stands in it is of another version.
                        raise damaged(
                            self.path, f"it is no store of schema {version - 1}: {error}"
                        ) from error
                    raise
                except BaseException:
                    _roll_back(writer)
                    raise

    def _refuse_foreign_file(self, writer: sqlite3.Connection) -> None:
        if is_foreign(writer):
            raise StoreError(
                f"{self.path} is a database of another program.",
                hint="Move it away, or set TACIT_HOME to another folder.",
            )

    def _refuse_incomplete_file(self, writer: sqlite3.Connection) -> None:
        if missing := missing_parts(writer):
            raise damaged(self.path, missing[0])

    def _failed(self, error: sqlite3.Error) -> StoreError:
        """Return the store's error for an SQLite error. For damage, also create the mark that makes the next `open` check the file."""
        failed = translate(error, self.path)
        if isinstance(failed, StoreCorrupt):
            self._mark()
        return failed

    def _mark(self) -> None:
        with suppress(OSError):
            damage_marker(self.path).touch(mode=0o600)

    def _current_inode(self) -> int:
        try:
            return self.path.stat().st_ino
        except OSError:
            return -1

    @contextmanager
    def read(self) -> Generator[sqlite3.Connection, None, None]:
        """Return a context manager that gives a connection inside a read transaction: one consistent view of the store.

        A `read` inside another one of the same thread uses the connection and the view of the outer one.

        Raises:
            StoreError: see `translate`; StoreNewer when a newer Tacit has migrated the file meanwhile.
        """
        outer = self._here.connection
        if outer is not None:
            yield outer
            return
        connection = self._borrow()
        healthy = False
        try:
            connection.execute("BEGIN")
            self._version(connection)
            self._here.connection = connection
            yield connection
            healthy = True
        except sqlite3.Error as error:
            raise self._failed(error) from error
        except StoreCorrupt:  # a row that SQLite reads and that holds no value of ours
            self._mark()
            raise
        except BaseException:
            healthy = True
            raise
        finally:
            self._here.connection = None
            self._here.scopes = {}
            _roll_back(connection)
            self._give_back(connection, healthy=healthy)

    def scopes(self, connection: sqlite3.Connection, scope: ScopeFilter) -> tuple[StoredScope, ...]:
        """Return the stored scopes that `scope` shows. The result is cached until this thread's read transaction ends."""
        stored = self._here.scopes.get(scope)
        if stored is None:
            stored = self._here.scopes[scope] = stored_scopes(connection, scope)
        return stored

    def _borrow(self) -> sqlite3.Connection:
        with self._pool_lock:
            if self._closed:
                raise closed()
            if self._idle:
                return self._idle.pop()
        try:
            connection = connect(self.path)
            connection.execute("PRAGMA query_only = ON")
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return connection

    def _give_back(self, connection: sqlite3.Connection, *, healthy: bool) -> None:
        with self._pool_lock:
            if healthy and not self._closed and len(self._idle) < _MAX_IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def write(self, *, durable: bool) -> Generator[sqlite3.Connection, None, None]:
        """Return a context manager that gives the writing connection inside a transaction: committed at the end, rolled back on any exception.

        Args:
            durable: survive a power failure (the log is synced), not only the end of the process.

        Raises:
            StoreBusy: another writer did not finish within `WAIT_S`.
            StoreError: see `translate`; nothing was written.
        """
        if not self._write_lock.acquire(timeout=self.wait_s):
            raise busy(self.path)
        try:
            if self._closed:
                raise closed()
            with self._file_lock.hold(self.path, wait_s=self.wait_s):
                if self._current_inode() != self._inode:
                    raise StoreError(
                        f"{self.path} was moved or replaced while it was open; nothing was stored.",
                        hint="Open the store again (`tacit stop` ends the daemon; the next call starts it).",
                    )
                yield from self._transaction(durable=durable)
        finally:
            self._write_lock.release()

    def _transaction(self, *, durable: bool) -> Iterator[sqlite3.Connection]:
        writer = self._writer
        try:
            if durable != self._durable:
                writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            writer.execute("BEGIN IMMEDIATE")
            self._version(writer)
            self._step("transaction begun")
            yield writer
            self._step("transaction written")
            writer.execute("COMMIT")
            self._step("transaction committed")
        except sqlite3.Error as error:
            _roll_back(writer)
            raise self._failed(error) from error
        except OverflowError as error:
            _roll_back(writer)
            raise InvalidInput("A number is too large to be stored.") from error
        except StoreCorrupt:
            _roll_back(writer)
            self._mark()
            raise
        except BaseException:
            _roll_back(writer)
            raise

    def compact(self) -> None:
        """Rewrite the whole file without free pages (VACUUM), and empty its log unless a reader still needs it. Blocks.

        Raises:
            StoreError: if the file cannot be written.
        """
        try:
            with closing(connect(self.path)) as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    def close(self) -> None:
        """Close every connection that is not in use; those in use close when they are given back."""
        with self._write_lock, self._pool_lock:
            if self._closed:
                return
            self._closed = True
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
            self._file_lock.close()


class TemporaryDatabase(Database):
    """A database in memory with the interface of `Database`; it is gone when it is closed or no longer used. Thread-safe: threads take turns."""

    def __init__(self, *, step: Step = no_step) -> None:
        self.path = Path(":memory:")
        self._step = step
        self._turn = threading.RLock()
        self._closed = False
        self._here = _ThreadState()
        self._writer = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256
        )
        weakref.finalize(self, self._writer.close)
        self._writer.deserialize(empty_database())
        _prepare(self._writer)
        self._durable: bool | None = False

    @contextmanager
    def read(self) -> Generator[sqlite3.Connection, None, None]:
        """See `Database.read`. Other threads wait until it ends."""
        with self._turn:
            if self._closed:
                raise closed()
            if self._here.connection is not None:
                yield self._here.connection
                return
            self._here.connection = self._writer
            try:
                yield self._writer
            except sqlite3.Error as error:
                raise translate(error, self.path) from error
            finally:
                self._here.connection = None
                self._here.scopes = {}

    @contextmanager
    def write(self, *, durable: bool) -> Generator[sqlite3.Connection, None, None]:
        """See `Database.write`; `durable` is ignored. A `read` of the same thread that is open sees the new state afterwards."""
        del durable
        with self._turn:
            if self._closed:
                raise closed()
            try:
                yield from self._transaction(durable=False)
            finally:
                self._here.scopes = {}

    def compact(self) -> None:
        """Do nothing: there is no file."""

    def close(self) -> None:
        """Close the connection: everything in the database is gone."""
        with self._turn:
            self._closed = True
            self._writer.close()

    def _mark(self) -> None:
        """Do nothing: there is no file to mark."""


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def write_error(error: OSError, path: Path) -> StoreError:
    """Return (not raise) the store's error for a file that cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreFull(f"No space is left for {path}.", hint="Free some space, then try again.")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR}:
        return StoreReadOnly(
            f"{path} cannot be written: {os.strerror(error.errno)}.", hint="Choose another folder."
        )
    return StoreError(f"{path} cannot be written: {error.strerror or error}.", hint="Choose another file.")
