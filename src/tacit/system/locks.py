"""Locks between processes, on a file that stays open. In: a handle. Out: whether it was taken. Closing the handle gives it back.

POSIX: `flock`, which a child inherits with the handle. Windows: one byte far behind the file's content, so that everybody can
go on reading it; a child does not inherit that. The hook client takes the same locks.
"""

from __future__ import annotations

import os
import sys

LOCKED_BYTE = 1 << 30
"""The place of the locked byte on Windows."""


def take_lock(handle: int) -> bool:
    """Take the lock of an open file if nobody has it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists there alone

            at = os.lseek(handle, 0, os.SEEK_CUR)
            os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(handle, at, os.SEEK_SET)
        else:
            import fcntl  # noqa: PLC0415 - exists there alone

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
