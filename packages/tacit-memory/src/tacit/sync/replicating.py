"""Carries changes between the store and the logs. In: the store of this device, its replica, its keys. Out: entries, memories.

*Recording* compares what the store holds with what the logs said last, and appends an entry for every difference: so no write can be missed, whoever
made it, and a crash between a write and its entry loses nothing. *Applying* works out the state of every memory that new entries speak of
(`merge_heads`) and writes it; nothing is decided anew. Recording always comes first, and a memory that was written meanwhile is left for the next time.

Stays at home: sessions, traces, vectors, counts of use, notes of sessions, and memories of the sensitivity `session` or `restricted`. What faded
on this device because it was not used here is no news for others.

What a memory is, given everything that devices wrote of it. In: its newest states, and the one that they all go back to. Out: one state. Pure.

A state names the states that it replaces. What no other state replaces is a head; two devices that wrote without knowing of one another
leave two. Their merged state depends on the set of heads and their common origin alone, not on clocks or on the order in which entries arrive, so all
devices come to the same one:

- what ended on one device has ended: retired before superseded before active before waiting;
- a field that one device changed has its value; where several changed it, the first in a fixed order of heads, and the stricter sensitivity;
- of two new wordings of what still holds neither is dropped: one stays, the other becomes a memory of its own, and the pair waits for the user;
- counts add up; evidence and files are united;
- a memory holds on all branches if one device let it hold on all branches;
- a relation that one device added is there, and one that a device took away is gone.

Source: three-way merging (Mens, A state-of-the-art survey on software merging, IEEE TSE 2002), field by field.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, get_args

import msgspec

from tacit.errors import Conflict, SyncError, UnreadableEntry
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Removal, Rewrite
from tacit.model.ids import encode_base32
from tacit.model.memory import (
    LearnedOn,
    Memory,
    MemoryStatus,
    Relation,
    RelationType,
    Sensitivity,
    TrustTier,
    Validity,
)
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import MemoryFilter, Store
from tacit.sync.entry import Entry, PurgeBody, StateBody, append_entry, open_entry
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.replica import Replica, Settled

_RANK: Mapping[MemoryStatus, int] = {"retired": 3, "superseded": 2, "active": 1, "quarantined": 0}
MAX_EVIDENCE = 20
_Ends = tuple[str, str, str]


@frozen
class Head:
    """A newest state of a memory, which no other known state replaces, and the id of its entry."""

    entry: str
    memory: Memory
    relations: tuple[Relation, ...] = ()


@frozen
class MergedState:
    """The state that a memory's heads merge to. `others` = conflicting wordings, each as a new memory of its own."""

    memory: Memory
    relations: tuple[Relation, ...] = ()
    others: tuple[Memory, ...] = ()


def merge_heads(heads: Sequence[Head], *, base: Head | None = None) -> MergedState:
    """Merge the newest states (heads) that devices wrote of one memory into one, field by field against `base`, by the rules at the top of this module. Pure.

    A second new wording comes back in `others` as a memory of its own, with a `contradicts` relation.

    Args:
        heads: at least one; their order does not matter.
        base: the state that all of them go back to; None = there is none, and every head counts as changed.
    """
    ranked = sorted(heads, key=_precedence)
    main, *rest = ranked
    if not rest:
        return MergedState(memory=main.memory, relations=sorted_relations(main.relations))
    origin = base.memory if base is not None else None
    memories = [head.memory for head in ranked]
    reworded = [
        head for head in ranked if origin is None or head.memory.content_hash != origin.content_hash
    ] or ranked
    worded = reworded[0].memory
    others = (
        ()
        if _has_ended(main.memory)
        else tuple(
            replace(head.memory, id=own_memory_id(head.entry))
            for head in reworded[1:]
            if not _has_ended(head.memory) and head.memory.content_hash != worded.content_hash
        )
    )
    relations = _united_relations(ranked, base)
    relations += [
        Relation(source_id=main.memory.id, target_id=other.id, type="contradicts") for other in others
    ]
    changed = {
        name: _changed(name, memories, origin)
        for name in (
            "kind",
            "scope",
            "trigger",
            "importance",
            "confidence",
            "error_signature",
            "pinned",
            "headline",
        )
    }
    changed["branch"] = _branch(memories, origin)
    memory = replace(
        worded,
        **changed,
        id=main.memory.id,
        status=main.memory.status,
        provenance=_changed("provenance", [worded, *memories], origin),
        validity=_validity(main.memory, memories),
        created_at_ms=min(memory.created_at_ms for memory in memories),
        updated_at_ms=max(memory.updated_at_ms for memory in memories),
        sensitivity=max(_values("sensitivity", memories, origin)),
        frequency=_summed("frequency", memories, origin),
        proofs=_summed("proofs", memories, origin),
        files=tuple(dict.fromkeys(file for memory in (worded, *memories) for file in memory.files)),
        evidence=tuple(dict.fromkeys(span for memory in memories for span in memory.evidence))[:MAX_EVIDENCE],
    )
    return MergedState(
        memory=memory,
        relations=sorted_relations(relations),
        others=tuple(sorted({other.id: other for other in others}.values(), key=lambda memory: memory.id)),
    )


