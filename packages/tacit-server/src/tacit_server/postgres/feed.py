"""The change feed of a team, for its members' devices. In: a cursor. Out: the changes after it, and a cursor.

Every entry has a number. A writer takes the numbers while it holds the lock on the row of the tenant, and keeps the lock until its transaction ends. So
entries are stored in the order of their numbers, and a reader that saw a number has missed no smaller one.

When a database is restored from a backup, the numbers go back to those of the backup, and other entries get the same numbers again. So a cursor also holds
the id of the change that wrote the entry before its position. If `is_known` finds no such entry, the cursor comes from another history (or the entry was
purged), and the reader begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.backends.codec import decode
from tacit.model.memory import Memory

if TYPE_CHECKING:
    from tacit_server.postgres.transaction import Transaction

_CHANGES = """
    SELECT number, change_id, id, body FROM versions WHERE tenant = %(tenant)s AND number > %(number)s
    UNION ALL SELECT number, change_id, id, NULL FROM purges WHERE tenant = %(tenant)s AND number > %(number)s
    ORDER BY number LIMIT %(limit)s"""
_AT = """
    SELECT change_id FROM versions WHERE tenant = %(tenant)s AND number = %(number)s
    UNION ALL SELECT change_id FROM purges WHERE tenant = %(tenant)s AND number = %(number)s"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCursor:
    """A position in the feed, after the entry with this number. Store it as text. `FeedCursor()` is the beginning.

    Attributes:
        number: the number of the entry.
        change_id: the id of the change that wrote it.
    """

    number: int = 0
    change_id: str = ""

    def __str__(self) -> str:
        return f"{self.number}.{self.change_id}"

    @classmethod
    def parse(cls, text: str) -> FeedCursor:
        """Parse the text form of a cursor.

        Raises:
            ValueError: the text is not a cursor.
        """
        number, change_id = text.split(".")
        cursor = cls(number=int(number), change_id=change_id)
        if not 0 <= cursor.number < 2**63:
            raise ValueError(f"{number} is not the number of an entry")
        return cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """A change of a memory.

    Attributes:
        cursor: the position after this entry.
        memory_id: the id of the memory.
        memory: its version; None = it was purged, and nothing of it may be kept anywhere.
    """

    cursor: FeedCursor
    memory_id: str
    memory: Memory | None


def changes_after(transaction: Transaction, cursor: FeedCursor, *, limit: int) -> tuple[FeedEntry, ...]:
    """Return the entries after `cursor` in order, at most `limit`. Continue with the cursor of the last entry."""
    rows = transaction.rows(_CHANGES, {"number": cursor.number, "limit": limit})
    return tuple(
        FeedEntry(
            cursor=FeedCursor(number=number, change_id=change_id),
            memory_id=name,
            memory=None if body is None else decode(Memory, body),
        )
        for number, change_id, name, body in rows
    )


def is_known(transaction: Transaction, cursor: FeedCursor) -> bool:
    """Return whether the entry before the position `cursor` is in this database. True for the beginning."""
    if cursor == FeedCursor():
        return True
    rows = transaction.rows(_AT, {"number": cursor.number})
    return any(row[0] == cursor.change_id for row in rows)
