"""Translates errors of PostgreSQL to errors of the store. In: an exception of psycopg or of its pool. Out: an error that says what to do.

Never hides the message of the database, and never decides whether to try again.
"""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout

from tacit.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    TacitError,
)

_LOST_CLASSES = ("08", "57P")
"""SQLSTATE classes of a connection that is gone: connection exceptions, and a server that shuts down."""


def is_lost(error: psycopg.Error) -> bool:
    """Return whether an error means that the connection is lost. The statement may or may not have been executed."""
    if isinstance(error, PoolClosed | PoolTimeout):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_LOST_CLASSES)


def translate(error: psycopg.Error, *, written: bool = False) -> TacitError:
    """Return the error of the store for an error of PostgreSQL. `written` = it happened during a commit, so it is unknown whether the transaction was stored."""
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, PoolClosed | PoolTimeout) or is_lost(error):
        return _without_connection(error, said, written=written)
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled() | errors.DeadlockDetected():
            return StoreBusy(
                f"Another writer held the tenant for too long ({said}); nothing was stored.",
                hint="Try again; `SELECT * FROM pg_stat_activity` shows who holds it.",
            )
        case errors.SerializationFailure():
            return StoreBusy(f"Another writer came first ({said}); nothing was stored.", hint="Try again.")
        case errors.DiskFull() | errors.OutOfMemory():
            return StoreFull(f"The database has no room left: {said}.", hint="Free some space there.")
        case errors.ReadOnlySqlTransaction():
            return StoreReadOnly(
                f"The database takes no changes: {said}.",
                hint="Connect to the primary server, not to a copy.",
            )
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreCorrupt(
                f"The database is damaged: {said}.", hint="Restore it from a backup of the server."
            )
        case errors.NumericValueOutOfRange():
            return InvalidInput("A number is too large to be stored.")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return not_migrated(said)
        case errors.InsufficientPrivilege():
            return StoreError(
                f"The role may not do this: {said}.",
                hint="`tacit-server set-up` makes the roles with the rights that they need: the owner's for `tacit-server migrate`, the application's for the rest.",
            )
        case _:
            return StoreError(f"The database refused: {said}.", hint="The server's log says more.")


def _without_connection(error: psycopg.Error, said: str, *, written: bool) -> StoreError:
    if isinstance(error, PoolClosed):
        return closed()
    if isinstance(error, PoolTimeout):
        return StoreBusy(
            f"No connection to the database became free in time ({said}).",
            hint="Allow more connections, or look for what holds them: `SELECT * FROM pg_stat_activity`.",
        )
    if written:
        return StoreError(
            f"The connection to the database was lost during a commit ({said}); it is not known whether it was stored.",
            hint="Read what should have changed before you store it again.",
        )
    return StoreError(
        f"The database cannot be reached: {said}.",
        hint="Look whether the server runs and takes connections; then try again.",
    )


def not_migrated(said: str) -> StoreError:
    """Return the error for a database without the tables of this version."""
    return StoreError(
        f"The database is not set up for this version of Tacit ({said}).", hint="Run `tacit-server migrate`."
    )


def closed() -> StoreError:
    """Return the error for a call after `close`."""
    return StoreError("The store is closed.", hint="Open it again.")
