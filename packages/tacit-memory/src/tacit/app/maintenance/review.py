"""The review queue and undo: what waits for the user, and what nobody but the user can decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Literal

from tacit.app.delivery_texts import Nudges
from tacit.app.memories import Memories
from tacit.app.reasons import change_text
from tacit.app.values import OpenStore
from tacit.capture.reconcile import rejected_changes
from tacit.capture.store import replaced_on_branch, with_amended_digests
from tacit.errors import Conflict, InvalidInput, NotFound
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Merge, Retire, Rewrite, Skip
from tacit.model.ids import new_id
from tacit.model.kinds import DIGEST
from tacit.model.memory import BY_TOOL, Memory, Relation, Sensitivity, TrustTier
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.session import SessionKey
from tacit.ports.clock import Clock
from tacit.ports.store import MemoryFilter, Recorded, SearchableStore, ValueChanges
from tacit.reading.memory_vectors import embedded_texts, memory_vectors
from tacit.safety.trust import ENDED_STATUSES, most_sensitive
from tacit.session.transitions import with_descendants
from tacit.statements.same import word_overlap
from tacit.text.spelling import holds_words
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import PATH_WORD

# Taking a change back. In: the versions that one change wrote. Out: the changes that bring back what stood before. Pure.
#
# A change is taken back whole, or for one memory of it together with what that memory replaced. What was replaced holds again
# and what was added is retired or, with `keep_both`, stays beside it. Nothing is deleted: taking back is a change too, and can
# be taken back.


def plan_undo(versions: Sequence[Recorded], *, clock: Clock, keep_both: bool = False) -> tuple[Change, ...]:
    """Return the changes that take `versions` back: those of one whole change, or the `connected_versions` of it. Writes nothing.

    Args:
        versions: what one change wrote.
        clock: for the time, and for ids of what is stored anew.
        keep_both: let the later statement of a supersession or a merge stay as one of its own.

    Raises:
        InvalidInput: if `keep_both` was asked for and there is nothing to keep.
    """
    now = clock.now_ms()
    restored = tuple(_restored(version, now) for version in versions if version.before is not None)
    added = [version for version in versions if version.before is None]
    if keep_both:
        if added and restored:
            return restored
        if added or len(versions) != 1:
            raise InvalidInput(
                "There is no second statement to keep.", hint="Run the command without --keep-both."
            )
        return (*restored, _split_merged(versions[0], clock))
    retired = (Retire(memory_id=version.memory.id, at_ms=now, reason=_reason(version)) for version in added)
    return (*restored, *retired)


def connected_versions(versions: Sequence[Recorded], memory_id: str) -> tuple[Recorded, ...]:
    """Return the version of `memory_id` and those of memories that it replaced or that replaced it, in the order given."""
    connected_ids = {memory_id}
    while True:
        more = {
            end
            for version in versions
            for end in (version.memory.id, *_superseding_ids(version))
            if connected_ids & {version.memory.id, *_superseding_ids(version)}
        }
        if more <= connected_ids:
            return tuple(version for version in versions if version.memory.id in connected_ids)
        connected_ids |= more


def _superseding_ids(version: Recorded) -> tuple[str, ...]:
    """Return the id of the superseding memory that this version set or removed; () = it did neither."""
    after = version.memory.validity.superseded_by
    before = version.before.validity.superseded_by if version.before is not None else None
    return tuple(name for name in (after, before) if name and after != before)


def _reason(version: Recorded) -> ChangeReason:
    return ChangeReason(cause=ChangeCause.UNDONE, further=(version.reason,))


def _restored(version: Recorded, now_ms: int) -> Rewrite:
    assert version.before is not None
    return Rewrite(memory=replace(version.before, updated_at_ms=now_ms), reason=_reason(version))


def _split_merged(merged: Recorded, clock: Clock) -> Add:
    """Return the change that stores the statement merged into a memory as a memory of its own, in its original words."""
    before = merged.before
    assert before is not None
    own_evidence = [span for span in merged.memory.evidence if span not in before.evidence]
    if not own_evidence or merged.memory.frequency <= before.frequency:
        raise InvalidInput(
            "This memory holds no merged statement that could stand alone.",
            hint="Run the command without --keep-both.",
        )
    now = clock.now_ms()
    separate: Memory = replace(
        before,
        id=new_id("mem", now_ms=now, entropy=clock.entropy(5)),
        content=own_evidence[-1],
        created_at_ms=now,
        updated_at_ms=now,
        validity=replace(before.validity, valid_from_ms=now, valid_to_ms=None, superseded_by=None),
        frequency=1,
        use_count=0,
        shown_count=0,
        evidence=(),
        provenance=replace(before.provenance, span=own_evidence[-1]),
    )
    return Add(memory=separate, reason=_reason(merged))


# The review queue: what waits for the user. In: a store, what is asked for. Out: entries in order, counts, reasons in words.
#
# In the queue: pairs that contradict each other and that agents had three sessions to settle and did not, then statements that wait for a confirmation, newest first. Never changes
# anything.

LIVE: tuple[Literal["active"], Literal["quarantined"]] = ("active", "quarantined")
MAX_ENTRIES = 100_000
MIN_SHARED_WORDS = 0.5
"""Least share of common words of two statements at which their difference is explained word by word."""
SHOWN_WORDS = 4

ReviewCause = Literal["contradiction", "agent", "import", "unconfirmed", "branch"]
"""Why a statement waits: it contradicts another one; an agent added it; it was imported; it was captured and not confirmed; its branch was deleted."""

ReviewGroup = Literal["kind", "source", "tier", "cause", "scope"]
GROUPS: tuple[ReviewGroup, ...] = ("kind", "source", "tier", "cause", "scope")


@frozen
class ReviewItem:
    """One entry of the queue, a question to the user.

    Attributes:
        memory: the statement in question, the later one of a pair.
        other: what it contradicts; None = it waits for a confirmation.
        cause: why it is here, as one of a few words.
        reason: why it is here, as a sentence.
        alike: whether the words of a pair are alike enough for a comparison word by word.
    """

    memory: Memory
    other: Memory | None
    cause: ReviewCause
    reason: str
    alike: bool = False

    @property
    def groups(self) -> Mapping[ReviewGroup, str]:
        """Return `{group: value}` for this entry, for example its kind and its source."""
        scope = self.memory.scope
        return {
            "kind": self.memory.kind,
            "source": self.memory.provenance.source,
            "tier": self.memory.provenance.tier.name.lower(),
            "cause": self.cause,
            "scope": str(project_scope(scope.project_id)) if scope.project_id else str(scope),
        }


@frozen
class ReviewFilter:
    """A filter of entries; an empty field lets all through. `text` = all of these words, in any order."""

    kind: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    text: str = ""


@frozen
class ReviewPage:
    """One page of the queue, with counts.

    Attributes:
        items: the entries.
        total: how many the filter asks for.
        waiting: how many wait in all.
        groups: of those asked for, how many by kind, source, tier, cause and scope, most first.
        following: where the next part begins; None = this is the last.
    """

    items: tuple[ReviewItem, ...]
    total: int
    waiting: int
    groups: Mapping[ReviewGroup, Sequence[tuple[str, int]]]
    following: tuple[int, str] | None


_EVERYTHING = ReviewFilter()
_Entry = tuple[Memory, Memory | None]
_Place = tuple[int, int, str, str]


class QueueReader:
    """Reads the review queue from one store; writes nothing."""

    def __init__(
        self, store: SearchableStore, *, settles: Callable[[], Callable[[Relation], bool] | None]
    ) -> None:
        """`settles` returns a test whether agents may still settle a pair; None instead = they settle none."""
        self._store = store
        self._settles = settles

    def page(
        self,
        where: ReviewFilter = _EVERYTHING,
        *,
        scope: ScopeFilter | None = None,
        limit: int = 50,
        after: tuple[int, str] | None = None,
        levels: tuple[Sensitivity, ...] | None = None,
    ) -> ReviewPage:
        """Return up to `limit` entries that fit `where`; `after` = the `following` of the page before, None = from the start.

        Memories of other sensitivities than `levels` (None = any) are neither shown nor counted.
        """
        entries = self._entries(scope or self._store.scopes(), levels)
        fitting = _filtered(entries, where)
        counts: dict[ReviewGroup, Counter[str]] = {name: Counter() for name in GROUPS}
        for memory, other in fitting:
            for name, value in ReviewItem(
                memory=memory, other=other, cause=_cause(memory, other), reason=""
            ).groups.items():
                counts[name][value] += 1
        remaining = (
            fitting if after is None else [item for item in fitting if _place(item) > _place_of(after)]
        )
        shown = remaining[: max(limit, 0)]
        return ReviewPage(
            items=tuple(self._item(*entry) for entry in shown),
            total=len(fitting),
            waiting=len(entries),
            groups={
                name: sorted(count.items(), key=lambda item: (-item[1], item[0]))
                for name, count in counts.items()
            },
            following=_following(shown[-1]) if shown and len(remaining) > len(shown) else None,
        )

    def matching(self, where: ReviewFilter, *, scope: ScopeFilter | None) -> tuple[Memory, ...]:
        """Return the statements that fit `where` and wait for a confirmation; pairs are decided one at a time."""
        entries = _filtered(self._entries(scope or self._store.scopes()), where)
        return tuple(memory for memory, other in entries if other is None)

    def _entries(self, scope: ScopeFilter, levels: tuple[Sensitivity, ...] | None = None) -> list[_Entry]:
        live = MemoryFilter(statuses=LIVE, sensitivities=levels)
        with self._store.at_once():
            edges = [
                relation for relation in self._store.relations_of("contradicts", scope=scope) if relation.asks
            ]
            ends = dict.fromkeys(
                end for relation in edges for end in (relation.source_id, relation.target_id)
            )
            by_id = {
                memory.id: memory for memory in self._store.get(list(ends), scope=scope) if live.fits(memory)
            }
            unconfirmed = replace(live, statuses=("quarantined",))
            waiting = self._store.list_memories(unconfirmed, scope=scope, limit=MAX_ENTRIES)
        settles = self._settles()
        pairs = [
            (by_id[edge.source_id], by_id[edge.target_id])
            for edge in edges
            if {edge.source_id, edge.target_id} <= by_id.keys()
            and not any(by_id[end].ranks_behind for end in (edge.source_id, edge.target_id))
            and not (settles is not None and self._is_shown(edge, by_id) and settles(edge))
        ]
        paired = {memory.id for pair in pairs for memory in pair}
        entries: list[_Entry] = [*pairs, *((memory, None) for memory in waiting if memory.id not in paired)]
        return sorted(entries, key=_place)

    def _is_shown(self, pair: Relation, by_id: Mapping[str, Memory]) -> bool:
        """Whether both memories of a pair are active; only such pairs are shown to agents."""
        return all(by_id[end].status == "active" for end in (pair.source_id, pair.target_id))

    def _item(self, memory: Memory, other: Memory | None) -> ReviewItem:
        cause = _cause(memory, other)
        if other is None and memory.branch is not None and memory.branch.gone:
            reason = (
                f"learned on the branch {memory.branch.name}, which is gone; it is not known whether it was merged. "
                "If you accept it, it holds for the whole project; if you reject it, it is dropped"
            )
            return ReviewItem(memory=memory, other=None, cause=cause, reason=reason)
        if other is None:
            return ReviewItem(
                memory=memory, other=None, cause=cause, reason=f"{_source_text(memory)}, not confirmed by you"
            )
        versions = self._store.recorded(scope=self._store.scopes(), limit=MAX_ENTRIES, memory_id=memory.id)
        alike = word_overlap(memory.content, other.content) >= MIN_SHARED_WORDS
        reason = _contradiction(memory, other, versions[-1].reason if versions else None, alike=alike)
        return ReviewItem(memory=memory, other=other, cause=cause, reason=reason, alike=alike)


def _place(entry: _Entry) -> _Place:
    """Return the sort key of an entry: pairs first, then the newest memory first, ties by id."""
    memory, other = entry
    return int(other is None), -memory.created_at_ms, memory.id, other.id if other else ""


def _following(entry: _Entry) -> tuple[int, str]:
    memory, other = entry
    return memory.created_at_ms, f"{memory.id} {other.id if other else ''}"


def _place_of(following: tuple[int, str]) -> _Place:
    created, names = following
    memory, _, other = names.partition(" ")
    return int(not other), -created, memory, other


def _filtered(entries: Sequence[_Entry], where: ReviewFilter) -> list[_Entry]:
    if where == _EVERYTHING:
        return list(entries)
    selected: dict[ReviewGroup, set[str]] = {
        name: set(values) for name in GROUPS if (values := getattr(where, name))
    }
    return [entry for entry in entries if _fits(entry, selected, where.text)]


def _fits(entry: _Entry, selected: Mapping[ReviewGroup, set[str]], text: str) -> bool:
    memory, other = entry
    groups = ReviewItem(memory=memory, other=other, cause=_cause(memory, other), reason="").groups
    if any(groups[name] not in values for name, values in selected.items()):
        return False
    return not text or holds_words(f"{memory.content} {other.content if other else ''}", text)


def _cause(memory: Memory, other: Memory | None) -> ReviewCause:
    if other is not None:
        return "contradiction"
    if memory.branch is not None and memory.branch.gone:
        return "branch"
    if memory.provenance.speaker == "agent":
        return "agent"
    return "import" if memory.provenance.tier is TrustTier.IMPORT else "unconfirmed"


def _source_text(memory: Memory) -> str:
    """Return a phrase that says where a memory came from."""
    provenance = memory.provenance
    if provenance.speaker == "agent":
        if provenance.source == BY_TOOL:
            return "added by the agent (memory_add)"
        return "added by a program or an agent"
    if provenance.tier is TrustTier.IMPORT and provenance.host:
        return f"imported from {provenance.host}"
    return f"said by {provenance.speaker}"


def _shared(text: str, other: str) -> list[str]:
    """Return the meaningful words of `text`, as written there, that also occur in `other`; at most `SHOWN_WORDS`."""
    words = dict.fromkeys(PATH_WORD.findall(text))
    others = {word.lower() for word in PATH_WORD.findall(other)} - STATEMENT_STOP_WORDS
    return [word for word in words if word.lower() in others][:SHOWN_WORDS]


def _is_about(reason: ChangeReason, memory_id: str) -> bool:
    """Whether the reason names the memory `memory_id`."""
    return memory_id in reason.memory_ids


def _contradiction(memory: Memory, other: Memory, recorded: ChangeReason | None, *, alike: bool) -> str:
    """Explain why a pair waits.

    What was recorded says how the two differ word by word: of other than similar texts nobody can read that.
    """
    parts = recorded.parts() if recorded is not None else ()
    reason = next((part for part in parts if _is_about(part, other.id)), None)
    against = next((change_text(part.but) for part in reversed(parts) if part.but is not None), "")
    shared = _shared(memory.content, other.content)
    if alike and reason is not None:
        return change_text(replace(reason, further=())).replace(other.id, "the one on record")
    about = f"; both speak of {', '.join(shared)}" if shared else ""
    return "the two may not both hold" + about + (f" ({against})" if against else "")


# The review queue and undo: what nobody but the user can decide. In: decisions. Out: the changes made.
#
# What is rejected is remembered, so that it is not learned again. Every decision, also one on many statements, is one change,
# and can be taken back.

ReviewAction = Literal["accept", "reject", "merge", "keep"]
BulkAction = Literal["accept", "reject"]
MAX_EVIDENCE = 8
NO_LIMIT = 1_000_000
DECISIONS = (ChangeCause.ACCEPTED, ChangeCause.REJECTED, ChangeCause.KEPT)
"""Causes of changes that are a decision themselves; other changes only come with one."""


@frozen
class _DecisionWrites:
    """The writes of one decision: changes, memories to remember as rejected or no longer, and relations."""

    changes: tuple[Change, ...]
    rejected: tuple[Memory, ...] = ()
    forgiven: tuple[Memory, ...] = ()
    relations: tuple[Relation, ...] = ()


class Review:
    """Decides on entries of the review queue and undoes changes, over one open store."""

    def __init__(self, opened: OpenStore, *, memories: Memories) -> None:
        self._parts = parts = opened.parts
        self._changed = opened.changed
        self._store = parts.store
        self._memories = memories
        nudges = Nudges(parts)
        settings = parts.settings.current
        self.queue = QueueReader(
            parts.store, settles=lambda: nudges.settling_test_of_any_host(settings(None).recall)
        )

    def _show(self, id_or_prefix: str) -> Memory:
        return self._store.resolve(id_or_prefix, scope=self._store.scopes())

    # --- decisions

    def decide(
        self,
        id_or_prefix: str,
        action: ReviewAction,
        *,
        content: str | None = None,
        into: str | None = None,
    ) -> tuple[Change, ...]:
        """Decide on one statement of the queue, store the decision, and return the changes made.

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
        expected_count: int | None = None,
    ) -> tuple[Change, ...]:
        """Accept or refuse many statements at once, all or none: those of `ids`, else all that fit `where`. Return the changes.

        A pair is decided by itself, because one of the two may end by it.

        Args:
            action: as for `decide`.
            ids: of the statements, or their beginnings.
            where: which entries, where no ids are given.
            scope: what may be seen; None = everything.
            expected_count: how many `where` must ask for, so that nobody decides on what they have not seen.

        Raises:
            NotFound: if there is no such memory.
            InvalidInput: if one of `ids` is not in the queue, or belongs to a pair.
            Conflict: if `where` asks for another number than `expected_count`.
        """
        if ids:
            memories = [self._show(name) for name in dict.fromkeys(ids)]
        else:
            memories = list(self.queue.matching(where or ReviewFilter(), scope=scope))
            if expected_count is not None and len(memories) != expected_count:
                raise Conflict(
                    f"{len(memories)} matching statements wait, not {expected_count}; nothing was decided.",
                    hint="Check the list again, then decide on that number.",
                )
        decisions: list[_DecisionWrites] = []
        for memory in memories:
            if ids and (pair := self._others(memory)):
                raise InvalidInput(
                    f"{memory.id} and {pair[0].id} contradict each other: a pair is decided by itself.",
                    hint=f"Decide on {memory.id} alone, and name the others without it.",
                )
            self._must_wait(memory, ())
            accepted = action == "accept"
            decisions.append(
                self._accept(memory, self._replaced(memory)) if accepted else self._reject(memory)
            )
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
        return rejected_changes(self._store, add=writes.rejected, drop=writes.forgiven)

    def _others(self, memory: Memory) -> tuple[Memory, ...]:
        """Return the live memories that contradict `memory` and are undecided so far."""
        everything = self._store.scopes()
        edges = self._store.relations([memory.id], scope=everything)
        ids = [
            edge.target_id if edge.source_id == memory.id else edge.source_id for edge in edges if edge.asks
        ]
        return tuple(m for m in self._store.get(ids, scope=everything) if m.status in LIVE)

    def _replaced(self, memory: Memory) -> tuple[Memory, ...]:
        """Return the memories that `memory` replaces, if its branch is gone; they end when the user accepts it."""
        if memory.branch is None or not memory.branch.gone:
            return ()
        return replaced_on_branch(self._store, memory)

    def _better(self, memory: Memory, content: str | None) -> Memory:
        """Return the memory with the user's better words, or as it is if `content` is None; nothing is stored."""
        return memory if content is None else self._memories.edited(memory, content=content)

    def _accept(self, memory: Memory, others: Sequence[Memory]) -> _DecisionWrites:
        instead = ChangeReason(cause=ChangeCause.OTHER_ACCEPTED, memory_ids=(memory.id,))
        accepted = Rewrite(memory=self._confirmed(memory), reason=ChangeReason(cause=ChangeCause.ACCEPTED))
        ended = [
            Rewrite(memory=other.ended_by(memory.id, at_ms=self._now()), reason=instead) for other in others
        ]
        relations = [Relation(source_id=memory.id, target_id=other.id, type="updates") for other in others]
        return _DecisionWrites(changes=(accepted, *ended), forgiven=(memory,), relations=tuple(relations))

    def _reject(self, memory: Memory) -> _DecisionWrites:
        retired = Retire(
            memory_id=memory.id, at_ms=self._now(), reason=ChangeReason(cause=ChangeCause.REJECTED)
        )
        return _DecisionWrites(changes=(retired,), rejected=(memory,))

    def _keep(self, memory: Memory, others: Sequence[Memory]) -> _DecisionWrites:
        """Return the writes that let both memories of a pair hold, so that it is no question any more.

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
        edit = Rewrite(memory=self._confirmed(memory), reason=ChangeReason(cause=ChangeCause.KEPT))
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
            Rewrite(
                memory=memory.ended_by(target.id, at_ms=self._now()),
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
        """Undo a change, whole or for one memory, and return the changes that do so. An undo can be undone, too.

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
        """Undo all that a session and its subagents taught: what was learned there goes, what it ended or changed is restored.

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
                hint="`tacit sessions --learned` shows what a session taught; a session is named host/id.",
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
        """Write and return the changes that take `versions` back.

        `expected` = the newest change id of each memory, else `Conflict`. With `rejects` what was added is
        not learned again; what was changed for a cause of `forgiven` may be.
        """
        changes = plan_undo(versions, clock=self._parts.clock, keep_both=keep_both)
        self._write(
            changes,
            values=rejected_changes(
                self._store,
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
        """Return the relations of pairs that were settled by keeping both, as open questions again."""
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
    """Return the version to undo for one memory, the first that `sessions` wrote; None = they changed nothing, or it has ended otherwise since.

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
