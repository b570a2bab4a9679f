"""The review queue and undo: what nobody but the user can decide. In: decisions. Out: the changes made.

In the queue: pairs that contradict each other, and statements that wait for a confirmation. What is rejected is remembered,
so that it is not learned again. Every decision is a version in the history, and can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tacit.app.care.undo import plan_undo
from tacit.app.memories import Memories
from tacit.app.parts import Parts
from tacit.capture.amend import with_amended_digests
from tacit.capture.reconcile.rejected import Rejected
from tacit.errors import InvalidInput, NotFound
from tacit.model.changes import Change, Edit, Merge, Retire, Skip
from tacit.model.memory import Memory, Provenance, Relation, TrustTier
from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryFilter, Recorded
from tacit.safety.trust import most_sensitive

ReviewAction = Literal["accept", "reject", "merge", "keep"]
LIVE: tuple[Literal["active"], Literal["quarantined"]] = ("active", "quarantined")
MOST = 100_000
MAX_EVIDENCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """One question to the user.

    Attributes:
        memory: the statement in question, the later one of a pair.
        other: what it contradicts; None = it waits for a confirmation.
        reason: why it is here.
    """

    memory: Memory
    other: Memory | None
    reason: str


def _order(pair: tuple[Memory, Memory]) -> tuple[int, str, str]:
    return -pair[0].created_at_ms, pair[0].id, pair[1].id


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
        self._rejected = Rejected(parts.store, parts.embedder)

    # --- the queue

    def queue(self, *, scope: ScopeFilter | None = None, limit: int = 50) -> tuple[ReviewItem, ...]:
        """What waits, pairs first, then the newest statement first; ties by id."""
        seen = scope or self._store.scopes()
        # Only what is in question: the page asks for the queue with every load, and most of a store is not in it.
        edges = [one for one in self._store.relations_of("contradicts", scope=seen) if one.weight > 0]
        ends = dict.fromkeys(end for one in edges for end in (one.source_id, one.target_id))
        by_id = {one.id: one for one in self._store.get(list(ends), scope=seen) if one.status in LIVE}
        pairs = [
            (by_id[edge.source_id], by_id[edge.target_id])
            for edge in edges
            if {edge.source_id, edge.target_id} <= by_id.keys()
        ]
        paired = {memory.id for pair in pairs for memory in pair}
        unconfirmed = MemoryFilter(statuses=("quarantined",))
        waiting = [
            one
            for one in self._store.list_memories(unconfirmed, scope=seen, limit=MOST)
            if one.id not in paired
        ]
        found: list[tuple[Memory, Memory | None]] = [
            *sorted(pairs, key=_order),
            *((memory, None) for memory in sorted(waiting, key=lambda m: (-m.created_at_ms, m.id))),
        ]
        return tuple(
            ReviewItem(memory=memory, other=other, reason=self._why(memory, other, seen))
            for memory, other in found[: max(limit, 0)]
        )

    def _why(self, memory: Memory, other: Memory | None, scope: ScopeFilter) -> str:
        if other is None:
            return f"{_said(memory.provenance)}, not confirmed by you"
        versions = self._store.recorded(scope=scope, limit=1000, memory_id=memory.id)
        return versions[-1].reason if versions else "contradicts"

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
        if memory.status not in LIVE or not (others or memory.status == "quarantined" or into):
            raise InvalidInput(
                f"{memory.id} does not wait for a decision.", hint="`tacit review list` shows what does."
            )
        match action:
            case "accept":
                changes = self._accept(memory, others, content)
            case "reject":
                reason = "rejected in review"
                changes = (Retire(memory_id=memory.id, at_ms=self._now(), reason=reason),)
                self._write(changes, values=self._rejected.with_one(memory))
            case "keep":
                changes = (Edit(memory=self._confirmed(memory), reason="kept in review"),)
                self._write(changes)
                self._settle(memory, others)
            case "merge":
                changes = self._merge(memory, self._target(memory, others, into))
        self._changed()
        return changes

    def _others(self, memory: Memory) -> tuple[Memory, ...]:
        """Live memories that contradict `memory`, undecided so far."""
        everything = self._store.scopes()
        edges = self._store.relations([memory.id], scope=everything)
        ids = [
            edge.target_id if edge.source_id == memory.id else edge.source_id
            for edge in edges
            if edge.type == "contradicts" and edge.weight > 0
        ]
        return tuple(m for m in self._store.get(ids, scope=everything) if m.status in LIVE)

    def _accept(self, memory: Memory, others: Sequence[Memory], content: str | None) -> tuple[Change, ...]:
        if content is not None:
            memory = self._memories.edit(
                memory, content=content, kind=None, when=None, scope=None, importance=None, pinned=None
            )
        accepted = Edit(memory=self._confirmed(memory), reason="accepted in review")
        ended = [
            Edit(memory=self._ended(other, memory.id), reason=f"{memory.id} was accepted in review")
            for other in others
        ]
        self._write((accepted, *ended), values=self._rejected.without(memory))
        self._store.relate(
            Relation(source_id=memory.id, target_id=other.id, type="updates") for other in others
        )
        return (accepted, *ended)

    def _merge(self, memory: Memory, target: Memory) -> tuple[Change, ...]:
        spans = [span for span in (memory.provenance.span or memory.content, *memory.evidence) if span]
        kept = replace(
            self._confirmed(target),
            frequency=target.frequency + memory.frequency,
            importance=max(target.importance, memory.importance),
            sensitivity=most_sensitive(target.sensitivity, memory.sensitivity),
            evidence=tuple(dict.fromkeys((*target.evidence, *spans)))[-MAX_EVIDENCE:],
            trigger=memory.trigger if target.trigger.empty else target.trigger,
        )
        changes = (
            Merge(memory=kept, reason=f"{memory.id} says the same, by review"),
            Edit(memory=self._ended(memory, target.id), reason=f"merged into {target.id} in review"),
        )
        self._write(changes)
        return changes

    def _target(self, memory: Memory, others: Sequence[Memory], into: str | None) -> Memory:
        target = self._show(into) if into else (others[0] if others else None)
        if target is None or target.id == memory.id or target.status not in LIVE:
            raise InvalidInput(
                f"There is nothing that {memory.id} could be merged into.",
                hint="Name a live memory with --into.",
            )
        return target

    def _settle(self, memory: Memory, others: Sequence[Memory]) -> None:
        """Both hold: the pair is no question any more."""
        self._store.relate(
            Relation(source_id=source, target_id=target, type="contradicts", weight=0.0)
            for other in others
            for source, target in ((memory.id, other.id), (other.id, memory.id))
        )

    def _confirmed(self, memory: Memory) -> Memory:
        provenance = replace(memory.provenance, tier=TrustTier.USER)
        return replace(memory, status="active", provenance=provenance, updated_at_ms=self._now())

    def _ended(self, memory: Memory, by: str) -> Memory:
        now = self._now()
        over = replace(memory.validity, valid_to_ms=max(now, memory.validity.valid_from_ms), superseded_by=by)
        return replace(memory, status="superseded", validity=over, updated_at_ms=now)

    # --- taking back

    def changes(
        self, *, scope: ScopeFilter | None = None, memory_id: str | None = None, limit: int = 20
    ) -> tuple[Recorded, ...]:
        """What was written last, newest first, with the reasons."""
        name = self._show(memory_id).id if memory_id else None
        return self._store.recorded(scope=scope or self._store.scopes(), limit=limit, memory_id=name)

    def undo(
        self, id_or_prefix: str | None = None, *, scope: ScopeFilter | None = None, keep_both: bool = False
    ) -> tuple[Change, ...]:
        """Take back the last change of a memory, or the last change of all within `scope`.

        Raises:
            NotFound: if there is no such memory, or nothing was written yet.
            InvalidInput: if something that came with it was changed again since, or `keep_both` has nothing to keep.
        """
        found = self.changes(scope=scope, memory_id=id_or_prefix, limit=1)
        if not found:
            raise NotFound("Nothing was written yet.", hint="`tacit list --changes` shows what was.")
        everything = self._store.scopes()
        beside = self._store.recorded(scope=everything, limit=MOST, at_ms=found[0].at_ms)
        changes = plan_undo(found[0], beside, clock=self._parts.clock, keep_both=keep_both)
        touched = [
            change.memory_id if isinstance(change, Retire) else change.memory.id
            for change in changes
            if not isinstance(change, Skip)
        ]
        for name in touched:
            newest = self._store.recorded(scope=everything, limit=1, memory_id=name)
            if newest and newest[0].at_ms > found[0].at_ms:
                raise InvalidInput(
                    f"{name} was changed again since; take that back first.",
                    hint=f"`tacit undo {name}`, or `tacit list --changes`.",
                )
        self._write(changes)
        self._changed()
        return changes

    def _write(self, changes: Sequence[Change], *, values: dict[str, str | None] | None = None) -> None:
        changes = with_amended_digests(changes, self._store)
        texts = [change.memory.content for change in changes if not isinstance(change, Retire | Skip)]
        if not texts:
            self._store.apply(changes, values=values)
            return
        embedder = self._parts.embedder
        self._store.apply(changes, vectors=embedder.embed(texts), identity=embedder.identity, values=values)

    def _now(self) -> int:
        return self._parts.clock.now_ms()


def _said(provenance: Provenance) -> str:
    """Where it comes from, in words."""
    if provenance.speaker == "agent":
        return "added by the agent (memory_add)"
    if provenance.tier is TrustTier.IMPORT and provenance.host:
        return f"imported from {provenance.host}"
    return f"said by {provenance.speaker}"
