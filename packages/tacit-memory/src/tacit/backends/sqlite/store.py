"""The Store port over one SQLite file. In: calls of the port. Out: one transaction each.

Memories, handovers and what they bring survive a power failure; session records and traces survive the end of the process.
Never computes anything while it holds the writer's lock that could be computed before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

from tacit.backends.changes import NotedChanges, check_outcome, new_change_id
from tacit.backends.codec import clean_text
from tacit.backends.sqlite import (
    health,
    purging,
    rebuilding,
    writing,
)
from tacit.backends.sqlite.connection import Database, TemporaryDatabase
from tacit.backends.sqlite.memories import MemoryReader, MemoryTables
from tacit.backends.sqlite.purging import note_purge, read_purges
from tacit.backends.sqlite.search import SqliteSearch
from tacit.backends.sqlite.sessions import SessionTables, is_done, mark_done, mark_failed, put_values
from tacit.config.home import Home
from tacit.model.changes import Change, Removal, Skip
from tacit.model.memory import Relation
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.ports.store import (
    Recorded,
    Step,
    StoreStats,
    ValueChanges,
    no_step,
)


class SqliteStore(MemoryTables, SessionTables):
    """The `Store` port over one SQLite file, or a database in memory. Thread-safe; several processes may have the same file open."""

    def __init__(self, home: Home | None, *, clock: Clock, step: Step = no_step) -> None:
        """Open the database of `home`, or an empty one in memory where there is no home."""
        self._clock = clock
        self._step = step
        self._purge_log = home and home.purge_log
        self._purged = frozenset[str]()
        super().__init__(
            Database(home.database, home.lock_file, step=step) if home else TemporaryDatabase(step=step)
        )
        self._reader = MemoryReader()
        self._noted = NotedChanges()
        self._search = SqliteSearch(self._database, clock=clock)

    @classmethod
    def temporary(cls, *, clock: Clock) -> Self:
        """Open an empty store in memory, for a trial or a test. It writes no file, and everything goes when it is closed."""
        return cls(None, clock=clock)

    @property
    def search(self) -> Search:
        """The search over the stored memories: one ranking per space."""
        return self._search

    @contextmanager
    def at_once(self) -> Generator[None]:
        """Return a context manager: inside, all reads of this thread see one state of the store (a read transaction), and cost less."""
        with self._database.read():
            yield

    # --- memories

    def apply(
        self,
        changes: Sequence[Change],
        *,
        vectors: Vectors | None = None,
        identity: EmbedderIdentity | None = None,
        values: ValueChanges | None = None,
        relations: Iterable[Relation] = (),
        expected: Mapping[str, str] | None = None,
    ) -> None:
        """Write `changes` in one transaction, under a new change id; see `MemoryStore.apply`.

        The time of the transaction is the clock's.
        """
        related = tuple(relations)
        if not (values or related) and all(isinstance(change, Skip) for change in changes):
            return
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)
        with self._database.write(durable=True) as connection:
            written = writing.apply_changes(
                connection,
                changes,
                vectors=vectors,
                identity=identity,
                now_ms=now_ms,
                change_id=change_id,
                expected=expected,
            )
            writing.relate(connection, related)
            self._step("memories written")
            put_values(connection, values or {})
        if written:
            self._noted.note(change_id)

    def noting_changes(self) -> AbstractContextManager[list[str]]:
        """Return a context manager that gives a list: inside, the id of each change that this thread writes is appended to it."""
        return self._noted.noting()

    def relate(self, relations: Iterable[Relation]) -> None:
        """Store relations; one with the same source, target and type gets the new weight.

        Raises:
            NotFound: a relation names a memory that does not exist; nothing is changed.
        """
        with self._database.write(durable=True) as connection:
            writing.relate(connection, relations)

    def unrelate(self, relations: Iterable[Relation]) -> None:
        """Delete relations, identified by source, target and type; unknown ones are ignored."""
        with self._database.write(durable=False) as connection:
            writing.unrelate(connection, relations)

    def put_vectors(self, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity) -> None:
        """Store vectors of `ids`, shape (len(ids), dimensions), replacing those of another identity.

        Raises:
            NotFound: an id names no memory; nothing is changed.
        """
        with self._database.write(durable=False) as connection:
            writing.put_vectors(connection, ids, vectors, identity=identity)

    def restore(self, versions: Sequence[Recorded], *, uses: Mapping[str, int]) -> None:
        """Append versions that were written in another store, oldest first, with their times and reasons, in one transaction.

        Raises:
            InvalidInput: a version is older than what is stored of its memory; nothing is changed.
        """
        if versions or uses:
            with self._database.write(durable=True) as connection:
                writing.restore(connection, versions, uses)

    def count_usage(self, *, shown: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        """Add one to `shown_count` of each memory id in `shown`, and one to `use_count` of each in `used`.

        Unknown ids are passed over; a use is no change and makes no history.
        """
        if shown or used:
            with self._database.write(durable=False) as connection:
                writing.count_usage(connection, shown, used)

    # --- handovers

    def finish_handover(
        self,
        key: str,
        *,
        changes: Sequence[Change] = (),
        vectors: Vectors | None = None,
        identity: EmbedderIdentity | None = None,
        error: str = "",
        values: ValueChanges | None = None,
        relations: Iterable[Relation] = (),
    ) -> None:
        """Store what was captured and mark the handover `key` done, in one transaction. With `error` it stays, with one more attempt and this error.

        A handover that is done already changes nothing.

        Raises:
            NotFound: if the key is unknown.
            InvalidInput: if both `error` and `changes` are given.
        """
        key = clean_text(key)
        check_outcome(changes, error)
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)
        with self._database.write(durable=True) as connection:
            if is_done(connection, key):
                return
            if error:
                mark_failed(connection, key, error)
            else:
                writing.apply_changes(
                    connection,
                    changes,
                    vectors=vectors,
                    identity=identity,
                    now_ms=now_ms,
                    change_id=change_id,
                )
                writing.relate(connection, relations)
                self._step("memories written")
                mark_done(connection, key, now_ms)
                self._step("handover closed")
            put_values(connection, values or {})

    # --- the whole

    def stats(self) -> StoreStats:
        """Return counts of what the store holds; cheap."""
        with self._database.read() as connection:
            return health.read_stats(connection, self._database.path)

    def rewrite_texts(
        self,
        clean: Callable[[str, str], str],
        *,
        dry_run: bool,
        copy: Path | None = None,
        gone: Removal | None = None,
    ) -> Mapping[str, int]:
        """Replace every stored text by what `clean` makes of it, also in the history and the indexes; return table -> number of changed rows.

        The file is written anew afterwards, so that no free page keeps the old words.
        What is to change is worked out before the writer is held.
        """
        cleaning = purging.Cleaning(clean, gone)
        if copy is not None:
            return rebuilding.clean_copy(copy, cleaning, dry_run=dry_run)
        if gone is not None and not dry_run:
            self._note_purge(gone)
        with self._database.read() as connection:
            counts = purging.rewrite_texts(connection, cleaning, dry_run=True)
        if dry_run or not counts:
            return counts
        with self._database.write(durable=True) as connection:
            counts = purging.rewrite_texts(connection, cleaning, dry_run=False)
        self._reader.clear()
        self._database.compact()
        return counts

    def check(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
        """Check the store's integrity and return the problems found, as sentences; empty = sound. Others can write between its steps.

        Reads the whole file; writers wait for no more than the check of one text index.
        """
        report = progress or health.no_progress
        problems: list[str] = []
        steps = health.examinations()
        for done, (find, writes) in enumerate(steps):
            report(done, len(steps))
            with self._database.write(durable=False) if writes else self._database.read() as connection:
                problems += find(connection)
        report(len(steps), len(steps))
        return tuple(problems)

    def purged_memories(self) -> frozenset[str]:
        """Return the ids of all memories that were purged (see `rewrite_texts`); an import or restore must not bring them back."""
        if self._purge_log is None:
            return self._purged
        return frozenset(name for purge in read_purges(self._purge_log) for name in purge.gone.memories)

    def _note_purge(self, gone: Removal) -> None:
        if self._purge_log is None:
            self._purged |= frozenset(gone.memories)
        else:
            note_purge(self._purge_log, gone, at_ms=self._clock.now_ms())

    def backup(
        self,
        target: Path,
        *,
        interrupted: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Write a consistent, checked copy of the store to `target` while others read and write; return True. A step is a page of the file."""
        with self._database.read() as connection:
            return health.write_backup(
                connection,
                target,
                interrupted=interrupted or health.never_interrupted,
                progress=progress or health.no_progress,
            )

    def tidy(self) -> None:
        """Optimize the search indexes after many writes: searches give the same results faster.

        A step is a transaction of some milliseconds, so that no writer waits long.
        """
        for index in writing.TEXT_INDEXES:
            with self._database.read() as connection:
                if writing.count_segments(connection, index) < writing.WORTH_MERGING:
                    continue
            begin = more = True
            while more:
                with self._database.write(durable=False) as connection:
                    more = writing.merge_segments(connection, index, begin=begin)
                begin = False

    def close(self) -> None:
        """Release files and locks. Later calls raise StoreError. Closing twice is allowed."""
        self._search.close()
        self._database.close()
