"""What the C library's allocator keeps. In: nothing. Out: fewer memory areas, and free memory given back to the system.

Only glibc has such areas; elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX = -8  # malloc.h
_ARENAS = 2
"""By default glibc makes up to eight areas for each core, and each of them keeps what its busiest moment took."""


def limit_arenas() -> bool:
    """Let all threads share two areas; call it before threads are started. Whether the allocator accepted it."""
    return _call("mallopt", _M_ARENA_MAX, _ARENAS)


def release_free_memory() -> bool:
    """Give back what is free: reading the model leaves 11 MB behind. Takes some milliseconds. Whether anything was."""
    return _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(getattr(ctypes.CDLL(None), name)(*arguments))
    except (OSError, AttributeError):  # musl has neither
        return False
