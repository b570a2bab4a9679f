"""Content codings of request bodies. In: the bytes of a body. Out: the decoded body, and bodies in the same coding.

Never raises: a body that cannot be decoded is None. httpx decodes only responses, and without a limit for their size.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

MAX_BYTES = 64 << 20
"""The largest decoded body that is read, in bytes."""


def decode(coding: str, content: bytes) -> bytes | None:
    """Decode a body; None = it cannot be decoded, or is larger than `MAX_BYTES`."""
    read = _READ.get(coding)
    if read is None:
        return None
    try:
        return read(content)
    except (OSError, ValueError, EOFError, zlib.error):
        return None


def encode(coding: str, content: bytes) -> bytes:
    """Encode `content` in a coding that `decode` accepts."""
    match coding:
        case "gzip" | "x-gzip":
            return gzip.compress(content, compresslevel=1, mtime=0)
        case "deflate":
            return zlib.compress(content, level=1)
        case "zstd":
            compressed: bytes = _zstandard().ZstdCompressor(level=1).compress(content)
            return compressed
        case _:
            return content


def readable(accepted: str) -> str:
    """Return the value of `Accept-Encoding` without the codings that httpx cannot decode in this process."""
    unreadable = {name for name, packages in _PACKAGES.items() if not any(map(find_spec, packages))}
    listed = [part.strip() for part in accepted.split(",")]
    return (
        ", ".join(part for part in listed if part.partition(";")[0].strip() not in unreadable) or "identity"
    )


def _inflated(content: bytes, bits: int) -> bytes:
    reader = zlib.decompressobj(bits)
    plain = reader.decompress(content, MAX_BYTES)
    if not reader.eof:
        raise ValueError("cut off, or too large")
    return plain


def _from_zstd(content: bytes) -> bytes:
    if not find_spec("zstandard"):
        raise ValueError("zstandard is not installed")
    library = _zstandard()
    try:
        plain: bytes = library.ZstdDecompressor().stream_reader(io.BytesIO(content)).read(MAX_BYTES + 1)
    except library.ZstdError as error:
        raise ValueError("not zstd") from error
    if len(plain) > MAX_BYTES:
        raise ValueError("too large")
    return plain


def _zstandard() -> Any:
    return import_module("zstandard")


_READ: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    "identity": lambda content: content,
    "gzip": lambda content: _inflated(content, 31),
    "x-gzip": lambda content: _inflated(content, 31),
    "deflate": lambda content: _inflated(content, 15),
    "zstd": _from_zstd,
}
_PACKAGES = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}
"""The packages with which httpx decodes a coding; it needs one of them."""
