"""Control of the C library's allocator. In: nothing. Out: fewer arenas, and free memory returned to the system.

Only glibc has such areas; elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # malloc.h
_ARENAS = 2
"""By default glibc makes up to eight areas for each core, and each of them keeps what its busiest moment took."""
_MAPPED_BYTES = 4 << 20
"""Larger blocks are mapped each for itself, and leave no hole in an area when they are freed. By default the limit rises to the
largest block that was ever freed, which is the model's file. Below 4 MB the model would map its arrays for long texts anew."""


def limit_arenas() -> bool:
    """Make glibc's malloc keep at most two memory areas ("arenas") and map large blocks on their own, so that the process stays small. Call it before threads start.

    Return whether glibc accepted all options; False on other systems.
    """
    options = (
        (_M_ARENA_MAX, _ARENAS),
        (_M_MMAP_THRESHOLD, _MAPPED_BYTES),
        (_M_TRIM_THRESHOLD, 2 * _MAPPED_BYTES),  # glibc's own ratio
    )
    accepted = [_call("mallopt", option, value) for option, value in options]  # each, whatever the others say
    return all(accepted)


def release_free_memory() -> bool:
    """Return free heap memory to the system (glibc's `malloc_trim`). Blocks for some milliseconds. Return whether any was released."""
    return _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(getattr(ctypes.CDLL(None), name)(*arguments))
    except (OSError, AttributeError):  # musl has neither
        return False
