"""A file of derived vectors beside the database, so that a start need not read every vector from it.

In: the arrays of one scope and what they were made from. Out: the same arrays, the vectors mapped from the file. A file
that is missing, damaged, or made from other data is None: the arrays are then made from the table. Written into a
temporary file and renamed. Never raises for the state of a file, never holds anything that the database does not.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite.index.rows import Kinds, Numbers
from tacit.backends.sqlite.index.vectors import Bits, HalfVectors
from tacit.system.files import open_handle

_MAGIC = b"TACITVE2"
_HEAD = struct.Struct("<8sII")  # magic, length of the JSON header, CRC-32 of the JSON header
_ALIGN = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarKey:
    """The source of a file: the store, the scope's row, the embedder's row, and its dimensions."""

    store_id: str
    scope: int
    identity: int
    dimensions: int

    def path(self, folder: Path) -> Path:
        """The file's place."""
        return folder / f"vectors-{self.scope}-{self.identity}.bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """The arrays of one scope as of change `change`. `bits` has shape (words, n), `vectors` (n, dimensions)."""

    change: int
    numbers: Numbers
    ids: NDArray[np.bytes_]
    valid_from: Numbers
    valid_to: Numbers
    kinds: Kinds
    bits: Bits
    vectors: HalfVectors


def write_sidecar(folder: Path, key: SidecarKey, data: Sidecar) -> bool:
    """Write the file; False when the folder does not allow it, which costs only time at the next start."""
    arrays: dict[str, NDArray[Any]] = {
        "numbers": data.numbers,
        "ids": data.ids,
        "valid_from": data.valid_from,
        "valid_to": data.valid_to,
        "kinds": data.kinds,
        "bits": data.bits,
        "vectors": data.vectors,
    }
    target = key.path(folder)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        handle = open_handle(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(handle, "wb") as file:
            _write(file.fileno(), _header(key, data.change, arrays), arrays)
        partial.replace(target)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        return False
    return True


def _header(key: SidecarKey, change: int, arrays: dict[str, NDArray[Any]]) -> bytes:
    described = {
        name: {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "crc": zlib.crc32(np.ascontiguousarray(array).data) if array.size else 0,
        }
        for name, array in arrays.items()
    }
    header = {
        "store_id": key.store_id,
        "scope": key.scope,
        "identity": key.identity,
        "dimensions": key.dimensions,
        "change": change,
        "arrays": described,
    }
    return json.dumps(header).encode()


def _write(handle: int, header: bytes, arrays: dict[str, NDArray[Any]]) -> None:
    with os.fdopen(os.dup(handle), "wb") as out:
        out.write(_HEAD.pack(_MAGIC, len(header), zlib.crc32(header)))
        out.write(header)
        position = _HEAD.size + len(header)
        for array in arrays.values():
            out.write(b"\0" * (-position % _ALIGN))
            position += -position % _ALIGN
            data = np.ascontiguousarray(array)
            if data.size:
                out.write(data.data.cast("B") if data.dtype.kind != "S" else data.tobytes())
            position += data.nbytes


def read_sidecar(folder: Path, key: SidecarKey) -> Sidecar | None:
    """Read and check the file; None when it cannot serve."""
    try:
        with key.path(folder).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _read(memoryview(mapped), key)
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None


def _read(data: memoryview, key: SidecarKey) -> Sidecar | None:
    magic, length, crc = _HEAD.unpack_from(data)
    header = data[_HEAD.size : _HEAD.size + length]
    if magic != _MAGIC or zlib.crc32(header) != crc:
        return None
    facts = json.loads(bytes(header))
    if SidecarKey(**{name: facts[name] for name in ("store_id", "scope", "identity", "dimensions")}) != key:
        return None
    position = _HEAD.size + length
    arrays: dict[str, NDArray[Any]] = {}
    for name, described in facts["arrays"].items():
        position += -position % _ALIGN
        dtype, shape = np.dtype(described["dtype"]), tuple(described["shape"])
        size = dtype.itemsize * int(np.prod(shape))
        block = data[position : position + size]
        if len(block) != size or (size and zlib.crc32(block) != described["crc"]):
            return None
        arrays[name] = np.frombuffer(block, dtype).reshape(shape)
        position += size
    return Sidecar(change=facts["change"], **arrays)
