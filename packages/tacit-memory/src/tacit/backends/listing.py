"""Lists of memories made in Python, where a store does not leave it to its database. In: memories, a filter. Out: those that pass, in order."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.backends.text import clean_value
from tacit.model.memory import Memory
from tacit.ports.store import MemoryFilter


def passes(memory: Memory, where: MemoryFilter) -> bool:
    """Whether `memory` is what `where` asks for, its scope aside."""
    asked = clean_value(where)
    return asked.fits(memory) and (
        asked.after is None or (-memory.created_at_ms, memory.id) > (-asked.after[0], asked.after[1])
    )


def in_order(memories: Iterable[Memory], where: MemoryFilter) -> list[Memory]:
    """`memories` as `where` orders them."""

    def first(memory: Memory) -> float:
        match where.order:
            case "created":
                return memory.created_at_ms
            case "updated":
                return memory.updated_at_ms
            case "importance":
                return memory.importance
            case "used":
                return memory.use_count

    sign = 1 if where.ascending else -1
    return sorted(memories, key=lambda memory: (sign * first(memory), -memory.created_at_ms, memory.id))
