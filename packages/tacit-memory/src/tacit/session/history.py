"""Our blocks in a list of messages that an agent keeps itself: find them, bound their number, leave them out of a summary.

In: messages as role and content (a text, or parts with a `text`), oldest first. Out: a new list; messages are never
changed. For hosts that keep the list themselves `ledger.bounded` does the same by message id. Source: the ambient seed,
"bounded persistence and compactor-aware filtering" (P1 to P3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from tacit.safety.escape import OPEN_TAG

MARKS = (f"<{OPEN_TAG}", "[Context from memory]")
"""How a block begins; memory text cannot begin so, because it is escaped."""
M = TypeVar("M", bound=Mapping[str, object])


def is_block(message: Mapping[str, object]) -> bool:
    """Whether `message` is a block of ours: a user message with a text that begins with a mark."""
    return message.get("role") == "user" and any(text.lstrip().startswith(MARKS) for text in _texts(message))


def prune_blocks(messages: Sequence[M], *, most: int, incoming: bool = False) -> list[M]:
    """The messages with at most `most` blocks, the newest ones; 0 = none.

    Call it on every turn, also when nothing new is handed over. With `incoming` room is left for one more block.
    """
    at = [number for number, message in enumerate(messages) if is_block(message)]
    keep = max(0, most - 1 if incoming else most)
    gone = set(at[: max(0, len(at) - keep)])
    return [message for number, message in enumerate(messages) if number not in gone]


def without_blocks(messages: Sequence[M]) -> list[M]:
    """The messages without any block: what a compaction may summarise, so that no memory is said twice as news."""
    return [message for message in messages if not is_block(message)]


def _texts(message: Mapping[str, object]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if not isinstance(content, Sequence):
        return []
    blocks = [
        cast(Mapping[str, object], block)
        for block in cast(Sequence[object], content)
        if isinstance(block, Mapping)
    ]
    return [text for block in blocks if isinstance(text := block.get("text"), str)]
