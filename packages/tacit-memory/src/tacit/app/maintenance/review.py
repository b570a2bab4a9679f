"""The review queue and undo: what nobody but the user can decide. In: decisions. Out: the changes made.

What is rejected is remembered, so that it is not learned again. Every decision, also one on many statements, is one change,
and can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal

from tacit.app.maintenance.review_queue import LIVE, MAX_ENTRIES, ReviewFilter, ReviewQueue
from tacit.app.maintenance.undo import connected_versions, plan_undo
from tacit.app.memories import Memories
from tacit.app.nudges import Nudges
from tacit.app.parts import Parts
from tacit.capture.reconcile import Rejected
from tacit.capture.store import replaced_on_branch, with_amended_digests
from tacit.errors import Conflict, InvalidInput, NotFound
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Change, Edit, Merge, Retire, Skip
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory, Relation, TrustTier
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, Recorded, ValueChanges
from tacit.reading.memory_vectors import embedded_texts, memory_vectors
from tacit.safety.trust import ENDED_STATUSES, most_sensitive
from tacit.session.family import with_descendants

ReviewAction = Literal["accept", "reject", "merge", "keep"]
BulkAction = Literal["accept", "reject", "keep"]
MAX_EVIDENCE = 8
NO_LIMIT = 1_000_000
DECISIONS = (ChangeCause.ACCEPTED, ChangeCause.REJECTED, ChangeCause.KEPT)
"""Causes of the changes that are a decision itself; others come with one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _DecisionWrites:
    """The writes of one decision."""

    changes: tuple[Change, ...]
    rejected: tuple[Memory, ...] = ()
    forgiven: tuple[Memory, ...] = ()
    relations: tuple[Relation, ...] = ()


