"""The change feed of a tenant, for readers in other processes. In: a cursor. Out: the changes after it, and a cursor.

A sequence number alone would lose writes: of two transactions, the one that began first may commit last, after a reader has passed its number. So entries
are ordered by transaction, then by number, and an entry is returned only when no transaction that may still write before it is running.

A cursor holds more than these two numbers, because the same numbers can belong to other entries in two cases:

- Stay: each PostgreSQL server numbers its transactions independently. When a tenant moves to another shard, its entries get new numbers there, and its next
  stay begins. A cursor of an earlier stay is meaningless there, so its reader gets everything again. `changes_after` sees that without a query.
- Mark: when a database is restored from a backup, its transaction numbers start again, but the stay is the same. So a cursor holds a mark of the entry
  before its position. If `is_known` finds no such entry, the cursor comes from another history (or the entry was purged), and the reader begins anew.

Neither can replace the other. A restored database cannot count a stay, because it does not know that it was restored. And a move does not keep the order
between purges and versions, so an entry that has the same numbers and mark after a move would not prove that the entries before it were read.

Entries with a transaction number that this database has not reached were restored from a dump of another server; `renumber` gives them numbers that
later entries exceed.
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

_AFTER = """(xid, seq) > (%(xid)s::xid8, %(seq)s) AND xid < pg_snapshot_xmin(pg_current_snapshot())"""
_CHANGES = f"""
    SELECT v.xid::text, v.seq, m.id, v.body, v.reason, v.change_id, v.recorded_at_ms FROM (
        SELECT xid, seq, number, body, reason, change_id, recorded_at_ms FROM versions
        WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s) AND {_AFTER} ORDER BY xid, seq LIMIT %(limit)s
    ) AS v JOIN memories AS m ON m.tenant = %(tenant)s AND m.placement = ANY(%(placements)s) AND m.number = v.number
    UNION ALL (
        SELECT xid::text, seq, id, NULL, NULL, NULL, at_ms FROM purges
        WHERE tenant = %(tenant)s AND {_AFTER} ORDER BY purges.xid, seq LIMIT %(limit)s
    )"""
_BEHIND = """
    SELECT count(*) FROM (
        SELECT 1 FROM versions
        WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s) AND (xid, seq) > (%(xid)s::xid8, %(seq)s)
        UNION ALL SELECT 1 FROM purges WHERE tenant = %(tenant)s AND (xid, seq) > (%(xid)s::xid8, %(seq)s) LIMIT 1
    ) AS behind"""

_AT = """
    SELECT m.id, v.change_id, v.recorded_at_ms FROM versions AS v
    JOIN memories AS m ON m.tenant = %(tenant)s AND m.placement = ANY(%(placements)s) AND m.number = v.number
    WHERE v.tenant = %(tenant)s AND v.placement = ANY(%(placements)s) AND v.xid = %(xid)s::xid8 AND v.seq = %(seq)s
    UNION ALL SELECT id, '', at_ms FROM purges
    WHERE tenant = %(tenant)s AND xid = %(xid)s::xid8 AND seq = %(seq)s"""
_FROM_ANOTHER_SERVER = """
    SELECT count(*) FROM (
        SELECT 1 FROM versions WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s)
            AND xid >= pg_snapshot_xmax(pg_current_snapshot())
        UNION ALL SELECT 1 FROM purges WHERE tenant = %(tenant)s AND xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1
    ) AS restored"""
_RENUMBER = (
    """
    UPDATE versions SET xid = pg_current_xact_id()
    WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s) AND xid > pg_current_xact_id()""",
    "UPDATE purges SET xid = pg_current_xact_id() WHERE tenant = %(tenant)s AND xid > pg_current_xact_id()",
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cursor:
    """A position in the feed, after the entry with these numbers. Store it as text. `Cursor()` is the beginning.

    Attributes:
        stay: the number of moves of the tenant when the entry had these numbers; see the module for why there is also a mark.
        xid: the number of the transaction that wrote the entry.
        seq: the number of the entry.
        mark: a hash that distinguishes the entry from an entry with the same numbers in another history of the database.
    """

    stay: int = 0
    xid: int = 0
    seq: int = 0
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.stay}.{self.xid}.{self.seq}.{self.mark}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Parse the text form of a cursor.

        Raises:
            ValueError: the text is not a cursor.
        """
        stay, xid, seq, mark = text.split(".")
        return cls(stay=int(stay), xid=int(xid), seq=int(seq), mark=mark)


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
    """Return the entries after `cursor` in order, at most `limit`. Continue with the cursor of the last entry.

    The entries of a transaction are returned once all transactions that began before it have ended. A version whose text was cleaned is returned again.
    If the tenant has moved to another shard since, everything is returned again.
    """
    if cursor.stay != transaction.stay:
        cursor = Cursor(stay=transaction.stay)
    values = {"xid": str(cursor.xid), "seq": cursor.seq, "limit": max(limit, 0)}
    entries = [_entry(row, transaction.stay) for row in transaction.rows(_CHANGES, values)]
    return tuple(sorted(entries, key=lambda entry: entry.cursor)[: max(limit, 0)])


def is_hiding(transaction: Transaction, cursor: Cursor) -> bool:
    """Return whether an entry after `cursor` is stored but not returned yet, because an earlier transaction is still running."""
    values = {"xid": str(cursor.xid), "seq": cursor.seq}
    return transaction.number(_BEHIND, values) > 0


def is_known(transaction: Transaction, cursor: Cursor) -> bool:
    """Return whether the entry before the position `cursor` is in this database. True for the beginning."""
    if cursor == Cursor():
        return True
    if cursor.stay != transaction.stay:
        return False
    rows = transaction.rows(_AT, {"xid": str(cursor.xid), "seq": cursor.seq})
    return any(_mark(name, change_id, at_ms) == cursor.mark for name, change_id, at_ms in rows)


def needs_renumbering(transaction: Transaction) -> bool:
    """Return whether entries have a transaction number that this database has not reached. They were restored from a dump of another server."""
    return transaction.number(_FROM_ANOTHER_SERVER) > 0


def renumber(transaction: Transaction) -> None:
    """Give these entries the number of this transaction, so that all later entries come after them. A cursor after one of them becomes unknown."""
    for statement in _RENUMBER:
        transaction.execute(statement)


def _mark(memory_id: str, change_id: str | None, at_ms: int) -> str:
    return blake2b(f"{memory_id}\n{change_id or ''}\n{at_ms}".encode(), digest_size=6).hexdigest()


def _entry(row: tuple[str, int, str, str | None, str, str, int], stay: int) -> FeedEntry:
    xid, seq, name, body, reason, change_id, at_ms = row
    cursor = Cursor(stay=stay, xid=int(xid), seq=seq, mark=_mark(name, change_id, at_ms))
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