def _united_relations(heads: Sequence[Head], base: Head | None) -> list[Relation]:
    """Return the relations that some head added, and those of the base that every head still has; may hold duplicates."""
    before = {_ends(relation) for relation in base.relations} if base is not None else set[_Ends]()
    kept = [{_ends(relation) for relation in head.relations} for head in heads]
    removed = {ends for ends in before if not all(ends in each for each in kept)}
    return [relation for head in heads for relation in head.relations if _ends(relation) not in removed]


def _values(name: str, memories: Sequence[Memory], base: Memory | None) -> list[Any]:
    """Return the values of a field that differ from the base, in the order of heads; if none does, the values of all heads."""
    values = [getattr(memory, name) for memory in memories]
    changed = [value for value in values if base is None or value != getattr(base, name)]
    return changed or values


def _changed(name: str, memories: Sequence[Memory], base: Memory | None) -> Any:
    return _values(name, memories, base)[0]


def _branch(memories: Sequence[Memory], base: Memory | None) -> LearnedOn | None:
    """Return the branch of the merged memory; None if one device made it hold on all branches.

    The ids of the memories that it replaces are united. The branch counts as gone only if it is gone for every device.
    """
    values = [memory.branch for memory in memories]
    if None in values:
        return None
    marks: list[LearnedOn] = _values("branch", memories, base)
    known = [mark for mark in values if mark is not None]
    return replace(
        marks[0],
        replaces=tuple(sorted({name for mark in known for name in mark.replaces})),
        gone=all(mark.gone for mark in known),
    )


def _summed(name: str, memories: Sequence[Memory], base: Memory | None) -> int:
    """Return a count merged: the base's value plus what every device added to it; without a base, the highest value."""
    values = [int(getattr(memory, name)) for memory in memories]
    if base is None:
        return max(values)
    before = int(getattr(base, name))
    return max(0, before + sum(value - before for value in values))


def _precedence(head: Head) -> tuple[int, int, int, str]:
    memory = head.memory
    return -_RANK[memory.status], -memory.provenance.tier.rank, -memory.frequency, head.entry


def _has_ended(memory: Memory) -> bool:
    return _RANK[memory.status] >= _RANK["superseded"]


def own_memory_id(entry: str) -> str:
    """Return the id that the wording of `entry` (an entry's id) gets if a merge makes it a memory of its own: the same on every device."""
    digest = int.from_bytes(hashlib.sha256(entry.encode()).digest()[:10], "big")
    return f"mem_{encode_base32(digest, 16)}"


def _validity(main: Memory, memories: Iterable[Memory]) -> Validity:
    """Return the merged validity of the memories with `main`'s status: the earliest begin and end, and the successor whose id sorts first."""
    alike = [memory.validity for memory in memories if memory.status == main.status]
    ends = [validity.valid_to_ms for validity in alike if validity.valid_to_ms is not None]
    successors = [validity.superseded_by for validity in alike if validity.superseded_by]
    first = min(alike, key=lambda validity: (validity.valid_from_ms, validity.offset_ms))
    return Validity(
        valid_from_ms=first.valid_from_ms,
        offset_ms=first.offset_ms,
        valid_to_ms=min(ends, default=None),
        superseded_by=min(successors, default=None),
    )


