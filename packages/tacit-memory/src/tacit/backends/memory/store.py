"""The Store port in memory: plain Python, easy to check by reading.

In: changes, session records, traces, handovers. Out: the same. Never writes a file except a backup that a person asks for; forgets
everything when it is closed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from tacit.backends.changes import (
    NotedChanges,
    check_expected,
    check_outcome,
    check_vectors,
    new_change_id,
    plan_changes,
    resolution_error,
    searched_name,
)
from tacit.backends.listing import in_order, passes
from tacit.backends.memory.search import InMemorySearch
from tacit.backends.memory.tables import MemoryTables, fits, rewritten, shown
from tacit.backends.text import clean_text, clean_value
from tacit.backends.word_matching import parse_query_words, stems_of, word_score
from tacit.config.home import Home
from tacit.errors import NotFound, StoreError
from tacit.model.changes import Change, Removal
from tacit.model.evidence import Hit
from tacit.model.ids import ids_called
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
    Salvage,
    StoredExposure,
    StoreStats,
    TraceFilter,
    ValueChanges,
    ValueName,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _closed() -> StoreError:
    return StoreError("The store is closed.", hint="Open it again.")


def _locked(
    method: Callable[Concatenate[InMemoryStore, _P], _R],
) -> Callable[Concatenate[InMemoryStore, _P], _R]:
    """Run a method alone, and only while the store is open."""

    @wraps(method)
    def run(store: InMemoryStore, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with store.lock:
            if store.closed:
                raise _closed()
            return method(store, *args, **kwargs)

    return run


class InMemoryStore:
    """The Store port in memory. Safe to share between threads."""

    def __init__(self, *, clock: Clock) -> None:
        self.lock = threading.RLock()
        self.closed = False
        self._clock = clock
        self._tables = MemoryTables()
        self._purged: frozenset[str] = frozenset()
        self._change = 0
        self._noted = NotedChanges()
        self._search = InMemorySearch(self)

    # --- what the search reads

    @_locked
    def active(self, scope: ScopeFilter) -> list[Memory]:
        """Active memories in scope."""
        visible = set(clean_value(scope.scopes))
        return [m for m in self._tables.memories.values() if m.status == "active" and m.scope in visible]

    @_locked
    def vectors(self) -> Mapping[str, tuple[EmbedderIdentity, Vectors]]:
        """Stored vectors by memory id."""
        return dict(self._tables.vectors)

    def now_ms(self) -> int:
        """The clock's time."""
        return self._clock.now_ms()

    @property
    def search(self) -> Search:
        """Rankings over the stored memories."""
        return self._search

    @contextmanager
    def at_once(self) -> Generator[None]:
        """See the port. Other threads wait."""
        with self.lock:
            yield

    # --- memories

    @_locked
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
        """See the port. The time of the transaction is the clock's."""
        tables = self._tables.copied()
        check_expected(expected or {}, tables.newest_change)
        change_id = self._apply(tables, changes, vectors, identity)
        tables.relate(relations)
        tables.put_values(values or {})
        self._tables = tables
        if change_id:
            self._noted.note(change_id)

    def noting_changes(self) -> AbstractContextManager[list[str]]:
        """See the port."""
        return self._noted.noting()

    def _apply(
        self,
        tables: MemoryTables,
        changes: Sequence[Change],
        vectors: Vectors | None,
        identity: EmbedderIdentity | None,
    ) -> str:
        """The id of the change; "" where nothing was written."""
        now_ms, change_id = self._clock.now_ms(), new_change_id(self._clock)
        plan = plan_changes(
            changes, find=tables.memories.get, vectors=vectors, identity=identity, now_ms=now_ms
        )
        for put in plan.puts:
            memory = put.memory
            tables.memories[memory.id] = memory
            tables.versions[memory.id] = (*tables.versions.get(memory.id, ()), (now_ms, memory))
            tables.reasons[memory.id] = (*tables.reasons.get(memory.id, ()), put.reason)
            tables.change_ids[memory.id] = (*tables.change_ids.get(memory.id, ()), change_id)
            if put.vector == "given" and vectors is not None and identity is not None:
                tables.vectors[memory.id] = (identity, np.array(vectors[put.vector_row], dtype=np.float32))
            elif put.vector == "dropped":
                tables.vectors.pop(memory.id, None)
        self._change += bool(plan.puts)
        for relation in plan.relations:
            tables.relations[(relation.source_id, relation.target_id, relation.type)] = relation
        return change_id if plan.puts else ""

    @_locked
    def get(self, ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """See the port. Any status."""
        visible = set(clean_value(scope.scopes))
        stored = (self._tables.memories.get(clean_text(name)) for name in ids)
        return tuple(memory for memory in stored if memory is not None and memory.scope in visible)

    @_locked
    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int = 0
    ) -> tuple[Memory, ...]:
        """See the port."""
        visible = set(clean_value(scope.scopes))
        memories = self._tables.known(where.as_of_ms)
        matches = [memory for memory in memories if memory.scope in visible and self._passes(memory, where)]
        start = max(offset, 0)
        return tuple(in_order(matches, where)[start : start + max(limit, 0)])

    def _passes(self, memory: Memory, where: MemoryFilter) -> bool:
        current = self._tables.memories.get(memory.id)
        levels = where.sensitivities
        return passes(memory, where) and (levels is None or current is None or current.sensitivity in levels)

    @_locked
    def find_memories(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
    ) -> tuple[Hit, ...]:
        """See the port."""
        where = replace(where, text=None, after=None)
        visible = set(clean_value(scope.scopes))
        memories = [
            memory
            for memory in self._tables.known(where.as_of_ms)
            if memory.scope in visible and self._passes(memory, where)
        ]
        stem_sets = [stems_of(memory.content) for memory in memories]

        def frequency(word: str, begins: bool) -> int:
            return sum(
                any(stem == word or (begins and stem.startswith(word)) for stem in words)
                for words in stem_sets
            )

        query = parse_query_words(
            clean_text(text),
            documents=len(memories),
            frequency=frequency,
            vocabulary=lambda: frozenset[str]().union(*stem_sets),
        )
        scored = sorted(((word_score(memory.content, query), memory.id) for memory in memories), reverse=True)
        return tuple(Hit(memory_id=name, score=score) for score, name in scored[: max(limit, 0)] if score > 0)

    def count_memories(self, where: MemoryFilter, *, scope: ScopeFilter) -> int:
        """See the port."""
        return len(self.list_memories(where, scope=scope, limit=len(self._tables.versions)))

    @_locked
    def count_active(self, *, scope: ScopeFilter) -> int:
        """See the port."""
        visible = set(clean_value(scope.scopes))
        return sum(m.status == "active" and m.scope in visible for m in self._tables.memories.values())

    @_locked
    def kinds(self, *, scope: ScopeFilter) -> tuple[str, ...]:
        """See the port."""
        visible = set(clean_value(scope.scopes))
        stored = self._tables.memories.values()
        return tuple(sorted({m.kind for m in stored if m.status == "active" and m.scope in visible}))

    @_locked
    def resolve(
        self,
        id_or_prefix: str,
        *,
        scope: ScopeFilter,
        sensitivities: tuple[Sensitivity, ...] | None = None,
    ) -> Memory:
        """See the port."""
        clean_id = searched_name(id_or_prefix)
        visible = set(clean_value(scope.scopes))
        any_status = MemoryFilter(statuses=None, sensitivities=sensitivities)
        visible_memories = {
            name: memory
            for name, memory in sorted(self._tables.memories.items())
            if memory.scope in visible and any_status.fits(memory)
        }
        matches = ids_called(clean_id, visible_memories)
        if clean_id in matches:
            return visible_memories[clean_id]
        if len(matches) == 1:
            return visible_memories[matches[0]]
        raise resolution_error(id_or_prefix, matches)

    @_locked
    def history(self, memory_id: str, *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """See the port. A version written under a scope outside the filter is left out."""
        visible = set(clean_value(scope.scopes))
        versions = self._tables.versions.get(clean_text(memory_id), ())
        return tuple(memory for _, memory in versions if memory.scope in visible)

    @_locked
    def recorded(
        self, *, scope: ScopeFilter, limit: int, memory_id: str | None = None, change_id: str | None = None
    ) -> tuple[Recorded, ...]:
        """See the port."""
        visible = set(clean_value(scope.scopes))
        versions = [
            version
            for version in self._tables.recorded()
            if version.memory.scope in visible
            and (memory_id is None or version.memory.id == clean_text(memory_id))
            and (change_id is None or version.change_id == clean_text(change_id))
        ]
        return tuple(versions[: max(limit, 0)])

    @_locked
    def relate(self, relations: Iterable[Relation]) -> None:
        """See the port.

        Raises:
            NotFound: a relation names a memory that does not exist; nothing is changed.
        """
        tables = self._tables.copied()
        tables.relate(relations)
        self._tables = tables

    @_locked
    def unrelate(self, relations: Iterable[Relation]) -> None:
        """See the port."""
        tables = self._tables.copied()
        for relation in relations:
            tables.relations.pop(
                (clean_text(relation.source_id), clean_text(relation.target_id), relation.type), None
            )
        self._tables = tables

    @_locked
    def relations(self, memory_ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """See the port. Ordered by source, target, type."""
        ids = {clean_text(name) for name in memory_ids}
        return tuple(
            relation
            for relation in self._tables.edges(scope)
            if {relation.source_id, relation.target_id} & ids
        )

    @_locked
    def relations_of(self, kind: RelationType, *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """See the port. Ordered by source, target."""
        return tuple(relation for relation in self._tables.edges(scope) if relation.type == kind)

    @_locked
    def scopes(self) -> ScopeFilter:
        """See the port. Scopes of stored memories, whatever their status."""
        return ScopeFilter.of(*(memory.scope for memory in self._tables.memories.values()))

    @_locked
    def pending_vectors(self, identity: EmbedderIdentity, *, limit: int) -> tuple[Memory, ...]:
        """See the port. Active and quarantined memories, in the order they were stored."""
        return tuple(self._tables.without_vector(identity)[: max(limit, 0)])

    @_locked
    def count_pending(self, identity: EmbedderIdentity) -> int:
        """See the port."""
        return len(self._tables.without_vector(identity))

    @_locked
    def get_vectors(
        self, ids: Sequence[str], *, scope: ScopeFilter, identity: EmbedderIdentity
    ) -> Mapping[str, Vectors]:
        """See the port."""
        stored = self._tables.vectors
        visible = {memory.id for memory in self.get(ids, scope=scope)}
        return {name: stored[name][1] for name in visible if name in stored and stored[name][0] == identity}

    @_locked
    def put_vectors(self, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity) -> None:
        """See the port.

        Raises:
            NotFound: an id names no memory; nothing is changed.
        """
        check_vectors(vectors, identity, len(ids))
        tables = self._tables.copied()
        tables.put_vectors(ids, vectors, identity)
        self._tables = tables
        self._change += bool(ids)

    @_locked
    def count_usage(self, *, shown: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        """See the port. Unknown ids are passed over; a use is no change and makes no history."""
        self._tables.count_usage(shown, used)

    @_locked
    def restore(self, versions: Sequence[Recorded], *, uses: Mapping[str, int]) -> None:
        """See the port."""
        tables = self._tables.copied()
        tables.restore(versions, uses)
        self._tables, self._change = tables, self._change + bool(versions)

    # --- sessions and traces

    @_locked
    def load_session(self, key: SessionKey) -> SessionState | None:
        """See the port."""
        return self._tables.sessions.get(clean_value(key))

    @_locked
    def save_session(self, state: SessionState, *, traces: Sequence[Trace] = ()) -> None:
        """See the port."""
        tables = self._tables.copied()
        state = clean_value(state)
        tables.sessions[state.key] = state
        for exposure in state.ledger:
            tables.exposures[(state.key, exposure)] = None
        tables.traces.update({trace.id: trace for trace in clean_value(tuple(traces))})
        self._tables = tables

    @_locked
    def delete_session(self, key: SessionKey) -> None:
        """See the port."""
        self._tables.sessions.pop(clean_value(key), None)

    @_locked
    def list_sessions(self, *, limit: int) -> tuple[SessionState, ...]:
        """See the port."""
        sessions = sorted(
            self._tables.sessions.values(), key=lambda s: (-s.last_signal_at_ms, s.key.host, s.key.session_id)
        )
        return tuple(sessions[: max(limit, 0)])

    @_locked
    def list_traces(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 20
    ) -> tuple[Trace, ...]:
        """See the port."""
        session_name = None if session is None else clean_text(session)
        traces = [
            trace
            for trace in self._tables.newest_traces()
            if session_name in (None, trace.session) and surface in (None, trace.surface)
        ]
        return tuple(traces[: max(limit, 0)])

    @_locked
    def find_traces(self, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
        """See the port."""
        traces = [trace for trace in self._tables.newest_traces() if fits(trace, where)]
        return tuple(traces[: max(limit, 0)])

    @_locked
    def exposures(
        self, *, session: SessionKey | None = None, memory_id: str | None = None, limit: int, offset: int = 0
    ) -> tuple[StoredExposure, ...]:
        """See the port."""
        stored = shown(self._tables.exposures, session=clean_value(session), memory_id=memory_id)
        return tuple(stored[max(offset, 0) :][: max(limit, 0)])

    @_locked
    def save_trace(self, trace: Trace) -> None:
        """See the port."""
        self._tables.traces[clean_value(trace).id] = clean_value(trace)

    @_locked
    def get_trace(self, trace_id: str) -> Trace:
        """See the port."""
        trace = self._tables.traces.get(clean_text(trace_id))
        if trace is None:
            raise NotFound(f"No trace {trace_id!r}.", hint="`tacit why` lists the newest.")
        return trace

    @_locked
    def prune_traces(self, *, before_ms: int, keep: int) -> int:
        """See the port."""
        remaining = [
            trace for trace in self._tables.newest_traces()[: max(keep, 0)] if trace.at_ms >= before_ms
        ]
        gone = len(self._tables.traces) - len(remaining)
        self._tables.traces = {trace.id: trace for trace in remaining}
        return gone

    # --- handovers, projects, values

    @_locked
    def hand_over(self, handover: Handover) -> bool:
        """See the port."""
        handover = clean_value(handover)
        if handover.key in self._tables.handovers or handover.key in self._tables.done:
            return False
        self._tables.handovers[handover.key] = handover
        return True

    @_locked
    def pending_handovers(self, *, limit: int) -> tuple[Handover, ...]:
        """See the port."""
        handovers = sorted(
            self._tables.handovers.values(), key=lambda handover: (handover.at_ms, handover.key)
        )
        return tuple(handovers[: max(limit, 0)])

    @_locked
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
        key = clean_text(key)
        check_outcome(changes, error)
        if key in self._tables.done:
            return
        handover = self._tables.handovers.get(key)
        if handover is None:
            raise NotFound(f"No handover {key!r}.")
        tables = self._tables.copied()
        if error:
            tables.handovers[key] = replace(handover, attempts=handover.attempts + 1, error=clean_text(error))
        else:
            self._apply(tables, changes, vectors, identity)
            tables.relate(relations)
            del tables.handovers[key]
            tables.done |= {key}
        tables.put_values(values or {})
        self._tables = tables

    @_locked
    def put_project(self, project: ProjectRecord) -> None:
        """See the port."""
        project = clean_value(project)
        self._tables.projects[project.id] = project

    @_locked
    def projects(self) -> tuple[ProjectRecord, ...]:
        """See the port."""
        return tuple(project for _, project in sorted(self._tables.projects.items()))

    @_locked
    def get_value(self, name: ValueName) -> str | None:
        """See the port."""
        return self._tables.values.get(clean_text(name))

    @_locked
    def put_value(self, name: ValueName, value: str | None) -> None:
        """See the port."""
        self._tables.put_values({name: value})

    @_locked
    def value_names(self, prefix: str) -> tuple[str, ...]:
        """See the port."""
        return tuple(sorted(name for name in self._tables.values if name.startswith(prefix)))

    # --- the whole

    @_locked
    def change(self) -> int:
        """See the port."""
        return self._change

    @_locked
    def changed(self, since: int, *, scope: ScopeFilter, limit: int) -> tuple[str, ...] | None:  # noqa: ARG002
        """See the port. Does not remember what changed."""
        return () if since == self._change else None

    @_locked
    def stats(self) -> StoreStats:
        """See the port."""
        tables = self._tables
        live = {m.id for m in tables.memories.values() if m.status in {"active", "quarantined"}}
        return StoreStats(
            memories_active=sum(m.status == "active" for m in tables.memories.values()),
            memories_total=len(tables.memories),
            projects=len(tables.projects),
            sessions=len(tables.sessions),
            exposures=len(tables.exposures),
            traces=len(tables.traces),
            handovers_pending=len(tables.handovers),
            vectors=len(tables.vectors),
            vectors_missing=len(live - set(tables.vectors)),
            size_bytes=0,
            schema_version=0,
        )

    @_locked
    def rewrite_texts(
        self,
        clean: Callable[[str, str], str],
        *,
        dry_run: bool,
        copy: Path | None = None,
        gone: Removal | None = None,
    ) -> Mapping[str, int]:
        """See the port. Its backups hold no texts."""
        tables = self._tables.copied()
        counts = {} if copy is not None else rewritten(tables, clean, gone)
        if gone is not None and copy is None and not dry_run:
            self._purged |= frozenset(gone.memories)
        if counts and not dry_run:
            self._tables = tables
            self._change += 1
        return counts

    @_locked
    def check(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """See the port. Without steps."""
        return ()

    @_locked
    def tidy(self) -> None:
        """See the port. Nothing to do."""

    def purged_memories(self) -> frozenset[str]:
        """See the port."""
        return self._purged

    def backup(
        self,
        target: Path,
        *,
        interrupted: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Write every memory as text to `target`, for a person to read. It cannot be restored."""
        if interrupted is not None and interrupted():
            return False
        lines = "".join(f"{memory!r}\n" for _, memory in sorted(self._tables.memories.items()))
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            partial.write_text(lines, encoding="utf-8")
            os.link(partial, target)
        except OSError as error:
            raise StoreError(
                f"The backup {target} cannot be written: {error.strerror or error}.",
                hint="Choose a file that does not exist, in a folder that can be written.",
            ) from error
        finally:
            with suppress(OSError):
                partial.unlink()
        if progress is not None:
            progress(len(self._tables.memories), len(self._tables.memories))
        return True

    def close(self) -> None:
        """See the port. Closing twice is allowed."""
        with self.lock:
            self.closed = True
            self._tables = MemoryTables()


# --- opening a home


class InMemoryBackend:
    """Opens an empty store for a home without a database. It has no files to repair or replace.

    A simple store of another package can inherit from it what it needs no code of its own for.
    """

    keeps_files = False

    def open(self, home: Home, *, clock: Clock) -> InMemoryStore:
        """See the port.

        Raises:
            StoreError: if the home has a database: what is learned would be lost, and a purge would not reach its backups.
        """
        if home.database.exists():
            raise StoreError(
                f"{home.root} has a database; the store `memory` does not read it and would forget what it learns.",
                hint="Set TACIT_HOME to an empty folder for a trial, or `store.provider` to `sqlite` and stop the daemon.",
            )
        return InMemoryStore(clock=clock)

    def needs_migration(self, home: Home) -> bool:  # noqa: ARG002
        """See the port."""
        return False

    def back_up(self, home: Home, target: Path) -> bool:  # noqa: ARG002
        """See the port. Nothing is stored before it is opened."""
        return False

    def file_id(self, home: Home) -> int:  # noqa: ARG002
        """See the port."""
        return -1

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:  # noqa: ARG002
        """See the port. There are no files to be damaged."""
        return None

    def suspects_damage(self, home: Home) -> bool:  # noqa: ARG002
        """See the port."""
        return False

    def examine(self, source: Path) -> int | None:
        """See the port.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            f"{source} cannot become the store: the setting `store.provider` names one that has no files.",
            hint="`tacit config set store.provider sqlite` names one that has.",
        )

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:  # noqa: ARG002
        """See the port.

        Raises:
            StoreError: always.
        """
        self.examine(source)
        return None
