"""The feed of changes of a tenant, for whoever follows it from another process. In: a cursor. Out: what was written since, and a cursor.

A number alone would lose writes: of two transactions the one that began first may end last, behind a reader that has gone on. So entries
are ordered by their transaction, then by number, and shown only when no transaction that may still write before them is running.

Transactions are numbered by each server for itself. A tenant that moves to another shard gets new numbers there for all it holds, in the old
order, and begins another stay. A cursor of an earlier stay says nothing there: whoever comes with one is told everything again.

Numbers of transactions start again where a database is restored from a backup. So a cursor also says how the entry is recognized that it stands
behind: where there is no such entry, the cursor is of another history (or the entry was purged), and whoever follows begins anew. Entries whose
transaction this database has not come to were brought in by a dump; `renumber` puts them where new ones come behind them.
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
_TO_COME = """
    SELECT count(*) FROM (
        SELECT 1 FROM versions WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s)
            AND xid >= pg_snapshot_xmax(pg_current_snapshot())
        UNION ALL SELECT 1 FROM purges WHERE tenant = %(tenant)s AND xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1
    ) AS to_come"""
_RENUMBER = (
    """
    UPDATE versions SET xid = pg_current_xact_id()
    WHERE tenant = %(tenant)s AND placement = ANY(%(placements)s) AND xid > pg_current_xact_id()""",
    "UPDATE purges SET xid = pg_current_xact_id() WHERE tenant = %(tenant)s AND xid > pg_current_xact_id()",
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cursor:
    """A place in the feed, behind the entry of these numbers; keep it as text. `mark` tells that entry from one of another history.

    `Cursor()` is the beginning.
    """

    stay: int = 0
    xid: int = 0
    seq: int = 0
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.stay}.{self.xid}.{self.seq}.{self.mark}"

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Read what `str` wrote.

        Raises:
            ValueError: if it was something else.
        """
        stay, xid, seq, mark = text.split(".")
        return cls(stay=int(stay), xid=int(xid), seq=int(seq), mark=mark)


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


def is_known(transaction: Transaction, cursor: Cursor) -> bool:
    """Whether the entry that `cursor` stands behind is one of this database. The beginning is."""
    if cursor == Cursor():
        return True
    if cursor.stay != transaction.stay:
        return False
    rows = transaction.rows(_AT, {"xid": str(cursor.xid), "seq": cursor.seq})
    return any(_mark(name, change_id, at_ms) == cursor.mark for name, change_id, at_ms in rows)


def is_to_come(transaction: Transaction) -> bool:
    """Whether entries name a transaction that this database has not come to: they were brought in by a dump of another one."""
    return transaction.number(_TO_COME) > 0


def renumber(transaction: Transaction) -> None:
    """Put such entries where all that is written from now on comes behind them. Cursors that stand behind one are not known any more."""
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
