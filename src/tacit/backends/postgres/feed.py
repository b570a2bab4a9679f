"""The change feed of a tenant, for readers in other processes. In: a cursor. Out: the changes after it, and a cursor.

Every entry has a number. A writer takes the numbers while it holds the lock on the row of the tenant, and keeps the lock until its transaction ends. So
entries are stored in the order of their numbers, and a reader that saw a number has missed no smaller one.

When a database is restored from a backup, the numbers go back to those of the backup, and other entries get the same numbers again. So a cursor also holds a
mark of the entry before its position. If `is_known` finds no such entry, the cursor comes from another history (or the entry was purged), and the reader
begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from tacit.backends.codec import decode, decode_reason
from tacit.model.change_reason import ChangeReason
from tacit.model.memory import Memory

if TYPE_CHECKING:
    from tacit.backends.postgres.transaction import Transaction

_CHANGES = """
    SELECT v.told, m.id, v.body, v.reason, v.change_id, v.recorded_at_ms FROM versions AS v
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = v.number
    WHERE v.tenant = %(tenant)s AND v.told > %(number)s
    UNION ALL SELECT told, id, NULL, NULL, NULL, at_ms FROM purges WHERE tenant = %(tenant)s AND told > %(number)s
    ORDER BY 1 LIMIT %(limit)s"""
_AT = """
    SELECT m.id, v.change_id, v.recorded_at_ms FROM versions AS v
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.number = v.number
    WHERE v.tenant = %(tenant)s AND v.told = %(number)s
    UNION ALL SELECT id, '', at_ms FROM purges WHERE tenant = %(tenant)s AND told = %(number)s"""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cursor:
    """A position in the feed, after the entry with this number. Store it as text. `Cursor()` is the beginning.

    Attributes:
        number: the number of the entry.
        mark: a hash that distinguishes the entry from an entry with the same number in another history of the database.
    """

    number: int = 0
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.number}.{self.mark}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Parse the text form of a cursor.

        Raises:
            ValueError: the text is not a cursor.
        """
        number, mark = text.split(".")
        return cls(number=int(number), mark=mark)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """A change.

    Attributes:
        cursor: the position after this entry.
        kind: `version` = a version of a memory; `purge` = nothing of the memory may be kept anywhere.
        memory_id: the id of the memory.
        at_ms: when it was written, in milliseconds since the epoch.
        memory: the version; None for a purge.
        reason: the reason of the change; None for a purge.
        change_id: the id that all versions of one write share.
    """

    cursor: Cursor
    kind: Literal["version", "purge"]
    memory_id: str
    at_ms: int
    memory: Memory | None = None
    reason: ChangeReason | None = None
    change_id: str = ""


def changes_after(transaction: Transaction, cursor: Cursor, *, limit: int) -> tuple[FeedEntry, ...]:
    """Return the entries after `cursor` in order, at most `limit`. Continue with the cursor of the last entry. A version whose text was cleaned is returned again."""
    values = {"number": cursor.number, "limit": max(limit, 0)}
    return tuple(_entry(row) for row in transaction.rows(_CHANGES, values))


def is_known(transaction: Transaction, cursor: Cursor) -> bool:
    """Return whether the entry before the position `cursor` is in this database. True for the beginning."""
    if cursor == Cursor():
        return True
    rows = transaction.rows(_AT, {"number": cursor.number})
    return any(_mark(name, change_id, at_ms) == cursor.mark for name, change_id, at_ms in rows)


def _mark(memory_id: str, change_id: str | None, at_ms: int) -> str:
    return blake2b(f"{memory_id}\n{change_id or ''}\n{at_ms}".encode(), digest_size=6).hexdigest()


def _entry(row: tuple[int, str, str | None, str, str, int]) -> FeedEntry:
    number, name, body, reason, change_id, at_ms = row
    cursor = Cursor(number=number, mark=_mark(name, change_id, at_ms))
    if body is None:
        return FeedEntry(cursor=cursor, kind="purge", memory_id=name, at_ms=at_ms)
    return FeedEntry(
        cursor=cursor,
        kind="version",
        memory_id=name,
        at_ms=at_ms,
        memory=decode(Memory, body),
        reason=decode_reason(reason),
        change_id=change_id,
    )