def sorted_relations(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the relations in a fixed order, without duplicates: of each source, target and type the one with the highest weight."""
    heaviest: dict[_Ends, Relation] = {}
    for relation in relations:
        key = _ends(relation)
        if key not in heaviest or heaviest[key].weight < relation.weight:
            heaviest[key] = relation
    return tuple(heaviest[key] for key in sorted(heaviest))


def _ends(relation: Relation) -> _Ends:
    return relation.source_id, relation.target_id, relation.type


def shared_form(memory: Memory) -> Memory:
    """Return the memory as devices share it: with `use_count` and `shown_count` 0, because these belong to a device."""
    return replace(memory, use_count=0, shown_count=0)


def relations_digest(relations: Iterable[Relation]) -> str:
    """Return a hash of relations that does not depend on their order: equal for equal relations."""
    return hashlib.blake2b(msgspec.json.encode(sorted_relations(relations)), digest_size=16).hexdigest()


def state_digest(memory: Memory, relations: Iterable[Relation]) -> str:
    """Return a hash of a memory in its `shared_form` with its relations: equal for equal states."""
    raw = msgspec.json.encode((shared_form(memory), sorted_relations(relations)), order="deterministic")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


_LOG = logging.getLogger(__name__)
BATCH = 100
"""Memories that one transaction of the store carries."""
MOST_CHANGED = 2_000
"""Most changed memories that are read one by one; if there are more, the whole store is compared."""
CURSOR = "cursor"
"""Name of the fact that says up to which change of the store everything was recorded."""
IDENTITY = "store"
"""Name of the fact that says which store that was."""
VECTORS_DUE = "vectors_due"
"""Name of the fact that memories were written without vectors, which are still to be made."""
_LOCAL_CAUSES = (ChangeCause.FADED, ChangeCause.OVER_LIMIT)

Embed = Callable[[Sequence[Memory]], tuple[Vectors, EmbedderIdentity] | None]
"""Makes the vectors of memories; None = they are made later."""
Purge = Callable[[Sequence[str]], None]
"""Removes memories for good, from everything that is stored."""


def is_shared(memory: Memory) -> bool:
    """Whether a memory is sent to the person's other devices: it may leave this device, and does not come from a team.

    Every device gets the memories of teams directly from the server or the repository.
    """
    if memory.provenance.tier is TrustTier.TEAMMATE or memory.provenance.team:
        return False
    return not memory.is_session_note and memory.sensitivity <= Sensitivity.PROJECT


@frozen
class Carried:
    """Counts of one pass: entries appended, memories written, memories purged, and memories left for the next time."""

    recorded: int = 0
    applied: int = 0
    purged: int = 0
    left: int = 0


class Replicating:
    """The link between a device's store and its logs: it records changes of the store as entries, and applies entries to the store. Used by one thread at a time."""

    def __init__(
        self,
        *,
        store: Store,
        replica: Replica,
        account: AccountKey,
        device: DeviceKey,
        embed: Embed = lambda _memories: None,
        purge: Purge | None = None,
        identity: Callable[[], str] = str,
        by_teams: Callable[[], AbstractSet[str]] = frozenset,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        """Keep `store` and `replica` together.

        Args:
            store: of this device.
            replica: the logs that it knows.
            account: the secret that the devices share.
            device: the key of this one.
            embed: makes vectors of what comes in, if that is not much.
            purge: removes memories for good; None = from the store alone.
            by_teams: ids of memories that a team purged on this device. Such a purge is not passed on to the user's other devices.
            identity: changes where the store is replaced by another one, as by a restored backup.
            now_ms: the time.
        """
        self._store = store
        self._replica = replica
        self._account = account
        self._device = device
        self._embed = embed
        self._purge = purge or self._remove
        self._identity = identity
        self._by_teams = by_teams
        self._now_ms = now_ms

    def carry(self) -> Carried:
        """Append entries for the store's changes, then write what new entries of others say to the store; return the counts."""
        recorded = self.record()
        self.read_entries()
        with self._replica.writing():
            recorded += self._record_purges()
        applied = self.apply()
        return replace(applied, recorded=recorded)

    # --- recording

    def record(self) -> int:
        """Append an entry to the device's own log for every change of the store that has none; return how many."""
        change = self._store.change()
        cursor = int(self._replica.fact(CURSOR) or b"-1")
        identity = self._identity().encode()
        if cursor < 0 or cursor > change or self._replica.fact(IDENTITY) != identity:
            self._recognize_old_states()  # the logs were not known yet, or another store was put in the place of this one
            cursor = -1
        appended = 0
        with self._replica.writing():
            for memory in self._changed(cursor):
                appended += self._record(memory)
            appended += self._record_purges()
            self._replica.put_fact(CURSOR, str(change).encode())
            self._replica.put_fact(IDENTITY, identity)
        return appended

    def _changed(self, cursor: int) -> Iterator[Memory]:
        everything = self._store.scopes()
        ids = self._store.changed(cursor, scope=everything, limit=MOST_CHANGED) if cursor >= 0 else None
        related = self._replica.changed_edges(self._edge_digests())
        if ids is not None:
            waiting = self._replica.pending(limit=MOST_CHANGED)
            yield from self._store.get(sorted({*ids, *related, *waiting}), scope=everything)
            return
        offset = 0
        while page := self._store.list_memories(
            MemoryFilter(statuses=None), scope=everything, limit=500, offset=offset
        ):
            yield from page
            offset += len(page)

    def _record(self, memory: Memory) -> bool:
        before = self._replica.settled(memory.id)
        if self._replica.is_purged(memory.id):
            return False
        if not is_shared(memory):
            if before is None or not before.heads:
                return False
            memory = self._withdrawn(memory, before)
        relations = self._relations(memory)
        digest = state_digest(memory, relations)
        if before is not None and before.digest == digest:
            return False
        intended = self._replica.intended(memory.id)
        if intended is not None and intended.digest == digest:  # taken over from others just before a crash
            self._replica.settle(memory.id, intended)
            return False
        if self._ended_here_alone(memory):
            return False
        heads = before.heads if before is not None else ()
        told = sorted_relations((*relations, *self._replica.awaited(memory.id)))
        body = StateBody(memory=shared_form(memory), relations=told, parents=heads, at_ms=self._now_ms())
        self._append(body, Settled(digest=digest))
        return True

    def _withdrawn(self, memory: Memory, before: Settled) -> Memory:
        """Return the memory as the other devices know it, but retired; it may no longer leave this device.

        If no state of it can be read from the log, its state here is used.
        """
        heads = [head for head in self._heads(memory.id) if head.entry in before.heads] or self._heads(
            memory.id
        )
        known = merge_heads(heads, base=self._base_of(heads)).memory if heads else memory
        return replace(
            known, status="retired", validity=replace(known.validity, valid_to_ms=memory.updated_at_ms)
        )

    def _ended_here_alone(self, memory: Memory) -> bool:
        """Return whether a memory ended because it was not used on this device."""
        if memory.status != "retired":
            return False
        newest = self._store.recorded(scope=self._store.scopes(), limit=1, memory_id=memory.id)
        return bool(newest) and newest[0].reason.cause in _LOCAL_CAUSES

    def _record_purges(self) -> int:
        """Append an entry for every memory that was purged here and that others may know; return how many."""
        noted = self._replica.purged()
        known = (self._store.purged_memories() - noted) & self._replica.memories()
        known -= self._purged_as_a_teams(known)
        # A purge that was killed may be recorded although the memory is still in the store. `apply` then removes the memory.
        there = {memory.id for memory in self._store.get(sorted(known), scope=self._store.scopes())}
        for memory_id in sorted(known):
            for other in sorted(self._same_words(memory_id) - noted):
                self._record_purge(other, done=True)
            self._record_purge(memory_id, done=memory_id not in there)
        return len(known)

    def _purged_as_a_teams(self, memory_ids: AbstractSet[str]) -> frozenset[str]:
        """Return those of `memory_ids` that a team purged here, not the user; such a purge is not passed on to the user's other devices.

        These memories were not the user's own then, or are in the store again.
        """
        theirs = memory_ids & self._by_teams()
        there = {memory.id for memory in self._store.get(sorted(theirs), scope=self._store.scopes())}
        return frozenset(
            name
            for name in theirs
            if name in there or (settled := self._replica.settled(name)) is None or not settled.heads
        )

    def _record_purge(self, memory_id: str, *, done: bool) -> None:
        self._append(PurgeBody(memory_id=memory_id, at_ms=self._now_ms()))
        self._replica.note_purge(memory_id, self._account.subject(memory_id), done=done)

    def _same_words(self, memory_id: str) -> frozenset[str]:
        """Return the ids of memories that another device may have made of the wording that was purged here (see `own_memory_id`), to purge them, too."""
        settled = self._replica.settled(memory_id)
        states = self._opened(self._replica.state_entries(memory_id))
        words = {state.memory.content_hash for state in states if settled and state.entry in settled.heads}
        own = {own_memory_id(state.entry) for state in states if state.memory.content_hash in words}
        return frozenset(
            own - {memory.id for memory in self._store.get(sorted(own), scope=self._store.scopes())}
        )

    def _append(self, body: StateBody | PurgeBody, settled: Settled | None = None) -> None:
        name = self._device.device
        last = self._replica.last(name)
        entry = append_entry(
            body,
            number=last.number + 1 if last else 1,
            previous=last.id if last else "",
            device=self._device,
            account=self._account,
        )
        self._replica.add((entry,))
        if isinstance(body, StateBody):
            self._replica.note_state(entry, body.memory.id, body.parents)
            if settled is not None:
                self._replica.settle(body.memory.id, replace(settled, heads=(entry.id,)))
        else:
            self._replica.note_read(entry)

    def _relations(self, memory: Memory) -> tuple[Relation, ...]:
        """Return the relations that begin at a memory and whose targets are shared with other devices, too; none of weight 0."""
        everything = self._store.scopes()
        relations = [
            relation
            for relation in self._store.relations([memory.id], scope=everything)
            if relation.source_id == memory.id and relation.weight > 0
        ]
        if not relations:
            return ()
        targets = self._store.get([relation.target_id for relation in relations], scope=everything)
        shared = {target.id for target in targets if is_shared(target)}
        return sorted_relations(relation for relation in relations if relation.target_id in shared)

    def _edge_digests(self) -> dict[str, str]:
        """Return memory id -> hash of the relations that begin there. The store's change counter does not count relations, so they are compared by it."""
        everything = self._store.scopes()
        edges: dict[str, list[Relation]] = {}
        for kind in get_args(RelationType):
            for relation in self._store.relations_of(kind, scope=everything):
                edges.setdefault(relation.source_id, []).append(relation)
        return {name: relations_digest(relations) for name, relations in edges.items()}

    def _recognize_old_states(self) -> None:
        """Match the memories of a new or replaced store with the states in the logs, so that known states are not recorded as changes of this device.

        All memories of the logs become pending. A memory that was changed since gets as its parent the newest of its versions that the logs know.
        """
        everything = self._store.scopes()
        with self._replica.writing():
            for memory_id in self._replica.memories():
                self._replica.wait_for(memory_id)
                stored = next(iter(self._store.get([memory_id], scope=everything)), None)
                if stored is None:
                    continue
                known = {
                    state_digest(head.memory, ()): head
                    for head in self._opened(self._replica.state_entries(memory_id))
                }
                current = state_digest(stored, ())
                versions = reversed(self._store.history(memory_id, scope=everything))
                digests = (current, *(state_digest(version, ()) for version in versions))
                origin = next((known[digest] for digest in digests if digest in known), None)
                if origin is None:
                    continue
                unchanged = state_digest(origin.memory, ()) == current
                digest = state_digest(stored, self._relations(stored)) if unchanged else ""
                self._replica.settle(memory_id, Settled(digest=digest, heads=(origin.entry,)))

    # --- applying

    def read_entries(self) -> int:
        """Decrypt the bodies of new entries and note in the replica what they say; return how many were read. Writes nothing to the store.

        Raises:
            SyncError: at one that this version does not know; those before it are read.
        """
        count = 0
        while unread := self._replica.unread(limit=BATCH):
            read: list[tuple[Entry, StateBody | PurgeBody | None]] = []
            unknown: SyncError | None = None
            for entry in unread:
                try:
                    read.append((entry, self._read(entry)))
                except SyncError as error:
                    unknown = error
                    break
            with self._replica.writing():  # one transaction for all of them: a new device reads thousands
                for entry, body in read:
                    self._note(entry, body)
            count += len(read)
            if unknown is not None:
                raise unknown
        return count

    def _note(self, entry: Entry, body: StateBody | PurgeBody | None) -> None:
        """Note in the replica what an entry says."""
        match body:
            case StateBody(memory=memory, parents=parents):
                self._replica.note_state(entry, memory.id, parents)
                if self._replica.is_purged(memory.id):
                    self._replica.note_purge(memory.id, entry.subject, done=False)
                else:
                    self._replica.wait_for(memory.id)
            case PurgeBody(memory_id=memory_id):
                self._replica.note_read(entry)
                self._replica.note_purge(memory_id, entry.subject, done=False)
            case None:
                self._replica.note_read(entry)

    def _read(self, entry: Entry) -> StateBody | PurgeBody | None:
        """Return the body of an entry; None = it was purged or cannot be read."""
        try:
            return open_entry(entry, self._account)
        except UnreadableEntry as error:
            _LOG.warning("an entry is passed over: %s", error)
            return None

    def apply(self) -> Carried:
        """Write the merged states of all pending memories to the store, and remove what was purged on other devices; return the counts.

        More than a batch of them, as on a new device, get no vectors here: their words find them at once, and `VECTORS_DUE` stays noted
        until somebody has made the vectors.
        """
        purged = sorted(self._replica.purged(done=False))
        if purged:
            self._purge(purged)
            with self._replica.writing():
                for memory_id in purged:
                    self._replica.note_purge(memory_id, self._account.subject(memory_id), done=True)
            self._replica.clear_log()
        stored = self._store.purged_memories()
        gone = self._replica.purged() | (stored - self._purged_as_a_teams(stored))
        embed = len(self._replica.pending(limit=BATCH + 1)) <= BATCH
        applied = left = 0
        tried: set[str] = set()
        while pending := [
            name for name in self._replica.pending(limit=BATCH + len(tried)) if name not in tried
        ]:
            batch = pending[:BATCH]
            tried.update(batch)
            written, refused, related = self._apply(batch, gone, embed=embed)
            applied += written
            left += refused
            tried -= related
        return Carried(applied=applied, purged=len(purged), left=left)

    def _apply(
        self, memory_ids: Sequence[str], gone: frozenset[str], *, embed: bool
    ) -> tuple[int, int, frozenset[str]]:
        """Write the merged states of some memories; return (memories written, memories left, ids whose relations can be written now)."""
        everything = self._store.scopes()
        stored = {memory.id: memory for memory in self._store.get(memory_ids, scope=everything)}
        states: dict[str, tuple[MergedState, tuple[str, ...]]] = {}
        settled: dict[str, Settled] = {}
        expected: dict[str, str] = {}
        left = 0
        for memory_id in memory_ids:
            heads = [] if memory_id in gone else self._heads(memory_id)
            if not heads:
                settled[memory_id] = Settled()
                continue
            state = merge_heads(heads, base=self._base_of(heads))
            now = stored.get(memory_id)
            if now is not None and not (is_shared(now) or now.provenance.team):
                settled[memory_id] = self._replica.settled(memory_id) or Settled()
                continue  # it was taken back on this device
            if now is not None:
                newest = self._store.recorded(scope=everything, limit=1, memory_id=memory_id)
                if self._written_since(memory_id, now):
                    left += 1
                    continue
                if newest:
                    expected[memory_id] = newest[0].change_id
            states[memory_id] = state, tuple(head.entry for head in heads)
        others = {
            other.id: other
            for state, _ in states.values()
            for other in state.others
            if other.id not in gone
            and other.id not in memory_ids  # another device has made it a memory already
            and not self._store.get([other.id], scope=everything)
        }
        changes: list[Change] = []
        relations: list[Relation] = []
        surplus: list[Relation] = []
        waiting: dict[str, list[Relation]] = {}
        there = self._shared_ends(states, others)
        for memory_id, (state, heads_of_state) in states.items():
            now = stored.get(memory_id)
            wanted = sorted_relations(each for each in state.relations if each.target_id in there)
            waiting[memory_id] = [
                each for each in state.relations if each.target_id not in there and each.target_id not in gone
            ]
            digest = state_digest(state.memory, wanted)
            settled[memory_id] = Settled(digest=digest, heads=heads_of_state)
            had = self._relations(now) if now is not None else ()
            if now is None or state_digest(now, had) != digest:
                changes.append(self._change(state, now))
                relations += wanted
                ends = {(each.target_id, each.type) for each in wanted}
                surplus += [each for each in had if (each.target_id, each.type) not in ends]
        changes += [Add(memory=other, reason=_reason()) for other in others.values()]
        with self._replica.writing():
            for memory_id, state_settled in settled.items():
                self._replica.intend(memory_id, state_settled)
        if surplus:
            self._store.unrelate(surplus)
        if changes and not self._write(changes, relations, expected, embed=embed):
            return 0, left + len(settled), frozenset()
        self._settle(settled)
        added = [change.memory.id for change in changes if isinstance(change, Add)]
        return len(changes), left, self._note_relations(waiting, added)

    def _shared_ends(
        self, states: Mapping[str, tuple[MergedState, tuple[str, ...]]], others: Mapping[str, Memory]
    ) -> frozenset[str]:
        """Return the ids at which relations of `states` can end: shared memories that are in the store or are written with `states` and `others`."""
        written = {name: state.memory for name, (state, _) in states.items()} | dict(others)
        targets = {each.target_id for state, _ in states.values() for each in state.relations}
        found = self._store.get(sorted(targets - written.keys()), scope=self._store.scopes())
        return frozenset(memory.id for memory in (*written.values(), *found) if is_shared(memory))

    def _note_relations(
        self, waiting: Mapping[str, Sequence[Relation]], added: Sequence[str]
    ) -> frozenset[str]:
        """Store the relations whose targets are not here yet. Mark the memories whose relations waited for `added` as pending and return their ids."""
        with self._replica.writing():
            for source, relations in waiting.items():
                self._replica.await_targets(source, relations)
            related = frozenset(source for target in added for source in self._replica.awaiting(target))
            for source in related:
                self._replica.wait_for(source)
        return related

    def _settle(self, settled: Mapping[str, Settled]) -> None:
        """Note in the replica that the store and the logs agree on these states (memory id -> state), which are no longer pending."""
        with self._replica.writing():
            for memory_id, state in settled.items():
                if state.digest or state.heads:
                    self._replica.settle(memory_id, state)
                self._replica.done_with(memory_id)

    def _written_since(self, memory_id: str, now: Memory) -> bool:
        """Whether the store holds a change of this memory that has no entry yet."""
        before = self._replica.settled(memory_id)
        digest = state_digest(now, self._relations(now))
        return before is not None and before.digest != digest and not self._ended_here_alone(now)

    def _write(
        self,
        changes: Sequence[Change],
        relations: Iterable[Relation],
        expected: dict[str, str],
        *,
        embed: bool,
    ) -> bool:
        """Write the changes to the store in one transaction, and if `embed` with new vectors; return False, writing nothing, if a memory was changed meanwhile."""
        memories = [change.memory for change in changes if isinstance(change, Add | Rewrite)]
        made = self._embed(memories) if embed else None
        if made is None:  # noted before the store is written: after a crash they are made all the same
            self._replica.put_fact(VECTORS_DUE, b"1")
        vectors, identity = made if made is not None else (None, None)
        try:
            self._store.apply(
                changes, vectors=vectors, identity=identity, relations=list(relations), expected=expected
            )
        except Conflict:
            return False
        return True

    def _change(self, state: MergedState, now: Memory | None) -> Change:
        if now is None:
            return Add(memory=state.memory, reason=_reason())
        memory = replace(state.memory, use_count=now.use_count, shown_count=now.shown_count)
        return Rewrite(memory=memory, reason=_reason())

    def _heads(self, memory_id: str) -> list[Head]:
        return self._opened(self._replica.head_entries(memory_id))

    def _base_of(self, heads: Sequence[Head]) -> Head | None:
        """Return the merge base of the heads: of the states that all of them replaced, the one with the longest history, ties by id.

        None = there is only one head, the heads have no common state, or it was purged.
        """
        if len(heads) < 2:
            return None
        first, *others = (self._replica.ancestors(head.entry) for head in heads)
        common = first.intersection(*others)
        ranked = sorted(common, key=lambda entry: (-len(self._replica.ancestors(entry)), entry))
        states = self._opened(self._replica.entries_named(ranked[:1]))
        return states[0] if states else None

    def _opened(self, entries: Iterable[Entry]) -> list[Head]:
        heads: list[Head] = []
        for entry in entries:
            body = open_entry(entry, self._account)
            if isinstance(body, StateBody):
                heads.append(Head(entry=entry.id, memory=body.memory, relations=body.relations))
        return heads

    def _remove(self, memory_ids: Sequence[str]) -> None:
        self._store.rewrite_texts(
            lambda text, _scope: text, dry_run=False, gone=Removal(memories=tuple(memory_ids))
        )


def _reason() -> ChangeReason:
    return ChangeReason(cause=ChangeCause.SYNCED)
