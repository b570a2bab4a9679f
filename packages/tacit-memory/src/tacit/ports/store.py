"""The store, one protocol per use: memories, search, sessions, traces, handovers, projects, named values. `Store` is all of them.

Every write is one transaction; a reader never sees half of one.

A kind of store: how the store of a home is opened, repaired and replaced. The setting `store.provider` names one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NewType, Protocol

from tacit.config.home import Home
from tacit.model.change_reason import ChangeReason
from tacit.model.changes import Change, Removal
from tacit.model.evidence import Hit
from tacit.model.memory import Memory, MemoryStatus, Relation, RelationType, Sensitivity, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter
from tacit.model.session import Exposure, SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search

ValueName = NewType("ValueName", str)
"""Name of a named value. Only a declaration in `tacit.state` makes one."""
ValueChanges = Mapping[ValueName, str | None]
"""Named values to store; None deletes."""
Step = Callable[[str], None]
"""Called by name at each point of work that stores, so that a test can end the process there. It decides nothing and is never skipped."""


def no_step(name: str) -> None:
    """Go on: the step of whoever is given none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """The memories to list. None = any. `as_of_ms` = as the store knew and the world was at that time.

    `sensitivities` holds for the present level, too: what is restricted now was not public before.
    """

    kinds: tuple[str, ...] | None = None
    statuses: tuple[MemoryStatus, ...] | None = ("active",)
    source: str | None = None
    text: str | None = None
    as_of_ms: int | None = None
    tiers: tuple[TrustTier, ...] | None = None
    sensitivities: tuple[Sensitivity, ...] | None = None
    pinned: bool | None = None
    branched: bool | None = None
    """Whether it is bound to an unmerged branch."""
    session: SessionKey | None = None
    """The session that it was stated in."""
    begins: str | None = None
    """How the statement begins, whatever the case of its letters; quick for what is quarantined."""
    after: tuple[int, str] | None = None
    """(created_at_ms, id) of a memory: only those that come after it, newest first."""
    order: Literal["created", "updated", "importance", "used"] = "created"
    """The greatest of it first; ties by the time of creation, newest first, then by id."""
    ascending: bool = False
    """The least of `order` first instead; ties as before."""

    def fits(self, memory: Memory) -> bool:
        """Whether `memory`, as it is now, is one of them; `as_of_ms` and `after` are not looked at."""
        return (
            (self.kinds is None or memory.kind in self.kinds)
            and (self.statuses is None or memory.status in self.statuses)
            and (self.source is None or memory.provenance.source == self.source)
            and (self.text is None or self.text.casefold() in memory.content.casefold())
            and (self.begins is None or memory.content.lower().startswith(self.begins.lower()))
            and (self.tiers is None or memory.provenance.tier in self.tiers)
            and (self.sensitivities is None or memory.sensitivity in self.sensitivities)
            and (self.pinned is None or memory.pinned == self.pinned)
            and (self.branched is None or (memory.branch is not None) == self.branched)
            and (self.session is None or memory.session == str(self.session))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """The traces to find. None = any.

    Attributes:
        sessions: `host/id` of each.
        surface: the surface asked for.
        injected: whether something was handed over.
        text: words of the text asked with, as they stand there, whatever their case.
        memory_id: a memory that was a candidate.
        since_ms, until_ms: half open, from <= t < to.
        after: (at_ms, id) of a trace; only those that come after it, newest first.
    """

    sessions: tuple[str, ...] | None = None
    surface: Surface | None = None
    injected: bool | None = None
    text: str | None = None
    memory_id: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    after: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExposure:
    """An exposure as it is stored, with its session."""

    session: SessionKey
    exposure: Exposure


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A version of a memory as it was written: why, when, and the version before it (None = it was added).

    `change_id` is shared by all versions of one transaction.
    """

    memory: Memory
    before: Memory | None
    at_ms: int
    reason: ChangeReason
    change_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """The report on a damaged store.

    Attributes:
        aside: where the damaged file was put.
        at_ms: when.
        recovered: memories that are in use again, `from_backup` of them from the newest backup.
        lost: ids of memories that are known to have been there and could be read nowhere; `LOST_NAMED` at most.
        lost_count: how many those are.
        damaged_pages: pages that could not be read; what else stood in them is not known.
    """

    aside: str
    at_ms: int = 0
    recovered: int = 0
    from_backup: int = 0
    lost: tuple[str, ...] = ()
    lost_count: int = 0
    damaged_pages: int = 0

    @property
    def incomplete(self) -> bool:
        """Whether statements may be missing from the store that is in use: then nobody can say that nothing was known."""
        return not (self.at_ms and self.recovered) or bool(self.lost_count or self.damaged_pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRecord:
    """A project the store has seen.

    Args:
        id: its name in scopes; never changes.
        root: where it was last worked in; "" = imported, nobody has worked in it here.
        remote: the repository that its git remote names, or "".
        links: projects whose memories it may read.
        key: what it is known by, `remote:...` or `path:...`; "" = imported.
        folders: repositories on this machine that share it: the main folder of each.
        apart: folders of which the user said that they do not share it.
    """

    id: str
    name: str
    root: str
    remote: str = ""
    first_seen_ms: int = 0
    links: tuple[str, ...] = ()
    key: str = ""
    folders: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A transcript handed on by a hook, kept until capture has stored what it found. `key` makes it idempotent."""

    key: str
    session: SessionKey
    payload: str
    at_ms: int
    attempts: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Counts for `status` and `doctor`."""

    memories_active: int
    memories_total: int
    projects: int
    sessions: int
    exposures: int
    traces: int
    handovers_pending: int
    vectors: int
    vectors_missing: int
    size_bytes: int
    schema_version: int


class MemoryStore(Protocol):
    """Memories and their relations."""

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
        """Carry out `changes` in one transaction, under a new change id; Skip changes nothing.

        `expected` names, by memory id, the change that must have written its newest version.

        `values` are named values (as `put_value`) set in the same transaction: a checkpoint moves with what it covers.
        So are `relations` (as `relate`), also between memories that come with `changes`.

        `vectors` has one row per change that brings words (Add, Supersede, Contradict, Edit), in order; a Merge keeps
        the stored words and their vector. Every change appends to the history.

        Raises:
            NotFound: a change names a memory that does not exist; nothing is changed.
            Conflict: a memory of `expected` was written by a later change; nothing is changed.
            StoreError: see its subclasses; nothing is changed.
        """
        ...

    def get(self, ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Memories of `ids` within `scope`, in the order of `ids`; unknown or invisible ones are left out."""
        ...

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int = 0
    ) -> tuple[Memory, ...]:
        """Memories newest first (created_at_ms, then id) unless `where` orders them otherwise, within `scope`."""
        ...

    def find_memories(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
    ) -> tuple[Hit, ...]:
        """The memories that fit `where` and hold a word of `text`, best first, ties by id, the newest first.

        Words are compared by their stems, as beginnings of longer words and, where nobody wrote them so, as misspelled.
        `where.text`, `where.after`, `where.order` and `where.ascending` are not looked at.
        """
        ...

    def count_memories(self, where: MemoryFilter, *, scope: ScopeFilter) -> int:
        """Count the memories that `list_memories` would give without a limit."""
        ...

    def count_active(self, *, scope: ScopeFilter) -> int:
        """Count the active memories that `scope` shows; cheap."""
        ...

    def kinds(self, *, scope: ScopeFilter) -> tuple[str, ...]:
        """Names of the kinds of the active memories that `scope` shows, sorted; cheap."""
        ...

    def resolve(
        self,
        id_or_prefix: str,
        *,
        scope: ScopeFilter,
        sensitivities: tuple[Sensitivity, ...] | None = None,
    ) -> Memory:
        """Find the memory whose id is or begins with `id_or_prefix`; where none begins so, the one that ends with it.

        An ending has four characters at least. Ids begin with their time and end with chance, so endings tell apart
        what was stored together. Memories of other `sensitivities` (None = any) are as if they were not there.

        Raises:
            NotFound: if none or several match; the message says which.
        """
        ...

    def history(self, memory_id: str, *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """All versions, oldest first."""
        ...

    def recorded(
        self, *, scope: ScopeFilter, limit: int, memory_id: str | None = None, change_id: str | None = None
    ) -> tuple[Recorded, ...]:
        """The last versions written, newest first, then the memory stored last: of all, of one memory, or of one change."""
        ...

    def noting_changes(self) -> AbstractContextManager[list[str]]:
        """Inside, the ids of the changes that this thread writes are appended to the list."""
        ...

    def relate(self, relations: Iterable[Relation]) -> None:
        """Add or re-weigh relations."""
        ...

    def unrelate(self, relations: Iterable[Relation]) -> None:
        """Take relations away, known by source, target and type; unknown ones are passed over."""
        ...

    def relations(self, memory_ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """Relations of which both ends are within `scope` and one end is in `memory_ids`."""
        ...

    def relations_of(self, kind: RelationType, *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """All relations of one type of which both ends are within `scope`."""
        ...

    def scopes(self) -> ScopeFilter:
        """Every scope in the store. For the owner's tools (list, backup), never for recall."""
        ...

    def pending_vectors(self, identity: EmbedderIdentity, *, limit: int) -> tuple[Memory, ...]:
        """Memories that have no vector of `identity`."""
        ...

    def count_pending(self, identity: EmbedderIdentity) -> int:
        """Count the memories that `pending_vectors` would name in all."""
        ...

    def get_vectors(
        self, ids: Sequence[str], *, scope: ScopeFilter, identity: EmbedderIdentity
    ) -> Mapping[str, Vectors]:
        """Stored vectors of `identity` by memory id, each of shape (dimensions,); an id without one is left out."""
        ...

    def put_vectors(self, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity) -> None:
        """Store vectors of `ids`, shape (len(ids), dimensions), replacing those of another identity."""
        ...

    def count_usage(self, *, shown: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        """Raise the count of sessions of each of `shown` by one, and the use count of each of `used`."""
        ...

    def restore(self, versions: Sequence[Recorded], *, uses: Mapping[str, int]) -> None:
        """Append `versions` as they were written elsewhere, with their times and reasons, in one transaction.

        Oldest first; `before` is not looked at. `uses` sets use counts by id. Vectors of new words are missing afterwards:
        `pending_vectors` names them.

        Raises:
            InvalidInput: a version is older than the newest one stored of its memory; nothing is changed.
        """
        ...


class SessionStore(Protocol):
    """Live session records, and what was handed over in each session."""

    def load_session(self, key: SessionKey) -> SessionState | None:
        """The stored record, or None."""
        ...

    def save_session(self, state: SessionState, *, traces: Sequence[Trace] = ()) -> None:
        """Replace the record, append its new exposures, and store the traces, in one transaction."""
        ...

    def delete_session(self, key: SessionKey) -> None:
        """Forget the live record; traces and exposures stay for statistics."""
        ...

    def list_sessions(self, *, limit: int) -> tuple[SessionState, ...]:
        """Newest signal first."""
        ...

    def exposures(
        self, *, session: SessionKey | None = None, memory_id: str | None = None, limit: int, offset: int = 0
    ) -> tuple[StoredExposure, ...]:
        """List what was injected, newest first; ties by session, memory and surface. Sessions that are gone are included."""
        ...


class TraceStore(Protocol):
    """Traces of recalls."""

    def list_traces(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 20
    ) -> tuple[Trace, ...]:
        """Newest first."""
        ...

    def find_traces(self, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
        """Newest first (at_ms, then id), those that `where` asks for."""
        ...

    def get_trace(self, trace_id: str) -> Trace:
        """Return the trace with this id.

        Raises:
            NotFound: if there is none of this id.
        """
        ...

    def save_trace(self, trace: Trace) -> None:
        """Keep the trace of a recall that belongs to no session (on demand)."""
        ...

    def prune_traces(self, *, before_ms: int, keep: int) -> int:
        """Delete traces older than `before_ms` and all but the newest `keep`; return how many went."""
        ...


class HandoverStore(Protocol):
    """Transcripts that wait for capture."""

    def hand_over(self, handover: Handover) -> bool:
        """Keep a handover durably; False when its key is known already (pending or done)."""
        ...

    def pending_handovers(self, *, limit: int) -> tuple[Handover, ...]:
        """Oldest first."""
        ...

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
        """Store what was captured and mark the handover done, in one transaction; with `error`, count an attempt.

        `values` are named values (as `put_value`) set in the same transaction; `relations` are as those of `apply`.
        """
        ...


class ProjectStore(Protocol):
    """Projects the store has seen."""

    def put_project(self, project: ProjectRecord) -> None:
        """Add or update a project."""
        ...

    def projects(self) -> tuple[ProjectRecord, ...]:
        """All projects, by id."""
        ...


class ValueStore(Protocol):
    """Named values, see `tacit.state`."""

    def get_value(self, name: ValueName) -> str | None:
        """A small named value (checkpoints, counters), or None."""
        ...

    def put_value(self, name: ValueName, value: str | None) -> None:
        """Set or, with None, delete a small named value."""
        ...

    def value_names(self, prefix: str) -> tuple[str, ...]:
        """Names of the named values that begin with `prefix`, sorted."""
        ...


class SearchableStore(MemoryStore, ValueStore, Protocol):
    """Memories with their search, and named values: what the read path needs of a store."""

    @property
    def search(self) -> Search:
        """Rankings over the stored memories."""
        ...

    def at_once(self) -> AbstractContextManager[None]:
        """Inside, everything that this thread reads shows one state of the store, and is cheaper to ask for.

        What this thread writes meanwhile it sees afterwards. Not for waiting: no model or network call inside.
        """
        ...

    def change(self) -> int:
        """Grows with every change of a memory or its vector (uses apart); equal numbers mean nothing has changed."""
        ...

    def changed(self, since: int, *, scope: ScopeFilter, limit: int) -> tuple[str, ...] | None:
        """Ids of the memories in `scope`, whatever their status, that were written after `change` was `since`.

        None = more than `limit`, or a memory may have left the scope: what was derived from it must be made anew.
        """
        ...


class Store(SearchableStore, SessionStore, TraceStore, HandoverStore, ProjectStore, ValueStore, Protocol):
    """The whole store. A function that needs only a part of it takes that part's protocol."""

    def stats(self) -> StoreStats:
        """Counts; cheap."""
        ...

    def rewrite_texts(
        self,
        clean: Callable[[str, str], str],
        *,
        dry_run: bool,
        copy: Path | None = None,
        gone: Removal | None = None,
    ) -> Mapping[str, int]:
        """Clean every stored text, history and derived indexes included; return how many rows changed, by table.

        `clean` takes a text and the name of the scope it belongs to ("" = the user's own). Vectors of changed words
        go: `pending_vectors` names them. With `dry_run` nothing changes and no writer waits. With `copy` a backup is cleaned
        instead, and is written only where something is to be changed.
        With `gone` those rows are removed first, in the same transaction, and counted where they were; what they held
        under an id cannot be brought back, and what is unknown is passed over.

        Raises:
            StoreError: if it cannot be written; nothing is changed.
        """
        ...

    def check(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
        """Integrity problems found, as sentences; empty = sound. Others write between its steps.

        `progress` is called before every step and at the end with (steps done, steps); what it raises ends the check.
        """
        ...

    def purged_memories(self) -> frozenset[str]:
        """Ids of every memory that was purged, see `rewrite_texts`: what is imported or restored must not bring it back."""
        ...

    def backup(
        self,
        target: Path,
        *,
        interrupted: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Write a consistent and examined copy to `target` while others read and write.

        Returns False, leaving nothing behind, when `interrupted` says between two steps that the caller has to leave. `progress` is called
        with (steps done, steps) and at the end with both the same.

        Raises:
            StoreCorrupt: the store is damaged.
            StoreError: if `target` exists or cannot be written; nothing half-written stays.
        """
        ...

    def tidy(self) -> None:
        """Put in order what answers searches, after many writes: they answer the same, and sooner.

        Others may write meanwhile; when nothing is left to do, nothing is done.
        """
        ...

    def close(self) -> None:
        """Release files and locks. Later calls raise StoreError."""
        ...


class StoreBackend(Protocol):
    """Opens the store of a home, and repairs or replaces its files while nobody has it open.

    Another package registers a class without arguments as an entry point of `tacit.stores`.
    """

    def open(self, home: Home, *, clock: Clock) -> Store:
        """Open the store of `home`, creating or migrating it where needed.

        Raises:
            StoreCorrupt: its files are damaged; `salvage` makes new ones of them.
            StoreError: see the other subclasses; it cannot be opened now.
        """
        ...

    def needs_migration(self, home: Home) -> bool:
        """Whether `open` would migrate the store; False where that cannot be told."""
        ...

    def back_up(self, home: Home, target: Path) -> bool:
        """Copy the store, which nobody has opened or migrated yet, to `target`; False where that was interrupted.

        Raises:
            StoreError: if it cannot be read or written.
        """
        ...

    def file_id(self, home: Home) -> int:
        """A number that changes when the store's files are replaced by new ones; -1 where there are none."""
        ...

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """Put the damaged files into quarantine, and new ones in their place that hold everything that can be read.

        `file_id` was read before damage was met; returns None where another process has replaced those files meanwhile.

        Raises:
            StoreError: if the new files cannot be written; then the old ones stay.
        """
        ...

    def suspects_damage(self, home: Home) -> bool:
        """Whether damage was met since the store was opened. Cheap: asked for every `status`."""
        ...

    def examine(self, source: Path) -> int | None:
        """Say whether the backup `source` can become the store; touches nothing.

        Returns None for a sound backup, else how many memories can be read of the damaged file.

        Raises:
            NotFound: if there is no such file.
            StoreError: if it cannot serve.
        """
        ...

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:
        """Make `source` the store of `home`; return where the former one was put, if there was one.

        `source` stays as it is. Memories that were purged since do not come back.

        Raises:
            NotFound: if there is no such file.
            StoreError: if it cannot serve; the present store is left alone.
        """
        ...
