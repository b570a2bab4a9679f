"""The logs that a device knows, its own and those of others: a database of its own, `sync.db` in the home. In: entries. Out: entries, heads.

Entries are checked before they are stored and never changed, but for a purge, which removes bodies. Opens no memory. One
process writes at a time (the daemon).
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from tacit.errors import LogForked, StoreError, SyncError
from tacit.frozen import frozen
from tacit.model.memory import Relation, RelationType
from tacit.sync.entry import Entry, EntryKind, why_invalid

SCHEMA_VERSION = 1
WAIT_S = 30.0
"""Most seconds to wait for another user of the file."""
_TABLES = (
    """CREATE TABLE entries (
        device TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, previous TEXT NOT NULL, kind TEXT NOT NULL,
        subject TEXT NOT NULL, digest TEXT NOT NULL, sealed BLOB NOT NULL, signature BLOB NOT NULL,
        PRIMARY KEY (device, number)
    ) WITHOUT ROWID""",
    "CREATE INDEX entries_by_subject ON entries (subject)",
    # What the bodies say, read once.
    """CREATE TABLE states (entry TEXT PRIMARY KEY, memory TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX states_by_memory ON states (memory)",
    "CREATE TABLE parents (parent TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (parent, entry)) WITHOUT ROWID",
    "CREATE INDEX parents_by_entry ON parents (entry)",
    "CREATE TABLE purged (memory TEXT PRIMARY KEY, subject TEXT NOT NULL, done INTEGER NOT NULL) WITHOUT ROWID",
    # What the store held when it and the logs agreed last: a digest of the state, and the heads that it was made of.
    "CREATE TABLE settled (memory TEXT PRIMARY KEY, digest TEXT NOT NULL, heads TEXT NOT NULL) WITHOUT ROWID",
    # What the store is about to hold: after a crash it is no change of this device.
    "CREATE TABLE intended (memory TEXT PRIMARY KEY, digest TEXT NOT NULL, heads TEXT NOT NULL) WITHOUT ROWID",
    # Relations whose target is not here yet.
    """CREATE TABLE awaited (source TEXT NOT NULL, target TEXT NOT NULL, type TEXT NOT NULL, weight REAL NOT NULL,
        PRIMARY KEY (source, target, type)) WITHOUT ROWID""",
    "CREATE INDEX awaited_by_target ON awaited (target)",
    # A hash of the relations that begin at a memory, as they were looked at last.
    "CREATE TABLE edges (memory TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID",
    # Memories that new entries speak of, until their state is in the store.
    "CREATE TABLE pending (memory TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE unread (device TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (device, number)) WITHOUT ROWID",
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
)
_NAMES = (
    "entries",
    "states",
    "parents",
    "purged",
    "settled",
    "intended",
    "awaited",
    "edges",
    "pending",
    "unread",
)
_COLUMNS = "device, number, previous, kind, subject, digest, sealed, signature"
_OF_ENTRIES = ", ".join(f"entries.{name}" for name in _COLUMNS.split(", "))


@frozen
class Settled:
    """The state of a memory when store and logs last agreed: a digest of it ("" = none), and the ids of the head entries that it was made of."""

    digest: str = ""
    heads: tuple[str, ...] = ()


