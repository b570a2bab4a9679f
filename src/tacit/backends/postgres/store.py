"""The Store port over PostgreSQL, for one tenant. In: calls of the port. Out: one transaction each.

Memories and handovers survive a crash of the server; session records and traces of its last moments may be lost. Whatever can be computed before a
transaction is computed before it, so that other writers of the tenant wait as briefly as possible. The module is longer than others because it implements
the whole port, most methods in a few lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from tacit.backends.changes import NotedChanges, check_outcome, new_change_id
from tacit.backends.codec import encode
from tacit.backends.postgres import (
    export,
    feed,
    health,
    journal,
    memories,
    rewriting,
    scopes,
    sessions,
    writing,
)
from tacit.backends.postgres.connection import (
    WAIT_S,
    Connections,
    Database,
    observe_nothing,
)
from tacit.backends.postgres.feed import Cursor, FeedEntry
from tacit.backends.postgres.search import word_search
from tacit.backends.postgres.search.rankings import PostgresSearch
from tacit.backends.postgres.transaction import Observe, Transaction
from tacit.backends.text import clean_text
from tacit.errors import StoreError
from tacit.model.changes import Change, Removal, Skip
from tacit.model.evidence import Hit
from tacit.model.memory import Memory, Relation, RelationType, Sensitivity
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.ports.store import (
    Handover,
    MemoryFilter,
    ProjectRecord,
    Recorded,
    StoredExposure,
    StoreStats,
    TraceFilter,
    ValueChanges,
    ValueName,
)


def _nothing(_transaction: Transaction) -> None:
    """Do nothing in the transaction."""


def open_postgres_store(
    dsn: str,
    tenant: str,
    *,
    clock: Clock,
    min_size: int = 1,
    max_size: int = 8,
    wait_s: float = WAIT_S,
    prepare_threshold: int | None = None,
    observe: Observe = observe_nothing,
) -> PostgresStore:
    """Open the store of `tenant` with connections of its own, which it closes; see `Connections`.

    Raises:
        StoreNewer: a newer Tacit wrote the schema.
        StoreError: the database cannot be reached, is not set up, or row-level security does not bind the role.
    """
    connections = Connections(
        dsn,
        min_size=min_size,
        max_size=max_size,
        wait_s=wait_s,
        prepare_threshold=prepare_threshold,
        observe=observe,
    )
    try:
        return PostgresStore(connections, tenant, clock=clock, closes_connections=True)
    except StoreError:
        connections.close()
        raise


class PostgresStore:
    """The Store port. Safe to share between threads; any number of processes may serve the same tenant."""

    def __init__(
        self,
        connections: Connections,
        tenant: str,
        *,
        clock: Clock,
        closes_connections: bool = False,
        principal: str = "",
    ) -> None:
        """Open the store of `tenant` for `principal`; see `Database`."""
        self._clock = clock
        self._connections = connections
        self._closes_connections = closes_connections
        self.database = Database(connections, clean_text(tenant), principal=principal)
        self._noted = NotedChanges()
        self._search = PostgresSearch(self.database, clock=clock)

    @property
    def search(self) -> Search:
        """Rankings over the stored memories."""
        return self._search

    def at_once(self) -> AbstractContextManager[None]:
        """See the port."""
        return self.database.at_once()

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
        beside: Callable[[Transaction], None] = _nothing,
    ) -> None:
        """See the port. The time of the changes is that of the clock. `beside` runs first in the same transaction; if it raises, nothing is written."""
        related = tuple(relations)
        if not (values or related) and all(isinstance(change, Skip) for change in changes):
            return
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)

        def work(transaction: Transaction) -> bool:
            beside(transaction)
            written = writing.apply_changes(
                transaction,
                changes,
                vectors=vectors,
                identity=identity,
                now_ms=now_ms,
                change_id=change_id,
                expected=expected,
            )
            writing.relate(transaction, related)
            journal.put_values(transaction, values or {})
            return written

        if self.database.writing(work, durable=True, alone=True):
            self._noted.note(change_id)

    def noting_changes(self) -> AbstractContextManager[list[str]]:
        """See the port."""
        return self._noted.noting()

    def get(self, ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """See the port. Any status."""
        return self.database.reading(lambda transaction: memories.get(transaction, ids, scope))

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int = 0
    ) -> tuple[Memory, ...]:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.list_memories(
                transaction, where, scope=scope, limit=limit, offset=offset
            ),
        )

    def find_memories(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
    ) -> tuple[Hit, ...]:
        """See the port."""
        words, memory_filter = clean_text(text), replace(where, text=None, after=None)
        return self.database.reading(
            lambda transaction: word_search.find_memories(
                transaction, words, memory_filter, scope=scope, limit=limit
            ),
        )

    def count_memories(self, where: MemoryFilter, *, scope: ScopeFilter) -> int:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.count_memories(transaction, where, scope=scope)
        )

    def count_active(self, *, scope: ScopeFilter) -> int:
        """See the port."""
        return self.database.reading(
            lambda transaction: sum(stored.active for stored in transaction.scopes(scope))
        )

    def kinds(self, *, scope: ScopeFilter) -> tuple[str, ...]:
        """See the port."""
        return self.database.reading(lambda transaction: memories.kinds(transaction, scope))

    def resolve(
        self,
        id_or_prefix: str,
        *,
        scope: ScopeFilter,
        sensitivities: tuple[Sensitivity, ...] | None = None,
    ) -> Memory:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.resolve(transaction, id_or_prefix, scope, sensitivities)
        )

    def history(self, memory_id: str, *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """See the port. A version written under a scope outside the filter is left out."""
        return self.database.reading(lambda transaction: memories.history(transaction, memory_id, scope))

    def recorded(
        self, *, scope: ScopeFilter, limit: int, memory_id: str | None = None, change_id: str | None = None
    ) -> tuple[Recorded, ...]:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.recorded(
                transaction, scope, limit=limit, memory_id=memory_id, change_id=change_id
            )
        )

    def relate(self, relations: Iterable[Relation]) -> None:
        """See the port.

        Raises:
            NotFound: a relation names a memory that does not exist; nothing is changed.
        """
        related = tuple(relations)
        self.database.writing(
            lambda transaction: writing.relate(transaction, related), durable=True, alone=True
        )

    def unrelate(self, relations: Iterable[Relation]) -> None:
        """See the port."""
        unrelated = tuple(relations)
        self.database.writing(
            lambda transaction: writing.unrelate(transaction, unrelated), durable=False, alone=True
        )

    def relations(self, memory_ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """See the port. Ordered by source, target, type."""
        return self.database.reading(lambda transaction: memories.relations(transaction, memory_ids, scope))

    def relations_of(self, kind: RelationType, *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """See the port. Ordered by source, target."""
        return self.database.reading(lambda transaction: memories.relations_of(transaction, kind, scope))

    def scopes(self) -> ScopeFilter:
        """See the port. Scopes of stored memories, whatever their status."""
        return self.database.reading(scopes.every_scope)

    def pending_vectors(self, identity: EmbedderIdentity, *, limit: int) -> tuple[Memory, ...]:
        """See the port. Active and quarantined memories, in the order they were stored."""
        return self.database.reading(
            lambda transaction: memories.pending_vectors(transaction, identity, limit)
        )

    def count_pending(self, identity: EmbedderIdentity) -> int:
        """See the port."""
        return self.database.reading(lambda transaction: memories.count_pending(transaction, identity))

    def get_vectors(
        self, ids: Sequence[str], *, scope: ScopeFilter, identity: EmbedderIdentity
    ) -> Mapping[str, Vectors]:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.get_vectors(transaction, ids, scope, identity)
        )

    def put_vectors(self, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity) -> None:
        """See the port.

        Raises:
            NotFound: an id names no memory; nothing is changed.
        """
        self.database.writing(
            lambda transaction: writing.put_vectors(transaction, ids, vectors, identity=identity),
            durable=False,
            alone=True,
        )

    def restore(self, versions: Sequence[Recorded], *, uses: Mapping[str, int]) -> None:
        """See the port.

        Raises:
            InvalidInput: a version is older than what is stored of its memory; nothing is changed.
        """
        if versions or uses:
            self.database.writing(
                lambda transaction: writing.restore(transaction, versions, uses), durable=True, alone=True
            )

    def count_usage(self, *, shown: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        """See the port. Unknown ids are passed over; a use is no change and makes no history."""
        if shown or used:
            self.database.writing(
                lambda transaction: writing.count_usage(transaction, shown, used), durable=False, alone=True
            )

    # --- sessions and traces

    def load_session(self, key: SessionKey) -> SessionState | None:
        """See the port."""
        return self.database.reading(lambda transaction: sessions.load_session(transaction, key))

    def save_session(self, state: SessionState, *, traces: Sequence[Trace] = ()) -> None:
        """See the port."""
        body = encode(state)
        traced = [sessions.trace_values(trace) for trace in traces]

        def work(transaction: Transaction) -> None:
            sessions.save_session(transaction, state, body)
            sessions.put_traces(transaction, traced)

        self.database.writing(work, durable=False, alone=False)

    def delete_session(self, key: SessionKey) -> None:
        """See the port."""
        self.database.writing(
            lambda transaction: sessions.delete_session(transaction, key), durable=False, alone=False
        )

    def list_sessions(self, *, limit: int) -> tuple[SessionState, ...]:
        """See the port."""
        return self.database.reading(lambda transaction: sessions.list_sessions(transaction, limit))

    def list_traces(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 20
    ) -> tuple[Trace, ...]:
        """See the port."""
        return self.database.reading(
            lambda transaction: sessions.list_traces(
                transaction, session=session, surface=surface, limit=limit
            ),
        )

    def find_traces(self, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
        """See the port."""
        return self.database.reading(
            lambda transaction: sessions.find_traces(transaction, where, limit=limit)
        )

    def exposures(
        self, *, session: SessionKey | None = None, memory_id: str | None = None, limit: int, offset: int = 0
    ) -> tuple[StoredExposure, ...]:
        """See the port."""
        return self.database.reading(
            lambda transaction: sessions.exposures(
                transaction, session=session, memory_id=memory_id, limit=limit, offset=offset
            )
        )

    def save_trace(self, trace: Trace) -> None:
        """See the port."""
        values = sessions.trace_values(trace)
        self.database.writing(
            lambda transaction: sessions.put_traces(transaction, [values]), durable=False, alone=False
        )

    def get_trace(self, trace_id: str) -> Trace:
        """See the port."""
        return self.database.reading(lambda transaction: sessions.get_trace(transaction, trace_id))

    def prune_traces(self, *, before_ms: int, keep: int) -> int:
        """See the port."""
        return self.database.writing(
            lambda transaction: sessions.prune_traces(transaction, before_ms=before_ms, keep=keep),
            durable=False,
            alone=False,
        )

    # --- handovers, projects, values

    def hand_over(self, handover: Handover) -> bool:
        """See the port."""
        return self.database.writing(
            lambda transaction: journal.hand_over(transaction, handover), durable=True, alone=False
        )

    def pending_handovers(self, *, limit: int) -> tuple[Handover, ...]:
        """See the port."""
        return self.database.reading(lambda transaction: journal.pending_handovers(transaction, limit))

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
        """See the port. A handover that is done already changes nothing.

        Raises:
            NotFound: if the key is unknown.
            InvalidInput: if both `error` and `changes` are given.
        """
        key, related = clean_text(key), tuple(relations)
        check_outcome(changes, error)
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)

        def work(transaction: Transaction) -> None:
            if journal.is_done(transaction, key):
                return
            if error:
                journal.mark_failed(transaction, key, error)
            else:
                writing.apply_changes(
                    transaction,
                    changes,
                    vectors=vectors,
                    identity=identity,
                    now_ms=now_ms,
                    change_id=change_id,
                )
                writing.relate(transaction, related)
                journal.mark_done(transaction, key, now_ms)
            journal.put_values(transaction, values or {})

        self.database.writing(work, durable=True, alone=True)

    def put_project(self, project: ProjectRecord) -> None:
        """See the port."""
        self.database.writing(
            lambda transaction: journal.put_project(transaction, project), durable=False, alone=False
        )

    def projects(self) -> tuple[ProjectRecord, ...]:
        """See the port."""
        return self.database.reading(journal.projects)

    def get_value(self, name: ValueName) -> str | None:
        """See the port."""
        return self.database.reading(lambda transaction: journal.get_value(transaction, name))

    def put_value(self, name: ValueName, value: str | None) -> None:
        """See the port."""
        self.database.writing(
            lambda transaction: journal.put_values(transaction, {name: value}), durable=False, alone=False
        )

    def value_names(self, prefix: str) -> tuple[str, ...]:
        """See the port."""
        return self.database.reading(lambda transaction: journal.value_names(transaction, prefix))

    # --- the whole

    def stats(self) -> StoreStats:
        """See the port. Also counts the tenant's rows, which takes longer the more there are."""
        return self.database.reading(health.read_stats)

    def change(self) -> int:
        """See the port."""
        return self.database.reading(lambda transaction: transaction.change)

    def changed(self, since: int, *, scope: ScopeFilter, limit: int) -> tuple[str, ...] | None:
        """See the port."""
        return self.database.reading(
            lambda transaction: memories.changed(transaction, since, scope, limit=limit)
        )

    def changes_after(self, cursor: Cursor, *, limit: int) -> tuple[FeedEntry, ...]:
        """Return what any process wrote after `cursor`, in order, at most `limit` entries; see `feed.changes_after`."""
        return self.database.reading(lambda transaction: feed.changes_after(transaction, cursor, limit=limit))

    def rewrite_texts(
        self,
        clean: Callable[[str, str], str],
        *,
        dry_run: bool,
        copy: Path | None = None,
        gone: Removal | None = None,
        beside: Callable[[Transaction], None] = _nothing,
    ) -> Mapping[str, int]:
        """See the port. The changes are computed before other writers have to wait. `beside` runs first in the transaction that writes.

        Raises:
            StoreError: for a copy; an export is cleaned by restoring it, cleaning the tenant, and exporting it again.
        """
        if copy is not None:
            raise StoreError(
                f"{copy} was not cleaned: an export cannot be cleaned where it lies.",
                hint="Delete it, and take a new backup.",
            )
        cleaning = rewriting.Cleaning(clean, gone)
        now_ms = self._clock.now_ms()
        counts = self.database.reading(
            lambda transaction: rewriting.rewrite_texts(transaction, cleaning, dry_run=True, now_ms=now_ms)
        )
        if dry_run or not (counts or gone):
            return counts

        def work(transaction: Transaction) -> Mapping[str, int]:
            beside(transaction)
            return rewriting.rewrite_texts(transaction, cleaning, dry_run=False, now_ms=now_ms)

        return self.database.writing(work, durable=True, alone=True)

    def check(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
        """See the port. Reads every row of the tenant; no writer waits."""
        problems: list[str] = []
        steps = health.examinations()
        for done, step in enumerate(steps):
            if progress is not None:
                progress(done, len(steps))
            problems += self.database.reading(step)
        if progress is not None:
            progress(len(steps), len(steps))
        return tuple(problems)

    def purged_memories(self) -> frozenset[str]:
        """See the port."""
        return self.database.reading(rewriting.purged_memories)

    def backup(
        self,
        target: Path,
        *,
        interrupted: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """See the port. Writes an export of the tenant (see `export`) in one step; the server itself is backed up with PostgreSQL's own tools."""
        stop = interrupted or (lambda: False)
        written = self.database.reading(
            lambda transaction: export.write_export(transaction, target, interrupted=stop)
        )
        if written and progress is not None:
            progress(1, 1)
        return written

    def tidy(self) -> None:
        """See the port. The server does it by itself (autovacuum)."""

    def close(self) -> None:
        """See the port. Closing twice is allowed."""
        self.database.close()
        if self._closes_connections:
            self._connections.close()
