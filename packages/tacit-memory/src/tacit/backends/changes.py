"""The effect of a list of changes on stored memories, decided once for every backend. Pure: no storage, no clock.

In: changes, a way to look up a stored memory, the vectors that came along, the time. Out: the memories to put, in order,
and the relations to add. Never writes; a change that cannot be carried out raises before anything is returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import numpy as np

from tacit.backends.codec import clean_text, clean_value
from tacit.errors import Ambiguous, Conflict, InvalidInput, NotFound
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeReason
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.model.ids import new_id
from tacit.model.memory import Memory, Relation
from tacit.ports.clock import Clock
from tacit.ports.models import EmbedderIdentity, Vectors

VectorFate = Literal["given", "kept", "dropped"]


@frozen
class MemoryWrite:
    """A version of a memory that a transaction must write.

    Attributes:
        memory: the new version.
        reason: the change's reason, kept in the history.
        vector: `given` = store row `vector_row` of the vectors; `kept` = keep the stored one; `dropped` = delete it, as the words changed.
        vector_row: index into the given vectors.
    """

    memory: Memory
    reason: ChangeReason
    vector: VectorFate
    vector_row: int = -1


@frozen
class WritePlan:
    """Everything that one transaction must write: versions of memories, in order, and relations to add."""

    puts: tuple[MemoryWrite, ...]
    relations: tuple[Relation, ...]


def check_vectors(vectors: Vectors, identity: EmbedderIdentity | None, rows: int) -> EmbedderIdentity:
    """Check that `vectors` is finite, of shape (`rows`, identity's dimensions), and return the identity.

    Raises:
        InvalidInput: naming the shape that was expected.
    """
    if identity is None:
        raise InvalidInput("Vectors were given without the identity of their embedder.")
    expected = (rows, identity.dimensions)
    if vectors.shape != expected:
        raise InvalidInput(f"The vectors have shape {vectors.shape}; {identity} needs {expected}.")
    if not np.isfinite(vectors).all():
        raise InvalidInput(f"The vectors of {identity} hold values that are no finite numbers.")
    return identity


def brings_words(change: Change) -> bool:
    """Whether a change brings new words, and so has a row in the vectors: every change but `Merge`, `Retire` and `Skip`."""
    return not isinstance(change, Merge | Retire | Skip)


def plan_changes(
    changes: Sequence[Change],
    *,
    find: Callable[[str], Memory | None],
    vectors: Vectors | None,
    identity: EmbedderIdentity | None,
    now_ms: int,
) -> WritePlan:
    """Return everything that `changes` write: versions of memories and relations, in order. Later changes see the effect of earlier ones. Writes nothing.

    Args:
        changes: what reconciliation decided.
        find: returns the stored memory of an id, or None.
        vectors: one row per change that brings words (`brings_words`), or None.
        identity: whose vectors these are.
        now_ms: transaction time of the memories that a change ends (superseded, retired).

    Raises:
        NotFound: a change names a memory that does not exist.
        InvalidInput: a new memory has the id of a stored one, or the vectors have the wrong shape.
    """
    if vectors is not None:
        check_vectors(vectors, identity, sum(brings_words(change) for change in changes))
    return _Planner(find, with_vectors=vectors is not None, now_ms=now_ms).plan(changes)


def check_outcome(changes: Sequence[Change], error: str) -> None:
    """Refuse a handover that is finished with both an error and changes; return nothing.

    Raises:
        InvalidInput: if both are given.
    """
    if error and changes:
        raise InvalidInput("A handover that failed brings no changes; give either `error` or `changes`.")


def new_change_id(clock: Clock) -> str:
    """Return a new change id, for one transaction. It contains random characters, so that a restored store repeats no id."""
    return new_id("chg", now_ms=clock.now_ms(), entropy=clock.entropy(5))


def dated_change_id(at_ms: int) -> str:
    """Return the change id for versions written at `at_ms` whose real id is not known (imported or salvaged): equal for equal times."""
    return f"chg_{at_ms}"


def check_expected(expected: Mapping[str, str], newest: Callable[[str], str]) -> None:
    """Refuse a write if the newest version of a memory was not written by the change that the caller expects; return nothing.

    `expected` = memory id -> change id; `newest` returns the change id of a memory's newest version.

    Raises:
        Conflict: naming the memory and the later change.
    """
    for memory_id, change_id in expected.items():
        stored = newest(memory_id)
        if stored != change_id:
            raise Conflict(
                f"{memory_id} was changed again since, by {stored or 'another change'}; nothing was changed.",
                hint=f"Take {stored} back first." if stored else "Look at it again.",
            )


class NotedChanges(threading.local):
    """Collects the ids of the changes that the present thread writes, in every list that `noting` of this thread has open."""

    def __init__(self) -> None:
        self._open: list[list[str]] = []

    @contextmanager
    def noting(self) -> Generator[list[str]]:
        """Return a context manager that gives an empty list; until it ends, `note` of this thread appends to the list. May be nested."""
        noted: list[str] = []
        self._open.append(noted)
        try:
            yield noted
        finally:
            self._open.pop()  # the last one that was opened ends first

    def note(self, change_id: str) -> None:
        """Append the id of a stored change to each list that this thread has open."""
        for noted in self._open:
            noted.append(change_id)


def stale_version_error(memory_id: str) -> InvalidInput:
    """Return (not raise) the error for a version that is older than the newest one stored of its memory."""
    return InvalidInput(
        f"A version of {memory_id} is older than the newest one stored; nothing was changed.",
        hint="Give the versions oldest first.",
    )


def searched_name(id_or_prefix: str) -> str:
    """Return an id, or its beginning or ending, with unstorable characters replaced, as it is looked up.

    Raises:
        NotFound: if it is empty or only a beginning of `mem_`, which all ids share and which must not name the only memory of a store.
    """
    wanted = clean_text(id_or_prefix)
    if "mem_".startswith(wanted):
        raise resolution_error(id_or_prefix, [])
    return wanted


def resolution_error(id_or_prefix: str, matches: Sequence[str]) -> NotFound | Ambiguous:
    """Return (not raise) the error for an id or prefix that names no memory, or several: `matches`."""
    if not matches:
        return NotFound(
            f"No memory is called {id_or_prefix!r}.",
            hint="`tacit list` shows ids; take one as it stands there, or the beginning of a whole one (`mem_...`).",
        )
    some = ", ".join(matches[:5]) + (", ..." if len(matches) > 5 else "")
    return Ambiguous(
        f"Several memories are called {id_or_prefix!r}: {some}.",
        hint="Give more characters; the last ones tell ids apart.",
    )


class _Planner:
    def __init__(self, find: Callable[[str], Memory | None], *, with_vectors: bool, now_ms: int) -> None:
        self._find = find
        self._with_vectors = with_vectors
        self._now_ms = now_ms
        self._overlay: dict[str, Memory] = {}
        self._puts: list[MemoryWrite] = []
        self._relations: list[Relation] = []
        self._next_row = 0

    def plan(self, changes: Sequence[Change]) -> WritePlan:
        for change in changes:
            self._take(clean_value(change))
        return WritePlan(puts=tuple(self._puts), relations=tuple(self._relations))

    def _take(self, change: Change) -> None:
        match change:
            case Add():
                self._insert(change.memory, change.reason)
            case Merge():
                self._rewrite(change.memory, change.reason, with_vector=False)
            case Rewrite():
                self._rewrite(change.memory, change.reason, with_vector=self._with_vectors)
            case Supersede():
                ended = [self._stored(name) for name in (change.old_id, *change.further)]
                for name in change.contested:
                    self._stored(name)
                self._insert(change.memory, change.reason)
                for old in ended:
                    self._end(old, at_ms=change.at_ms, superseded_by=change.memory.id, reason=change.reason)
                    self._relate(change.memory.id, old.id, "updates")
                for name in change.contested:
                    self._relate(change.memory.id, name, "contradicts")
            case Contradict():
                contradicted = (change.other_id, *change.further)
                for name in contradicted:
                    self._stored(name)
                self._insert(change.memory, change.reason)
                for name in contradicted:
                    self._relate(change.memory.id, name, "contradicts")
            case Retire():
                old = self._stored(change.memory_id)
                self._end(old, at_ms=change.at_ms, superseded_by=None, reason=change.reason)
            case Skip():
                pass

    def _lookup(self, memory_id: str) -> Memory | None:
        return self._overlay.get(memory_id) or self._find(memory_id)

    def _stored(self, memory_id: str) -> Memory:
        memory = self._lookup(memory_id)
        if memory is None:
            raise NotFound(
                f"No memory {memory_id!r}; nothing was changed.", hint="`tacit list` shows what there is."
            )
        return memory

    def _insert(self, memory: Memory, reason: ChangeReason) -> None:
        if self._lookup(memory.id) is not None:
            raise InvalidInput(
                f"A memory {memory.id!r} is stored already; nothing was changed.",
                hint="Use Edit or Merge to change a stored memory.",
            )
        fate: VectorFate = "given" if self._with_vectors else "dropped"
        self._put(memory, reason, fate)

    def _rewrite(self, memory: Memory, reason: ChangeReason, *, with_vector: bool) -> None:
        stored = self._stored(memory.id)
        # The store counts uses itself; a caller's copy may be older than the last count.
        current = replace(
            memory,
            use_count=max(memory.use_count, stored.use_count),
            shown_count=max(memory.shown_count, stored.shown_count),
        )
        fate: VectorFate = "kept" if current.content_hash == stored.content_hash else "dropped"
        self._put(current, reason, "given" if with_vector else fate)

    def _end(self, old: Memory, *, at_ms: int, superseded_by: str | None, reason: ChangeReason) -> None:
        before = old.validity.valid_to_ms
        validity = replace(
            old.validity,
            valid_to_ms=at_ms if before is None else min(before, at_ms),
            superseded_by=superseded_by or old.validity.superseded_by,
        )
        status = "superseded" if superseded_by else "retired"
        ended = replace(old, validity=validity, status=status, updated_at_ms=self._now_ms)
        self._overlay[ended.id] = ended
        self._puts.append(MemoryWrite(memory=ended, reason=reason, vector="kept"))

    def _put(self, memory: Memory, reason: ChangeReason, fate: VectorFate) -> None:
        row = -1
        if fate == "given":
            row, self._next_row = self._next_row, self._next_row + 1
        self._overlay[memory.id] = memory
        self._puts.append(MemoryWrite(memory=memory, reason=reason, vector=fate, vector_row=row))

    def _relate(self, source: str, target: str, kind: Literal["updates", "contradicts"]) -> None:
        self._relations.append(Relation(source_id=source, target_id=target, type=kind))
