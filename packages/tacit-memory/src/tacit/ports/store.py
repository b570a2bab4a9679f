"""The store, one protocol per use: memories, search, sessions, traces, handovers, projects, named values. `Store` is all of them.

Every write is one transaction; a reader never sees half of one.

A kind of store: how the store of a home is opened, repaired and replaced. The setting `store.provider` names one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, NewType, Protocol

from tacit.config.home import Home
from tacit.frozen import frozen
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
MemoryOrder = Literal["created", "updated", "importance", "given", "fetched", "used", "last"]
"""What a list of memories is sorted by: a time, the importance, or a count of `GivenTimes` or of uses."""
Step = Callable[[str], None]
"""A hook for tests: work that stores calls it with the name of each point that it passes, so that a test can end the process there."""


def no_step(name: str) -> None:
    """Do nothing: the default `Step`."""


@frozen
class MemoryFilter:
    """The conditions that a memory must meet to be listed. None = any. `as_of_ms` = what the store held, and what was valid, at that time.

    With `as_of_ms`, `sensitivities` must hold for the present level, too, so that what is restricted now does not appear as it was before.
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
    """How the statement begins, in any case; the search for quarantined memories by it is quick."""
    given: bool | None = None
    """Whether it was ever given to a session, by Tacit or because an agent fetched it. What a host loads itself is not given."""
    used: bool | None = None
    """Whether any session used it."""
    stored_from_ms: int = 0
    """Only those stored at this time or later."""
    notes: bool | None = None
    """Whether Tacit wrote it for a session, such as a digest (`Memory.is_session_note`)."""
    after: tuple[int, str] | None = None
    """(created_at_ms, id) of a memory: only those that come after it, newest first."""
    order: MemoryOrder = "created"
    """What they are sorted by, the greatest first; ties by the time of creation, newest first, then by id."""
    ascending: bool = False
    """The least of `order` first instead; ties as before."""

    def fits(self, memory: Memory) -> bool:
        """Whether `memory`, as it is now, meets the conditions; `as_of_ms`, `given` and `after` are ignored."""
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
            and (self.used is None or (memory.use_count > 0) == self.used)
            and memory.created_at_ms >= self.stored_from_ms
            and (self.notes is None or memory.is_session_note == self.notes)
        )


@frozen
class GivenTimes:
    """How often a memory was given before a prompt, at a start, call or failure, how often an agent fetched it, and when last (0 = never)."""

    given: int = 0
    fetched: int = 0
    last_ms: int = 0


@frozen
class MemoryTally:
    """How many memories have all of these values. `given` and `used` as in `MemoryFilter`."""

    kind: str
    scope: str
    tier: TrustTier
    status: MemoryStatus
    sensitivity: Sensitivity
    given: bool
    used: bool
    count: int


@frozen
class TraceFilter:
    """The conditions that a trace must meet to be found. None = any.

    Attributes:
        sessions: `host/id` of each.
        surface: the surface asked for.
        injected: whether something was handed over.
        text: a part of the text asked with, in any case.
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


@frozen
class StoredExposure:
    """An exposure as it is stored, with its session."""

    session: SessionKey
    exposure: Exposure


@frozen
class Recorded:
    """One entry of the history: a version of a memory, why and when it was written, and the version before it (None = it was added).

    `change_id` is shared by all versions of one transaction.
    """

    memory: Memory
    before: Memory | None
    at_ms: int
    reason: ChangeReason
    change_id: str = ""


@frozen
class Salvage:
    """The report on the salvage of a damaged store: what was recovered and what was lost.

    Attributes:
        aside: where the damaged file was put.
        at_ms: when.
        recovered: memories that are in use again, `from_backup` of them from the newest backup.
        lost: ids of memories that are known to have been there and could be read nowhere; `LOST_NAMED` at most.
        lost_count: how many those are.
        cut: whether memories may be missing that nobody knows of, because the list of all or what was written last could not be read.
    """

    aside: str
    at_ms: int = 0
    recovered: int = 0
    from_backup: int = 0
    lost: tuple[str, ...] = ()
    lost_count: int = 0
    cut: bool = False

    @property
    def incomplete(self) -> bool:
        """Whether statements may be missing from the store that is in use now."""
        return not (self.at_ms and self.recovered) or bool(self.lost_count) or self.cut


@frozen
class ProjectRecord:
    """A project that somebody worked in or that was imported, as the store keeps it.

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