class Review:
    """Answers what waits for the user, over one open store."""

    def __init__(
        self,
        parts: Parts,
        *,
        memories: Memories,
        show: Callable[[str], Memory],
        changed: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._store = parts.store
        self._memories = memories
        self._show = show
        self._changed = changed
        self._rejected = Rejected(parts.store)
        nudges = Nudges(store=parts.store, clock=parts.clock, tokens=parts.tokens)
        settings = parts.settings.current
        self.queue = ReviewQueue(parts.store, settles=lambda: nudges.settles_anywhere(settings(None).recall))

    # --- decisions

    def decide(
        self,
        id_or_prefix: str,
        action: ReviewAction,
        *,
        content: str | None = None,
        into: str | None = None,
    ) -> tuple[Change, ...]:
        """Decide on one statement of the queue.

        Args:
            id_or_prefix: either statement of a pair, or one that waits.
            action: `accept` = it holds, and ends what it contradicts; `reject` = it goes, and is not learned again;
                `merge` = it says what the other says; `keep` = both hold.
            content: for `accept`, better words.
            into: for `merge`, the memory it says the same as; None = the other one of its pair.

        Raises:
            NotFound: if there is no such memory.
            InvalidInput: if it is not in the queue, or there is nothing to merge it with.
            RefusedByRedaction: if the better words hold a secret.
        """
        memory = self._show(id_or_prefix)
        others = self._others(memory)
        if not (into and memory.status in LIVE):
            self._must_wait(memory, others)
        match action:
            case "merge":
                writes = self._merge(memory, self._target(memory, others, into))
            case "accept":
                writes = self._accept(self._better(memory, content), (*others, *self._replaced(memory)))
            case "reject":
                writes = self._reject(memory)
            case "keep":
                writes = self._keep(memory, others)
        self._write(writes.changes, values=self._values(writes), relations=writes.relations)
        self._changed()
        return writes.changes

    def decide_all(
        self,
        action: BulkAction,
        *,
        ids: Sequence[str] = (),
        where: ReviewFilter | None = None,
        scope: ScopeFilter | None = None,
        count: int | None = None,
    ) -> tuple[Change, ...]:
        """Decide on many entries alike, in one change: those of `ids`, else all that `where` asks for.

        Args:
            action: as for `decide`.
            ids: of the statements, or their beginnings.
            where: which entries, where no ids are given.
            scope: what may be seen; None = everything.
            count: how many `where` must ask for, so that nobody decides on what they have not seen.

        Raises:
            NotFound: if there is no such memory.
            InvalidInput: if one of `ids` is not in the queue.
            Conflict: if `where` asks for another number than `count`.
        """
        if ids:
            memories = [self._show(name) for name in dict.fromkeys(ids)]
        else:
            memories = list(self.queue.matching(where or ReviewFilter(), scope=scope))
            if count is not None and len(memories) != count:
                raise Conflict(
                    f"{len(memories)} matching statements wait, not {count}; nothing was decided.",
                    hint="Check the list again, then decide on that number.",
                )
        decisions: list[_DecisionWrites] = []
        ended_ids: set[str] = set()
        for memory in memories:
            pair = self._others(memory)
            others = tuple(other for other in pair if other.id not in ended_ids)
            if memory.id in ended_ids or (pair and not others and memory.status == "active"):
                continue  # the decision on another one of these settled it
            self._must_wait(memory, others)
            match action:
                case "accept":
                    decisions.append(self._accept(memory, (*others, *self._replaced(memory))))
                    ended_ids.update(other.id for other in others)
                case "reject":
                    decisions.append(self._reject(memory))
                    ended_ids.add(memory.id)
                case "keep":
                    decisions.append(self._keep(memory, others))
        writes = _DecisionWrites(
            changes=tuple(change for decision in decisions for change in decision.changes),
            rejected=tuple(memory for decision in decisions for memory in decision.rejected),
            forgiven=tuple(memory for decision in decisions for memory in decision.forgiven),
            relations=tuple(relation for decision in decisions for relation in decision.relations),
        )
        if writes.changes:
            self._write(writes.changes, values=self._values(writes), relations=writes.relations)
            self._changed()
        return writes.changes

    def _must_wait(self, memory: Memory, others: Sequence[Memory]) -> None:
        read_off = memory.provenance.tier is TrustTier.IMPORT  # waits for nobody, but may be accepted
        if memory.status not in LIVE or not (others or read_off or memory.status == "quarantined"):
            raise InvalidInput(
                f"{memory.id} does not wait for a decision.", hint="`tacit review list` shows what does."
            )

    def _values(self, writes: _DecisionWrites) -> ValueChanges:
        return self._rejected.changed(add=writes.rejected, drop=writes.forgiven)

    def _others(self, memory: Memory) -> tuple[Memory, ...]:
        """Live memories that contradict `memory`, undecided so far."""
        everything = self._store.scopes()
        edges = self._store.relations([memory.id], scope=everything)
        ids = [
            edge.target_id if edge.source_id == memory.id else edge.source_id for edge in edges if edge.asks
        ]
        return tuple(m for m in self._store.get(ids, scope=everything) if m.status in LIVE)

    def _replaced(self, memory: Memory) -> tuple[Memory, ...]:
        """The memories that `memory` replaces, if it was learned on a branch that is gone. They end when the user accepts it."""
        if memory.branch is None or not memory.branch.gone:
            return ()
        return replaced_on_branch(self._store, memory)

    def _better(self, memory: Memory, content: str | None) -> Memory:
        """The memory in the user's words, not stored yet."""
        if content is None:
            return memory
        return self._memories.edited(
            memory, content=content, kind=None, when=None, scope=None, importance=None, pinned=None
        )

    def _accept(self, memory: Memory, others: Sequence[Memory]) -> _DecisionWrites:
        instead = ChangeReason(cause=ChangeCause.OTHER_ACCEPTED, memory_ids=(memory.id,))
        accepted = Edit(memory=self._confirmed(memory), reason=ChangeReason(cause=ChangeCause.ACCEPTED))
        ended = [Edit(memory=self._ended(other, memory.id), reason=instead) for other in others]
        relations = [Relation(source_id=memory.id, target_id=other.id, type="updates") for other in others]
        return _DecisionWrites(changes=(accepted, *ended), forgiven=(memory,), relations=tuple(relations))

    def _reject(self, memory: Memory) -> _DecisionWrites:
        retired = Retire(
            memory_id=memory.id, at_ms=self._now(), reason=ChangeReason(cause=ChangeCause.REJECTED)
        )
        return _DecisionWrites(changes=(retired,), rejected=(memory,))

    def _keep(self, memory: Memory, others: Sequence[Memory]) -> _DecisionWrites:
        """Both hold: the pair is no question any more.

        Raises:
            InvalidInput: if it is no pair. To keep one statement that waits is to accept it, which is to be said.
        """
        if not others:
            raise InvalidInput(
                f"{memory.id} contradicts nothing, so there is no pair to keep.",
                hint=f"`tacit review accept {memory.id}` confirms it, `tacit review reject {memory.id}` drops it.",
            )
        settled = tuple(
            Relation(source_id=source, target_id=target, type="contradicts", weight=0.0)
            for other in others
            for source, target in ((memory.id, other.id), (other.id, memory.id))
        )
        edit = Edit(memory=self._confirmed(memory), reason=ChangeReason(cause=ChangeCause.KEPT))
        return _DecisionWrites(changes=(edit,), relations=settled)

    def _merge(self, memory: Memory, target: Memory) -> _DecisionWrites:
        spans = [span for span in (memory.provenance.span or memory.content, *memory.evidence) if span]
        merged = replace(
            self._confirmed(target),
            frequency=target.frequency + memory.frequency,
            importance=max(target.importance, memory.importance),
            sensitivity=most_sensitive(target.sensitivity, memory.sensitivity),
            evidence=tuple(dict.fromkeys((*target.evidence, *spans)))[-MAX_EVIDENCE:],
            trigger=memory.trigger if target.trigger.empty else target.trigger,
        )
        changes = (
            Merge(
                memory=merged,
                reason=ChangeReason(cause=ChangeCause.MERGED_BY_REVIEW, memory_ids=(memory.id,)),
            ),
            Edit(
                memory=self._ended(memory, target.id),
                reason=ChangeReason(cause=ChangeCause.MERGED_INTO, memory_ids=(target.id,)),
            ),
        )
        return _DecisionWrites(changes=changes)

    def _target(self, memory: Memory, others: Sequence[Memory], into: str | None) -> Memory:
        target = self._show(into) if into else (others[0] if others else None)
        if target is None or target.id == memory.id or target.status not in LIVE:
            raise InvalidInput(
                f"There is no memory that {memory.id} could be merged into.",
                hint="Name a live memory with --into.",
            )
        return target

    def _confirmed(self, memory: Memory) -> Memory:
        provenance = replace(memory.provenance, tier=TrustTier.USER)
        branch = None if memory.branch is not None and memory.branch.gone else memory.branch
        return replace(
            memory.leading(), status="active", provenance=provenance, branch=branch, updated_at_ms=self._now()
        )

    def _ended(self, memory: Memory, by: str) -> Memory:
        now = self._now()
        validity = replace(
            memory.validity, valid_to_ms=max(now, memory.validity.valid_from_ms), superseded_by=by
        )
        return replace(memory, status="superseded", validity=validity, updated_at_ms=now)

    # --- taking back

    def changes(
        self,
        *,
        scope: ScopeFilter | None = None,
        memory_id: str | None = None,
        change_id: str | None = None,
        limit: int = 20,
    ) -> tuple[Recorded, ...]:
        """List the latest changes with their reasons, newest first: of all memories, of one memory, or by one change id."""
        name = self._show(memory_id).id if memory_id else None
        return self._store.recorded(
            scope=scope or self._store.scopes(), limit=limit, memory_id=name, change_id=change_id
        )

    def undo(
        self, change_or_memory: str, *, memory_id: str | None = None, keep_both: bool = False
    ) -> tuple[Change, ...]:
        """Take a change back.

        Args:
            change_or_memory: the id of a change; or of a memory, for the last change of that memory.
            memory_id: of the change, only what it did to this memory and to what that replaced.
            keep_both: let the later statement of a supersession or a merge stay.

        Raises:
            NotFound: if there is no such change or memory, or the change did nothing to the memory.
            Conflict: if a later change touched one of its memories.
            InvalidInput: if `keep_both` has nothing to keep.
        """
        everything = self._store.scopes()
        change_id = change_or_memory
        if not change_id.startswith("chg_"):
            memory_id = self._show(change_or_memory).id
            change_id = self._store.recorded(scope=everything, limit=1, memory_id=memory_id)[0].change_id
        versions = self._store.recorded(scope=everything, limit=MAX_ENTRIES, change_id=change_id)
        if memory_id is not None:
            versions = connected_versions(versions, self._show(memory_id).id)
        if not versions:
            raise NotFound(f"There is no change {change_id}.", hint="`tacit list --changes` names changes.")
        # A digest that quoted what was ended is derived: where it has changed since, it stays as it is.
        versions = tuple(
            version
            for version in versions
            if version.memory.kind != DIGEST or self._untouched(version, change_id)
        )
        return self._take_back(
            versions,
            expected={version.memory.id: change_id for version in versions},
            keep_both=keep_both,
            forgiven=(ChangeCause.REJECTED, ChangeCause.UNDONE),
        )

    def undo_session(self, key: SessionKey) -> tuple[Change, ...]:
        """Take back all that a session and its subagents taught: what was captured or noted there goes, what that ended or changed is as before.

        What goes is not learned again unasked. It is one change.

        Raises:
            NotFound: if nothing that holds was learned in it.
        """
        everything = self._store.scopes()
        memories = self._store.list_memories(MemoryFilter(statuses=None), scope=everything, limit=NO_LIMIT)
        parents = {session: None for memory in memories if (session := _session_of(memory)) is not None}
        parents |= {state.key: state.parent for state in self._store.list_sessions(limit=NO_LIMIT)}
        family = frozenset(with_descendants((key,), parents))
        taught_ids = {memory.id for memory in memories if _session_of(memory) in family}
        versions: list[Recorded] = []
        expected: dict[str, str] = {}
        for memory in memories:
            if memory.id in taught_ids or memory.status in ENDED_STATUSES:
                log = self._store.recorded(scope=everything, limit=NO_LIMIT, memory_id=memory.id)
                if (touched := _touched_by(log, family, taught_ids)) is not None:
                    versions.append(replace(touched, memory=memory))
                    expected[memory.id] = log[0].change_id
        if not versions:
            raise NotFound(
                f"Nothing that holds was learned in the session {key}.",
                hint="`tacit learned` shows what a session taught; a session is named host/id.",
            )
        return self._take_back(versions, expected=expected, rejects=True)

    def _take_back(
        self,
        versions: Sequence[Recorded],
        *,
        expected: Mapping[str, str],
        keep_both: bool = False,
        forgiven: Sequence[ChangeCause] = (),
        rejects: bool = False,
    ) -> tuple[Change, ...]:
        """Write what takes `versions` back; with `rejects` what was added is not learned again, what was changed for a cause of `forgiven` may be."""
        changes = plan_undo(versions, clock=self._parts.clock, keep_both=keep_both)
        self._write(
            changes,
            values=self._rejected.changed(
                add=[v.memory for v in versions if rejects and v.before is None and v.memory.kind != DIGEST],
                drop=[v.memory for v in versions if v.reason.cause in forgiven],
            ),
            relations=self._questioned_again(versions),
            expected=expected,
        )
        self._changed()
        return changes

    def _untouched(self, version: Recorded, change_id: str) -> bool:
        newest = self._store.recorded(scope=self._store.scopes(), limit=1, memory_id=version.memory.id)
        return bool(newest) and newest[0].change_id == change_id

    def _questioned_again(self, versions: Sequence[Recorded]) -> tuple[Relation, ...]:
        """The pairs that were settled by keeping both, as questions again."""
        kept_ids = [version.memory.id for version in versions if version.reason.cause is ChangeCause.KEPT]
        if not kept_ids:
            return ()
        scope = self._store.scopes()
        edges = [
            relation
            for relation in self._store.relations(kept_ids, scope=scope)
            if relation.type == "contradicts"
        ]
        sources = {memory.id: memory for memory in self._store.get([e.source_id for e in edges], scope=scope)}
        return tuple(
            replace(edge, weight=1.0)
            for edge in edges
            if edge.source_id in kept_ids and edge.weight == 0.0 and edge.source_id in sources
        )

    def _write(
        self,
        changes: Sequence[Change],
        *,
        values: ValueChanges | None = None,
        relations: Sequence[Relation] = (),
        expected: Mapping[str, str] | None = None,
    ) -> None:
        written = with_amended_digests(changes, self._store)
        carried = [change.memory for change in written if not isinstance(change, Retire | Skip)]
        stored = self._store.get([memory.id for memory in carried], scope=self._store.scopes())
        texts = {memory.id: embedded_texts(memory) for memory in stored}
        # Vectors are made only where words changed: a decision on a thousand statements changes none.
        words_changed = any(texts.get(memory.id) != embedded_texts(memory) for memory in carried)
        embedder = self._parts.embedder
        self._store.apply(
            written,
            vectors=memory_vectors(carried, embedder=embedder) if words_changed else None,
            identity=embedder.identity if words_changed else None,
            values=values,
            relations=relations,
            expected=expected,
        )

    def _now(self) -> int:
        return self._parts.clock.now_ms()


def _session_of(memory: Memory) -> SessionKey | None:
    provenance = memory.provenance
    return (
        SessionKey(host=provenance.host, session_id=provenance.session_id) if provenance.session_id else None
    )


def _touched_by(
    log: Sequence[Recorded], sessions: AbstractSet[SessionKey], taught_ids: AbstractSet[str]
) -> Recorded | None:
    """The version with which sessions changed a memory first; None = they did not, or it has ended otherwise since.

    Args:
        log: all versions of one memory, newest first.
        sessions: whose doing is looked for.
        taught_ids: the memories that they stated.
    """
    newest = log[0]
    by_them = newest.memory.validity.superseded_by in taught_ids or (
        newest.reason.cause is ChangeCause.FORGOTTEN_BY_AGENT
        and any(str(session) in newest.reason.terms for session in sessions)
    )
    ended = newest.memory.status in ENDED_STATUSES
    if ended and not by_them:
        return None
    first = next((version for version in reversed(log) if _session_of(version.memory) in sessions), newest)
    return None if ended and first.before is None else first
