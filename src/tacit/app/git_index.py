"""Names of the files that git tracks, read from the index itself, or of those in the folder. In: a project's root. Out: paths.

Never runs git: a repository's own configuration can name programs (`core.fsmonitor`, a partial clone's transport), and a
folder that someone only opened must not get to run one. Whatever cannot be read gives no names.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from tacit.session.projects import find_checkout, resolve_folder

MAX_INDEX_BYTES = 64_000_000
"""A larger index is left alone: it would hold the learning thread for seconds."""
FIRST_LOOK_BYTES = 4_000_000
"""The beginning of an index that is read while somebody waits: some forty thousand files, in less than 100 ms."""
MOST_LISTED = 500
_HEADER_BYTES = 12
_STAT_BYTES = 40
_EXTENDED = 0x4000
_NAME_MASK = 0x0FFF
_SHA256 = re.compile(rb"objectformat\s*=\s*sha256", re.IGNORECASE)


def tracked_files(root: str | Path, *, most_bytes: int = MAX_INDEX_BYTES) -> tuple[str, ...]:
    """Paths of the index of the work tree `root`, relative to it; () where there is none or it cannot be read.

    Of an index of more than `most_bytes` only its beginning is read.
    """
    folder = resolve_folder(root)
    checkout = find_checkout(folder)
    if checkout is None or checkout.root != folder or checkout.own is None or checkout.common is None:
        return ()
    index, settings = checkout.own / "index", checkout.common / "config"
    try:
        if index.stat().st_size > MAX_INDEX_BYTES:
            return ()
        with index.open("rb") as file:
            data = file.read(most_bytes)
        config = settings.read_bytes()[:MAX_INDEX_BYTES] if settings.is_file() else b""
    except (OSError, ValueError):
        return ()
    return read_index(data, hash_bytes=32 if _SHA256.search(config) else 20)


def listed_files(root: str | Path) -> tuple[str, ...]:
    """Names of the files that lie in `root` itself, `MOST_LISTED` entries at most; () where it cannot be read."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in islice(entries, MOST_LISTED) if entry.is_file()]
    except (OSError, ValueError):
        return ()
    return tuple(sorted(name for name in names if not name.startswith(".")))


def read_index(data: bytes, *, hash_bytes: int = 20) -> tuple[str, ...]:
    """Paths of an index of version 2, 3 or 4; what was read before the first thing that makes no sense.

    Args:
        data: the file.
        hash_bytes: length of an object id: 20 for SHA-1, 32 for SHA-256.

    Source: gitformat-index(5).
    """
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return ()
    names: list[str] = []
    before = b""
    at = _HEADER_BYTES
    for _ in range(int.from_bytes(data[8:12], "big")):
        start = at
        at += _STAT_BYTES + hash_bytes
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 4 if version > 2 and flags & _EXTENDED else 2
        prefix = b""
        if version == 4:
            cut, at = _offset(data, at)
            prefix = before[: max(0, len(before) - cut)]
        end = data.find(b"\0", at + (flags & _NAME_MASK if version < 4 else 0))
        if end < 0:
            break
        before = prefix + data[at:end]
        names.append(before.decode("utf-8", "replace"))
        at = end + 1 if version == 4 else start + ((end - start) // 8 + 1) * 8
    return tuple(names)


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length (as in pack files, OFS_DELTA) and where it ends."""
    value = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value = (value << 7) | (byte & 0x7F)
        if not byte & 0x80:
            break
        value += 1
    return value, at