@frozen
class Handover:
    """A transcript that a hook passed on, kept until capture has stored its statements. `key` = unique, so that it is not taken twice."""

    key: str
    session: SessionKey
    payload: str
    at_ms: int
    attempts: int = 0
    error: str = ""


@frozen
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
    """The part of the store that holds memories: their history, relations and vectors."""

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
        """Write `changes` in one transaction, under a new change id; `Skip` writes nothing.

        `expected` = memory id -> id of the change that must have written its newest version.

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
        """Return the memories of `ids` within `scope`, in the order of `ids`; unknown or invisible ones are left out."""
        ...

    def list_memories(
        self, where: MemoryFilter, *, scope: ScopeFilter, limit: int, offset: int = 0
    ) -> tuple[Memory, ...]:
        """Return the memories within `scope` that meet `where`, newest first (created_at_ms, then id) unless `where` orders them otherwise."""
        ...

    def find_memories(
        self, text: str, where: MemoryFilter, *, scope: ScopeFilter, limit: int
    ) -> tuple[Hit, ...]:
        """Return the memories that meet `where` and contain a word of `text`, best first; ties by id, the newest first.

        Words match by their stems and as beginnings of longer words; a word that no memory contains is matched as misspelled.
        `where.text`, `where.after`, `where.order` and `where.ascending` are ignored.
        """
        ...

    def count_memories(self, where: MemoryFilter, *, scope: ScopeFilter) -> int:
        """Count the memories that `list_memories` would give without a limit."""
        ...

    def tally(self, where: MemoryFilter, *, scope: ScopeFilter) -> tuple[MemoryTally, ...]:
        """Count the memories that meet `where` by their values, in one pass; every count is above 0."""
        ...

    def given_times(self, ids: Sequence[str]) -> Mapping[str, GivenTimes]:
        """Return memory id -> how often it was given and fetched; an id that never was is left out."""
        ...

    def count_active(self, *, scope: ScopeFilter) -> int:
        """Count the active memories that `scope` shows; cheap."""
        ...

    def kinds(self, *, scope: ScopeFilter) -> tuple[str, ...]:
        """Return the names of all kinds that the active memories in `scope` have, sorted; cheap."""
        ...

    def resolve(
        self,
        id_or_prefix: str,
        *,
        scope: ScopeFilter,
        sensitivities: tuple[Sensitivity, ...] | None = None,
    ) -> Memory:
        """Return the one memory whose id is or begins with `id_or_prefix`; if none begins with it, the one whose id ends with it.

        An ending needs at least four characters. Memories of other `sensitivities` (None = any) are ignored.

        Raises:
            NotFound: if none or several match; the message says which.
        """
        ...

    def history(self, memory_id: str, *, scope: ScopeFilter) -> tuple[Memory, ...]:
        """Return all stored versions of one memory, oldest first; empty if it is unknown or not in `scope`."""
        ...

    def recorded(
        self, *, scope: ScopeFilter, limit: int, memory_id: str | None = None, change_id: str | None = None
    ) -> tuple[Recorded, ...]:
        """Return the last versions written, newest first: of all memories, of the memory `memory_id`, or of the change `change_id`."""
        ...

    def noting_changes(self) -> AbstractContextManager[list[str]]:
        """Return a context manager that gives a list: inside, the id of each change that this thread writes is appended to it."""
        ...

    def relate(self, relations: Iterable[Relation]) -> None:
        """Store relations; one with the same source, target and type gets the new weight."""
        ...

    def unrelate(self, relations: Iterable[Relation]) -> None:
        """Delete relations, identified by source, target and type; unknown ones are ignored."""
        ...

    def relations(self, memory_ids: Sequence[str], *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """Return the relations with one end in `memory_ids` and both ends within `scope`."""
        ...

    def relations_of(self, kind: RelationType, *, scope: ScopeFilter) -> tuple[Relation, ...]:
        """Return all relations of one type with both ends within `scope`."""
        ...

    def scopes(self) -> ScopeFilter:
        """Return a filter of every scope in the store. For the owner's tools (list, backup), never for recall."""
        ...

    def pending_vectors(self, identity: EmbedderIdentity, *, limit: int) -> tuple[Memory, ...]:
        """Return up to `limit` memories that have no vector of `identity`."""
        ...

    def count_pending(self, identity: EmbedderIdentity) -> int:
        """Count the memories that `pending_vectors` would name in all."""
        ...

    def get_vectors(
        self, ids: Sequence[str], *, scope: ScopeFilter, identity: EmbedderIdentity
    ) -> Mapping[str, Vectors]:
        """Return memory id -> stored vector of `identity`, each of shape (dimensions,); an id without one is left out."""
        ...

    def put_vectors(self, ids: Sequence[str], vectors: Vectors, *, identity: EmbedderIdentity) -> None:
        """Store vectors of `ids`, shape (len(ids), dimensions), replacing those of another identity."""
        ...

    def count_usage(self, *, shown: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        """Add one to `shown_count` of each memory id in `shown`, and one to `use_count` of each in `used`."""
        ...

    def restore(self, versions: Sequence[Recorded], *, uses: Mapping[str, int]) -> None:
        """Append versions that were written in another store, oldest first, with their times and reasons, in one transaction.

        `before` of each is ignored. `uses` = memory id -> use count to set. Vectors of new words are missing afterwards:
        `pending_vectors` names them.

        Raises:
            InvalidInput: a version is older than the newest one stored of its memory; nothing is changed.
        """
        ...


class SessionStore(Protocol):
    """The part of the store that holds live session records and exposures."""

    def load_session(self, key: SessionKey) -> SessionState | None:
        """Return the stored record of a session; None = there is none."""
        ...

    def save_session(self, state: SessionState, *, traces: Sequence[Trace] = ()) -> None:
        """Write the session record in place of the old one, add its new exposures, and store `traces`, all in one transaction."""
        ...

    def delete_session(self, key: SessionKey) -> None:
        """Delete the live record of a session; its traces and exposures stay for statistics."""
        ...

    def list_sessions(self, *, limit: int) -> tuple[SessionState, ...]:
        """Return up to `limit` session records, the one with the newest signal first."""
        ...

    def exposures(
        self, *, session: SessionKey | None = None, memory_id: str | None = None, limit: int, offset: int = 0
    ) -> tuple[StoredExposure, ...]:
        """Return what was injected, newest first; of all sessions and memories, or of the given ones. Deleted sessions are included."""
        ...


class TraceStore(Protocol):
    """The part of the store that holds the traces of recalls."""

    def list_traces(
        self, *, session: str | None = None, surface: Surface | None = None, limit: int = 20
    ) -> tuple[Trace, ...]:
        """Return up to `limit` traces of all sessions or one (`host/id`), and of all surfaces or one, newest first."""
        ...

    def find_traces(self, where: TraceFilter, *, limit: int) -> tuple[Trace, ...]:
        """Return up to `limit` traces that meet `where`, newest first (at_ms, then id)."""
        ...

    def get_trace(self, trace_id: str) -> Trace:
        """Return the trace with the id `trace_id`.

        Raises:
            NotFound: if there is none of this id.
        """
        ...

    def save_trace(self, trace: Trace) -> None:
        """Store the trace of a recall that belongs to no session (on demand)."""
        ...

    def prune_traces(self, *, before_ms: int, keep: int) -> int:
        """Delete all traces older than `before_ms`, and all but the newest `keep`; return how many were deleted."""
        ...


class HandoverStore(Protocol):
    """The part of the store that holds handovers, the transcripts that wait for capture."""

    def hand_over(self, handover: Handover) -> bool:
        """Store a handover durably; return False, storing nothing, when its key is known already (pending or done)."""
        ...

    def pending_handovers(self, *, limit: int) -> tuple[Handover, ...]:
        """Return up to `limit` handovers that wait for capture, oldest first."""
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
        """Store what was captured and mark the handover `key` done, in one transaction. With `error` it stays, with one more attempt and this error.

        `values` are named values (as `put_value`) set in the same transaction; `relations` are as those of `apply`.
        """
        ...


class ProjectStore(Protocol):
    """The part of the store that holds project records."""

    def put_project(self, project: ProjectRecord) -> None:
        """Write a project record, replacing the one with the same id."""
        ...

    def projects(self) -> tuple[ProjectRecord, ...]:
        """Return all projects, sorted by id."""
        ...


class ValueStore(Protocol):
    """The part of the store that holds named values, small texts under names that `tacit.state` declares."""

    def get_value(self, name: ValueName) -> str | None:
        """Return the text of a named value, such as a checkpoint or a counter; None = nothing is stored under `name`."""
        ...

    def put_value(self, name: ValueName, value: str | None) -> None:
        """Store a named value; None deletes it."""
        ...

    def value_names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of all named values that begin with `prefix`, sorted."""
        ...


class SearchableStore(MemoryStore, ValueStore, Protocol):
    """Memories with their search, and named values: what the read path needs of a store."""

    @property
    def search(self) -> Search:
        """The search over the stored memories: one ranking per space."""
        ...

    def at_once(self) -> AbstractContextManager[None]:
        """Return a context manager: inside, all reads of this thread see one state of the store (a read transaction), and cost less.

        The thread sees its own writes only afterwards. Do not wait inside: no model or network call.
        """
        ...

    def change(self) -> int:
        """Return the store's change counter. Every change of a memory or its vector raises it, use counts do not; equal = nothing has changed."""
        ...

    def changed(self, since: int, *, scope: ScopeFilter, limit: int) -> tuple[str, ...] | None:
        """Return the ids of the memories in `scope`, of any status, that were written after `change()` was `since`.

        None = more than `limit`, or a memory may have left the scope: the caller must rebuild what it derived from the scope.
        """
        ...


class Store(SearchableStore, SessionStore, TraceStore, HandoverStore, ProjectStore, ValueStore, Protocol):
    """The whole store. A function that needs only a part of it takes that part's protocol."""

    def stats(self) -> StoreStats:
        """Return counts of what the store holds; cheap."""
        ...

    def rewrite_texts(
        self,
        clean: Callable[[str, str], str],
        *,
        dry_run: bool,
        copy: Path | None = None,
        gone: Removal | None = None,
    ) -> Mapping[str, int]:
        """Replace every stored text by what `clean` makes of it, also in the history and the indexes; return table -> number of changed rows.

        `clean` takes a text and the name of the scope it belongs to ("" = the user's own). Vectors of changed words are deleted:
        `pending_vectors` names them. `dry_run` = only count; no writer waits. `copy` = clean this backup file
        instead; it is written only if something changes.
        `gone` = rows to remove for good first, in the same transaction; they count as changed rows, and unknown ones are ignored. Their ids
        are noted, so that no import or restore brings them back.

        Raises:
            StoreError: if it cannot be written; nothing is changed.
        """
        ...

    def check(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[str, ...]:
        """Check the store's integrity and return the problems found, as sentences; empty = sound. Others can write between its steps.

        `progress` is called before every step and at the end with (steps done, steps); an exception from it ends the check.
        """
        ...

    def purged_memories(self) -> frozenset[str]:
        """Return the ids of all memories that were purged (see `rewrite_texts`); an import or restore must not bring them back."""
        ...

    def backup(
        self,
        target: Path,
        *,
        interrupted: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> bool:
        """Write a consistent, checked copy of the store to `target` while others read and write; return True.

        `interrupted` is asked between steps; if it is true, nothing is left behind and False is returned. `progress` is called
        with (steps done, steps), at the end with both equal.

        Raises:
            StoreCorrupt: the store is damaged.
            StoreError: if `target` exists or cannot be written; nothing half-written stays.
        """
        ...

    def tidy(self) -> None:
        """Optimize the search indexes after many writes: searches give the same results faster.

        Others may write meanwhile. Does nothing if there is nothing to do.
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
        """Copy the store, which nobody has opened or migrated yet, to `target`; return False if that was interrupted.

        Raises:
            StoreError: if it cannot be read or written.
        """
        ...

    def file_id(self, home: Home) -> int:
        """Return a number that identifies the store's present files and changes when they are replaced; -1 = there are none."""
        ...

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """Move the damaged files to quarantine and put new ones with everything that can be read in their place; return the report.

        `file_id` was read before damage was met; returns None where another process has replaced those files meanwhile.

        Raises:
            StoreError: if the new files cannot be written; then the old ones stay.
        """
        ...

    def suspects_damage(self, home: Home) -> bool:
        """Whether damage was found since the store was opened. Cheap: called for every `status`."""
        ...

    def examine(self, source: Path) -> int | None:
        """Check whether the backup `source` can become the store, without changing anything.

        Return None for a sound backup, else how many memories of the damaged file can be read.

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