class Replica:
    """The database of all logs of an account on this device, with what was read from them. Close it when done."""

    def __init__(self, path: Path) -> None:
        """Open the database at `path`; create it if it does not exist.

        Raises:
            StoreError: if it cannot be opened, or a newer version wrote it.
        """
        try:
            # Several threads ask at once. From Python 3.12 on, they would share a kept statement, and one would get the answer to the other's question.
            self._base = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=WAIT_S, cached_statements=0
            )
            weakref.finalize(self, self._base.close)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.execute("PRAGMA secure_delete = ON")
            with self.writing():
                version = int(self._base.execute("PRAGMA user_version").fetchone()[0])
                if version == 0:
                    for statement in _TABLES:
                        self._base.execute(statement)
                    self._base.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        except sqlite3.Error as error:
            raise StoreError(
                f"{path} cannot be opened: {error}.",
                hint="`tacit logout` removes it; then log in again with the recovery phrase. The memories are not in this file.",
            ) from error
        if version > SCHEMA_VERSION:
            raise StoreError(f"A newer Tacit wrote {path}.", hint="Update Tacit on this device.")

    def close(self) -> None:
        """Close the database file."""
        self._base.close()

    @contextmanager
    def writing(self) -> Generator[None]:
        """Return a context manager that runs its block in one transaction; an error rolls back. If nested, only the outermost one counts."""
        if self._base.in_transaction:
            yield
            return
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._base.execute("COMMIT")
        except BaseException:
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            raise

    # --- facts

    def fact(self, name: str) -> bytes | None:
        """Return a small named value of this database, or None."""
        row = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return bytes(row[0]) if row else None

    def put_fact(self, name: str, value: bytes | None) -> None:
        """Store a small named value of this database; None deletes it."""
        if value is None:
            self._base.execute("DELETE FROM facts WHERE name = ?", (name,))
        else:
            self._base.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def begin_anew(self, facts: Mapping[str, bytes]) -> None:
        """Delete all logs and everything that was read from them, and keep only `facts`. The next exchange records the whole store once more."""
        with self.writing():
            for table in (*_NAMES, "facts"):
                self._base.execute(f"DELETE FROM {table}")
            for name, value in facts.items():
                self.put_fact(name, value)
        self.clear_log()

    # --- logs

    def heads(self) -> dict[str, int]:
        """Return device -> number of the last entry of its log that is known here."""
        return dict(
            self._base.execute("SELECT device, max(number) FROM entries GROUP BY device ORDER BY device")
        )

    def last(self, device: str) -> Entry | None:
        """Return the last known entry of a device's log, or None."""
        row = self._base.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE device = ? ORDER BY number DESC LIMIT 1", (device,)
        ).fetchone()
        return _entry(row) if row else None

    def entries(self, device: str, *, after: int, limit: int) -> tuple[Entry, ...]:
        """Return up to `limit` entries of a device with numbers above `after`, in order."""
        rows = self._base.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE device = ? AND number > ? ORDER BY number LIMIT ?",
            (device, after, limit),
        )
        return tuple(map(_entry, rows.fetchall()))

    def add(self, entries: Iterable[Entry]) -> int:
        """Check and store entries, given in the order of each log, in one transaction; known ones are ignored. Return how many were new.

        Raises:
            LogForked: another entry has the number of one of them.
            SyncError: one does not follow the one before it, or is not signed by its device; nothing is stored.
        """
        new = 0
        with self.writing():
            for entry in entries:
                new += self._add(entry)
        return new

    def _add(self, entry: Entry) -> bool:
        known = self._base.execute(
            "SELECT id FROM entries WHERE device = ? AND number = ?", (entry.device, entry.number)
        ).fetchone()
        if known is not None:
            if known[0] != entry.id:
                raise LogForked(
                    f"The log of the device {entry.device[:12]} has two entries with the number {entry.number}.",
                    hint="A home was copied or restored; its device gets a new name at its next sync.",
                )
            return False
        before = self._base.execute(
            "SELECT id FROM entries WHERE device = ? AND number = ?", (entry.device, entry.number - 1)
        ).fetchone()
        if before is None and entry.number != 1:
            raise SyncError(
                f"Entry {entry.number} of the device {entry.device[:12]} came before entry {entry.number - 1}."
            )
        if why := why_invalid(entry, previous=before[0] if before else ""):
            raise SyncError(
                f"Entry {entry.number} of the device {entry.device[:12]} is not accepted: {why}.",
                hint="The server or another device sent something wrong; nothing of it was taken over.",
            )
        self._base.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.device,
                entry.number,
                entry.id,
                entry.previous,
                entry.kind,
                entry.subject,
                entry.digest,
                entry.sealed,
                entry.signature,
            ),
        )
        self._base.execute("INSERT INTO unread VALUES (?, ?)", (entry.device, entry.number))
        return True

    def drop_after(self, device: str, number: int) -> frozenset[str]:
        """Delete the entries of a device with numbers above `number`, so that what they said is recorded again; return the ids of their memories."""
        with self.writing():
            rows = self._base.execute(
                "SELECT id, kind, subject FROM entries WHERE device = ? AND number > ?", (device, number)
            ).fetchall()
            dropped = {str(row[0]) for row in rows}
            purges = {str(row[2]) for row in rows if row[1] == "purge"}
            seen: dict[str, set[str]] = {}
            for name in dropped:
                for (memory,) in self._base.execute("SELECT memory FROM states WHERE entry = ?", (name,)):
                    parents = self._base.execute("SELECT parent FROM parents WHERE entry = ?", (name,))
                    seen.setdefault(str(memory), set()).update(str(row[0]) for row in parents)
            for name in dropped:
                self._base.execute("DELETE FROM states WHERE entry = ?", (name,))
                self._base.execute("DELETE FROM parents WHERE entry = ?", (name,))
            self._base.execute("DELETE FROM entries WHERE device = ? AND number > ?", (device, number))
            self._base.execute("DELETE FROM unread WHERE device = ? AND number > ?", (device, number))
            for subject in purges:  # the purge has to be written once more
                self._base.execute(
                    "DELETE FROM purged WHERE subject = ?1 AND NOT EXISTS"
                    " (SELECT 1 FROM entries WHERE subject = ?1 AND kind = 'purge')",
                    (subject,),
                )
            for memory, parents in seen.items():
                # The store holds what was dropped: it is a change of this device once more.
                self.settle(memory, Settled(heads=tuple(sorted(parents - dropped))))
                self.wait_for(memory)
        return frozenset(seen)

    def note_sent(self, heads: Mapping[str, int]) -> None:
        """Store that the server has the logs up to `heads` (device -> number); `unsent` compares with it."""
        with self.writing():
            self.put_fact("sent", " ".join(f"{device}:{number}" for device, number in heads.items()).encode())

    def unsent(self) -> int:
        """Return the number of entries here that the server did not have after the last exchange."""
        sent = dict(part.split(":") for part in (self.fact("sent") or b"").decode().split())
        return sum(max(0, last - int(sent.get(device, 0))) for device, last in self.heads().items())

    # --- what the entries say

    def unread(self, *, limit: int) -> tuple[Entry, ...]:
        """Return up to `limit` entries whose bodies were not read yet, ordered by device and number."""
        rows = self._base.execute(
            f"SELECT {_OF_ENTRIES} FROM unread"
            " JOIN entries USING (device, number) ORDER BY device, number LIMIT ?",
            (limit,),
        )
        return tuple(map(_entry, rows.fetchall()))

    def note_state(self, entry: Entry, memory_id: str, parents: Sequence[str]) -> None:
        """Store what the body of an entry says, a state of a memory that replaces the entries `parents`, and mark the entry as read."""
        self._base.execute("INSERT OR IGNORE INTO states VALUES (?, ?)", (entry.id, memory_id))
        self._base.executemany(
            "INSERT OR IGNORE INTO parents VALUES (?, ?)", [(parent, entry.id) for parent in parents]
        )
        self._base.execute("DELETE FROM unread WHERE device = ? AND number = ?", (entry.device, entry.number))

    def note_read(self, entry: Entry) -> None:
        """Mark an entry as read whose body is gone or holds no state of a memory."""
        self._base.execute("DELETE FROM unread WHERE device = ? AND number = ?", (entry.device, entry.number))

    def note_purge(self, memory_id: str, subject: str, *, done: bool) -> None:
        """Store that a memory was purged, and delete the bodies of its entries. `done` = it is removed from the store, too."""
        self._base.execute(
            "INSERT INTO purged VALUES (?, ?, ?) ON CONFLICT (memory) DO UPDATE SET done = max(done, excluded.done)",
            (memory_id, subject, int(done)),
        )
        self._base.execute(
            "UPDATE entries SET sealed = x'' WHERE subject = ? AND kind = 'state' AND sealed <> x''",
            (subject,),
        )
        self._base.execute("DELETE FROM settled WHERE memory = ?", (memory_id,))
        self._base.execute("DELETE FROM awaited WHERE source = ?1 OR target = ?1", (memory_id,))

    def clear_log(self) -> None:
        """Empty SQLite's write-ahead log, so that no purged body stays in it. Call it outside of a transaction.

        Waits for up to `WAIT_S` while another thread reads with this connection, which SQLite refuses instead of waiting.
        """
        until = time.monotonic() + WAIT_S
        while True:
            try:
                self._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_LOCKED or time.monotonic() > until:
                    raise
                time.sleep(0.005)
            else:
                return

    def is_purged(self, memory_id: str) -> bool:
        """Whether a memory was purged."""
        return (
            self._base.execute("SELECT 1 FROM purged WHERE memory = ?", (memory_id,)).fetchone() is not None
        )

    def purged(self, *, done: bool | None = None) -> frozenset[str]:
        """Return the ids of purged memories: all (None), those that are removed from the store (True), or not yet (False)."""
        test = "" if done is None else f" WHERE done = {int(done)}"
        return frozenset(str(row[0]) for row in self._base.execute(f"SELECT memory FROM purged{test}"))

    def head_entries(self, memory_id: str) -> tuple[Entry, ...]:
        """Return the heads of a memory: its state entries that no other known entry replaces, ordered by id."""
        rows = self._base.execute(
            f"SELECT {_OF_ENTRIES} FROM states JOIN entries ON entries.id = states.entry WHERE states.memory = ?"
            " AND NOT EXISTS (SELECT 1 FROM parents WHERE parents.parent = states.entry) ORDER BY entries.id",
            (memory_id,),
        )
        return tuple(map(_entry, rows.fetchall()))

    def ancestors(self, entry: str) -> frozenset[str]:
        """Return the ids of all entries that the state of `entry` replaced, directly or indirectly, without itself."""
        rows = self._base.execute(
            "WITH RECURSIVE above (id) AS (SELECT parent FROM parents WHERE entry = ?1"
            " UNION SELECT parents.parent FROM parents JOIN above ON parents.entry = above.id)"
            " SELECT id FROM above",
            (entry,),
        )
        return frozenset(str(row[0]) for row in rows)

    def entries_named(self, ids: Sequence[str]) -> tuple[Entry, ...]:
        """Return the entries with these ids, in their order; unknown ones are left out."""
        found = [
            self._base.execute(f"SELECT {_COLUMNS} FROM entries WHERE id = ?", (name,)).fetchone()
            for name in ids
        ]
        return tuple(_entry(row) for row in found if row)

    def state_entries(self, memory_id: str) -> tuple[Entry, ...]:
        """Return all state entries of a memory, ordered by id."""
        rows = self._base.execute(
            f"SELECT {_OF_ENTRIES} FROM states JOIN entries ON entries.id = states.entry"
            " WHERE states.memory = ? ORDER BY entries.id",
            (memory_id,),
        )
        return tuple(map(_entry, rows.fetchall()))

    def memories(self) -> frozenset[str]:
        """Return the ids of all memories that have a state entry."""
        return frozenset(str(row[0]) for row in self._base.execute("SELECT DISTINCT memory FROM states"))

    def settled(self, memory_id: str) -> Settled | None:
        """Return the state of a memory when store and logs last agreed; None = they never did."""
        return self._state("settled", memory_id)

    def settle(self, memory_id: str, settled: Settled) -> None:
        """Store that the store and the logs now agree on this state of a memory."""
        self._base.execute(
            "INSERT OR REPLACE INTO settled VALUES (?, ?, ?)",
            (memory_id, settled.digest, " ".join(settled.heads)),
        )

    def intend(self, memory_id: str, settled: Settled) -> None:
        """Store that this state is about to be written to the store, so that after a crash it is not taken for a change of this device."""
        self._base.execute(
            "INSERT OR REPLACE INTO intended VALUES (?, ?, ?)",
            (memory_id, settled.digest, " ".join(settled.heads)),
        )

    def intended(self, memory_id: str) -> Settled | None:
        """Return the state noted by `intend` and not yet cleared by `done_with`, or None."""
        return self._state("intended", memory_id)

    def _state(self, table: str, memory_id: str) -> Settled | None:
        row = self._base.execute(f"SELECT digest, heads FROM {table} WHERE memory = ?", (memory_id,))
        found = row.fetchone()
        return Settled(digest=str(found[0]), heads=tuple(str(found[1]).split())) if found else None

    def changed_edges(self, digests: Mapping[str, str]) -> frozenset[str]:
        """Return the ids of memories whose relations changed since the last call, and store `digests` for the next one.

        `digests` = memory id -> hash of its relations, for all memories that have some.
        """
        before = dict(self._base.execute("SELECT memory, digest FROM edges"))
        changed = {name for name in {*before, *digests} if before.get(name) != digests.get(name)}
        for name in changed:
            if name in digests:
                self._base.execute("INSERT OR REPLACE INTO edges VALUES (?, ?)", (name, digests[name]))
            else:
                self._base.execute("DELETE FROM edges WHERE memory = ?", (name,))
        return frozenset(changed)

    def await_targets(self, source: str, relations: Iterable[Relation]) -> None:
        """Store the relations of `source` whose targets are not in the store yet, replacing those stored before."""
        self._base.execute("DELETE FROM awaited WHERE source = ?", (source,))
        self._base.executemany(
            "INSERT OR REPLACE INTO awaited VALUES (?, ?, ?, ?)",
            [
                (relation.source_id, relation.target_id, relation.type, relation.weight)
                for relation in relations
            ],
        )

    def awaited(self, source: str) -> tuple[Relation, ...]:
        """Return the relations that `await_targets` stored for a memory."""
        rows = self._base.execute(
            "SELECT source, target, type, weight FROM awaited WHERE source = ? ORDER BY target, type",
            (source,),
        )
        return tuple(
            Relation(source_id=row[0], target_id=row[1], type=cast(RelationType, row[2]), weight=row[3])
            for row in rows
        )

    def awaiting(self, target: str) -> frozenset[str]:
        """Return the ids of memories with a stored relation that waits for `target`."""
        rows = self._base.execute("SELECT source FROM awaited WHERE target = ?", (target,))
        return frozenset(str(row[0]) for row in rows)

    def pending(self, *, limit: int) -> tuple[str, ...]:
        """Return up to `limit` ids of memories whose state from the logs is not in the store yet, in order."""
        rows = self._base.execute("SELECT memory FROM pending ORDER BY memory LIMIT ?", (limit,))
        return tuple(str(row[0]) for row in rows.fetchall())

    def wait_for(self, memory_id: str) -> None:
        """Mark a memory as pending: its state from the logs has to be written to the store."""
        self._base.execute("INSERT OR IGNORE INTO pending VALUES (?)", (memory_id,))

    def done_with(self, memory_id: str) -> None:
        """Unmark a pending memory, as its state is in the store, and clear what `intend` noted."""
        self._base.execute("DELETE FROM pending WHERE memory = ?", (memory_id,))
        self._base.execute("DELETE FROM intended WHERE memory = ?", (memory_id,))


def _entry(row: Sequence[object]) -> Entry:
    device, number, previous, kind, subject, digest, sealed, signature = row
    return Entry(
        device=str(device),
        number=int(cast(int, number)),
        previous=str(previous),
        kind=cast(EntryKind, kind),
        subject=str(subject),
        digest=str(digest),
        sealed=bytes(cast(bytes, sealed)),
        signature=bytes(cast(bytes, signature)),
    )
