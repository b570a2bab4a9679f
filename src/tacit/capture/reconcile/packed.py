"""A cache of parsed statements that keeps each of them as bytes. In: a function from a text to a record. Out: the same, cached.

A record of sets of words takes about ten times the memory of its bytes, and reading the bytes is much quicker than parsing
the statement again. Every new statement is compared with many stored ones, so the same stored statements are read often.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

PACKED = 2048
"""Statements of which the bytes are kept, about 500 bytes each."""
UNPACKED = 64
"""Statements that are kept as records: more than one new statement is compared with."""

Record = TypeVar("Record")


def packed_cache(make: Callable[..., Record]) -> Callable[[Callable[[str], Record]], Callable[[str], Record]]:
    """Cache a function that returns slotted records of `make`; their fields hold strings, numbers, tuples and frozen sets.

    Safe to share between threads.
    """
    names: tuple[str, ...] = make.__slots__  # pyright: ignore[reportFunctionMemberAccess]

    def decorate(parse: Callable[[str], Record]) -> Callable[[str], Record]:
        @lru_cache(maxsize=PACKED)
        def packed(text: str) -> bytes:
            record = parse(text)
            return marshal.dumps([getattr(record, name) for name in names])

        @lru_cache(maxsize=UNPACKED)
        def unpacked(text: str) -> Record:
            values = marshal.loads(packed(text))  # noqa: S302 - bytes that this process made
            return make(**dict(zip(names, values, strict=True)))

        unpacked.__doc__ = parse.__doc__
        return unpacked

    return decorate
