"""Private files and folders. In: paths, the status of a file. Out: handles, booleans.

On POSIX, owner and mode make a file private. Windows has neither: a folder that Python creates with mode 0700 gets an access
control list with the user and the administrators (CPython 3.11.10, 3.12.4 and newer), and files in it inherit the list. So the
checks of owner and mode always return True there.

Locks between processes. In: the handle of an open file. Out: whether the lock was taken. Closing the handle releases the lock.

POSIX: `flock`, which a child process inherits with the handle. Windows: a lock on one byte far after the file's content, so that others can
still read the content; child processes do not inherit it. The hook client takes the same locks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from pathlib import Path

REPLACE_S = 1.0
"""Windows does not replace a file that another process has open. `replace` tries for this many seconds."""

_BINARY = getattr(os, "O_BINARY", 0)
_UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0)
_UNBLOCKED = getattr(os, "O_NONBLOCK", 0)
_UNINHERITED = getattr(os, "O_CLOEXEC", 0)


def open_handle(path: Path | str, flags: int, *, follow: bool = True) -> int:
    """Open a file in binary mode. A new file is readable only by its owner. Does not wait for a FIFO; child processes do not inherit the handle.

    Args:
        path: the file.
        flags: as for `os.open`.
        follow: False = a symbolic link is refused. A system without O_NOFOLLOW checks this before it opens the file.

    Raises:
        OSError: as `os.open`.
    """
    if not follow and not _UNFOLLOWED and Path(path).is_symlink():
        raise OSError(f"{path} is a link")
    kept = 0 if follow else _UNFOLLOWED
    return os.open(path, flags | kept | _BINARY | _UNBLOCKED | _UNINHERITED, 0o600)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to this user, by its status; always True on Windows."""
    return sys.platform == "win32" or status.st_uid == os.getuid()


def is_private(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user and nobody else may read, write or enter it, by its status; always True on Windows."""
    return is_own(status) and not rights_of_others(status)


def only_owner_writes(status: os.stat_result) -> bool:
    """Return whether a folder belongs to this user and nobody else may create or delete files in it, by its status. Others may be able to read it."""
    return is_own(status) and not rights_of_others(status) & 0o022


def rights_of_others(status: os.stat_result) -> int:
    """Return the permission bits of group and others; 0 on Windows."""
    return 0 if sys.platform == "win32" else status.st_mode & 0o077


def is_sticky(status: os.stat_result) -> bool:
    """Return whether a folder has the sticky bit, like /tmp: users may remove only their own files."""
    return bool(status.st_mode & 0o1000)


def set_mode(path: Path, mode: int) -> None:
    """Set the mode of a file or folder. Does nothing on Windows, where a mode only marks a file as read-only.

    Raises:
        OSError: the file belongs to somebody else.
    """
    if sys.platform != "win32":
        path.chmod(mode)


def mode_of_new_file() -> int:
    """Return the mode that a new file gets by the user's umask. Sets the umask for a moment, for all threads, to read it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def write_whole(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file atomically, by a temporary file and a rename. It is private from the start; at the end it has `mode`.

    Raises:
        OSError: the file cannot be written; then it is unchanged.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        handle = open_handle(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
        set_mode(unfinished, mode)
        replace(unfinished, path)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def replace(source: Path, target: Path) -> None:
    """Rename `source` to `target`, which may exist. Windows refuses this while a process has `target` open: then try again for `REPLACE_S`.

    Raises:
        OSError: as `os.replace`.
    """
    until = time.monotonic() + REPLACE_S
    while True:
        try:
            source.replace(target)
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power failure. Does nothing on Windows, where NTFS has renames in its journal."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


LOCKED_BYTE = 1 << 30
"""The position of the locked byte on Windows."""


def take_lock(handle: int) -> bool:
    """Try to take the exclusive lock of an open file, without waiting. Return True if it was taken, False if another process has it. Closing `handle` frees it."""
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
