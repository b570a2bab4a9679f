"""The feed of changes of a tenant, for whoever follows it from another process. In: a cursor. Out: what was written since, and a cursor.

A number alone would lose writes: of two transactions the one that began first may end last, behind a reader that has gone on. So entries
are ordered by their transaction, then by number, and shown only when no transaction that may still write before them is running.

Transactions are numbered by each server for itself. A tenant that moves to another shard gets new numbers there for all it holds, in the old
order, and begins another stay. A cursor of an earlier stay says nothing there: whoever comes with one is told everything again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit.backends.codec import decode, decode_reason
from tacit.model.change_reason import ChangeReason
from tacit.model.memory import Memory

if TYPE_CHECKING:
    from tacit.backends.postgres.connection import Transaction

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


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cursor:
    """A place in the feed; keep it as text. `Cursor()` is its beginning."""

    stay: int = 0
    xid: int = 0
    seq: int = 0

    def __str__(self) -> str:
        return f"{self.stay}.{self.xid}.{self.seq}" if self.stay else f"{self.xid}.{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read what `str` wrote."""
        *stay, xid, seq = map(int, text.split("."))
        return cls(stay=stay[0] if stay else 0, xid=xid, seq=seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """Something that was written.

    Attributes:
        cursor: its place.
        kind: a `version` of a memory; or a `purge`, after which nothing of it may be kept anywhere.
        memory_id: of which memory.
        at_ms: when.
        memory: the version; None for a purge.
        reason: why.
        change_id: what it was written with.
    """

    cursor: Cursor
    kind: Literal["version", "purge"]
    memory_id: str
    at_ms: int
    memory: Memory | None = None
    reason: ChangeReason | None = None
    change_id: str = ""


def changes_after(transaction: Transaction, cursor: Cursor, *, limit: int) -> tuple[FeedEntry, ...]:
    """What was written behind `cursor`, in order, `limit` at most; go on from the last entry's cursor.

    What was written by a transaction comes when all that ran beside it have ended. A version whose text was cleaned comes again; when the
    tenant has moved to another shard since, everything does.
    """
    if cursor.stay != transaction.stay:
        cursor = Cursor(stay=transaction.stay)
    values = {"xid": str(cursor.xid), "seq": cursor.seq, "limit": max(limit, 0)}
    entries = [_entry(row, transaction.stay) for row in transaction.rows(_CHANGES, values)]
    return tuple(sorted(entries, key=lambda entry: entry.cursor)[: max(limit, 0)])


def is_hiding(transaction: Transaction, cursor: Cursor) -> bool:
    """Whether something behind `cursor` is stored and not shown yet, because a transaction that began before it still runs."""
    values = {"xid": str(cursor.xid), "seq": cursor.seq}
    return transaction.number(_BEHIND, values) > 0


def _entry(row: tuple[str, int, str, str | None, str, str, int], stay: int) -> FeedEntry:
    xid, seq, name, body, reason, change_id, at_ms = row
    cursor = Cursor(stay=stay, xid=int(xid), seq=seq)
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
