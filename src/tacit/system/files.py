"""Private files and folders. In: paths, the status of a file. Out: handles, yes or no.

POSIX: a file is private by its owner and mode. Windows has neither: a folder that Python makes with mode 0700 gets an access
list of the user and the administrators (CPython 3.11.10, 3.12.4 and newer), and what is made in it inherits the list. The
checks of owner and mode therefore say yes there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from pathlib import Path

REPLACE_S = 1.0
"""So long Windows may keep a file from being replaced because another process has it open."""

_BINARY = getattr(os, "O_BINARY", 0)
_UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0)
_UNBLOCKED = getattr(os, "O_NONBLOCK", 0)
_UNINHERITED = getattr(os, "O_CLOEXEC", 0)


def open_handle(path: Path | str, flags: int, *, follow: bool = True) -> int:
    """Open a file as bytes, for its owner alone where it is made; no FIFO is waited for, and no child inherits the handle.

    Args:
        path: the file.
        flags: as for `os.open`.
        follow: False = a link is refused, where the system can tell in the same step; elsewhere it is looked at before.

    Raises:
        OSError: as `os.open`.
    """
    if not follow and not _UNFOLLOWED and Path(path).is_symlink():
        raise OSError(f"{path} is a link")
    kept = 0 if follow else _UNFOLLOWED
    return os.open(path, flags | kept | _BINARY | _UNBLOCKED | _UNINHERITED, 0o600)


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to this user."""
    return sys.platform == "win32" or status.st_uid == os.getuid()


def is_private(status: os.stat_result) -> bool:
    """Whether a file belongs to this user, and nobody else has any right to it."""
    return is_own(status) and not rights_of_others(status)


def is_closed(status: os.stat_result) -> bool:
    """Whether a folder belongs to this user, and nobody else may write to it."""
    return is_own(status) and not rights_of_others(status) & 0o022


def rights_of_others(status: os.stat_result) -> int:
    """The bits of the mode that group and others have; 0 where the system has no modes."""
    return 0 if sys.platform == "win32" else status.st_mode & 0o077


def is_sticky(status: os.stat_result) -> bool:
    """Whether everybody may write to a folder but remove only what is theirs, such as /tmp."""
    return bool(status.st_mode & 0o1000)


def set_mode(path: Path, mode: int) -> None:
    """Set the mode of a file or folder. Does nothing on Windows, where a mode is only a mark against writing.

    Raises:
        OSError: if it is not this user's.
    """
    if sys.platform != "win32":
        path.chmod(mode)


def mode_of_new_file() -> int:
    """The mode that a new file gets from the user's umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def write_whole(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file whole or not at all, private from its first byte.

    Raises:
        OSError: if it cannot be written; then nothing has changed.
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
    """Rename `source` to `target`, which may exist. Windows refuses that while a process reads `target`: then once more, for a second.

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
    """Make a rename in `folder` survive a power failure. Windows has no such call; NTFS keeps renames in its own journal."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
