"""Locks between processes. In: the handle of an open file. Out: whether the lock was taken. Closing the handle releases the lock.

POSIX: `flock`, which a child process inherits with the handle. Windows: a lock on one byte far after the file's content, so that others can
still read the content; child processes do not inherit it. The hook client takes the same locks.
"""

from __future__ import annotations

import os
import sys

LOCKED_BYTE = 1 << 30
"""The position of the locked byte on Windows."""


def take_lock(handle: int) -> bool:
    """Take the lock of an open file. Return False if another process has it."""
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
