"""The share of a request that equals the beginning of the request before, which a prompt cache can reuse.

In: the requests of one conversation in order, as they went out and as the program wrote them. Out: counts of bytes. Fields that
only mark where to cache are left out. Never keeps the words: digests and lengths of messages, the bytes of the system prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.library.message_formats import canonical, sequence

Piece = tuple[int, bytes]
"""A piece of a request: its length in bytes, and a digest of it."""
_LISTS = ("messages", "input")
_FIRST = ("tools", "system", "instructions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """How much of a request was unchanged from the request before it, in bytes of JSON.

    Attributes:
        before: size of the request before.
        kept: how much of it stands unchanged at the beginning of this one.
        kept_bare: the same of the requests without our blocks.
        before_bare: size of the one before without our blocks.
    """

    before: int
    kept: int
    before_bare: int
    kept_bare: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A request as a sequence of pieces: tools, system prompt, then message by message."""

    system: bytes
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return sum(length for length, _ in self.pieces)


def outline(body: Mapping[str, Any], *, system: str = "", texts: Sequence[str] = ()) -> Outline:
    """Return the outline of a request: its parts in the order in which a model reads them. `system` = the block that was added to the system prompt, `texts` = those added to the messages, one for each ("" = none)."""
    fixed = [_blob(body[name]) for name in _FIRST if name in body]
    first = b"".join((*fixed, _encoded(system)))
    messages: Sequence[Any] = ()
    for name in _LISTS:
        raw = body.get(name)
        messages = [raw] if isinstance(raw, str) else sequence(raw) or messages
    blocks = (*texts, *("",) * len(messages))
    pieces = [
        _piece(first),
        *(_piece(_blob(message) + _encoded(block)) for message, block in zip(messages, blocks, strict=False)),
    ]
    return Outline(first, tuple(pieces))


def kept(current: Outline, before: Outline) -> int:
    """Return how many bytes at the beginning of `current` are the same as in `before`, in whole pieces; within the first piece, the length of the common prefix."""
    total = 0
    for mine, theirs in zip(current.pieces, before.pieces, strict=False):
        if mine != theirs:
            return total or _common(current.system, before.system)
        total += theirs[0]
    return total


def _common(first: bytes, second: bytes) -> int:
    low, high = 0, min(len(first), len(second))
    while low < high:  # binary search: the prefix of length n is equal for every n up to the answer
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return low


def _blob(value: object) -> bytes:
    return _encoded(json.dumps(canonical(value), ensure_ascii=False, default=str))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _piece(blob: bytes) -> Piece:
    return len(blob), hashlib.blake2b(blob, digest_size=8).digest()
