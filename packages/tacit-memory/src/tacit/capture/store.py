"""Deciding and storing, so that one write holds everything. In: prepared memories. Out: the changes made.

Vectors are made before and outside of every lock; candidates come from the store's own rankings. Two threads that
capture the same words at once are serialized here. Never stores half of a batch. The record of a statement's fate holds no words of the
session: it names the memory, and the quoted span by its hash.

Edits of digests that quote decisions which ended or were restricted. In: changes about to be stored. Out: these changes, and edits of digests.

A digest quotes what was decided. When the decision is replaced, forgotten, taken back or hidden from agents by its sensitivity,
the line goes: it must not come back with the story of an earlier session. Reads the store; never writes.

The changes of memories whose branch was merged, deleted, renamed or restored. In: memories and their neighbors. Out: changes.

When its branch is merged, a memory holds for the whole project and is reconciled like a new statement: the memories that it replaced on its branch end, it
is merged into a memory that says the same, and the user is asked about a possible contradiction. When its branch is deleted without a merge, the user is
asked about the memory; notes of sessions stay bound and fade. Only the functions that take a store read from it; none writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.capture.prepare import infer_relations, same_exchange, share_of_entities
from tacit.capture.reconcile import Judge, Neighbor, judge_by_words, reconcile, with_copies_ended
from tacit.errors import EmbedderMismatch, ProviderError, StoreError
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason, join_reasons
from tacit.model.changes import Add, Change, Contradict, Merge, Retire, Rewrite, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.kinds import BUILTIN_KINDS, DIGEST, KindRegistry
from tacit.model.memory import Memory, Provenance, Relation, Sensitivity
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder, EmbedderIdentity, Vectors
from tacit.ports.store import MemoryFilter, MemoryStore, Step, Store, ValueChanges, ValueName, no_step
from tacit.reading.digest_lines import lines_of, without_decision
from tacit.reading.memory_vectors import combine, embedded_texts, unread_language
from tacit.safety.trust import why_hidden
from tacit.state.captured import BranchState, Fate, StatementOutcome
from tacit.state.registry import BRANCHES, OUTCOMES
from tacit.statements.replaces import search_words_for_ended
from tacit.statements.same import NEAR_WORDS, word_overlap

QUOTED = ("decision", "correction")
"""Kinds of memories that a digest quotes."""
_OVER = ("superseded", "retired")
_MOST = 50


def with_amended_digests(changes: Sequence[Change], store: MemoryStore) -> tuple[Change, ...]:
    """Return `changes` whose digests quote no decision that has ended or is hidden from agents, then the edits of stored digests that quote one.

    A digest that is empty afterwards is retired.
    """
    ended = _memories_ended(changes, store)
    amended = [_amended(change, ended, store) for change in changes]
    digest_ids = {
        change.memory.id
        for change in changes
        if isinstance(change, Add | Rewrite) and _is_digest(change.memory)
    }
    at_ms = max((_moment(change) for change in changes), default=0)
    return (*amended, *_edits(ended, store, digest_ids, at_ms))


def _memories_ended(changes: Sequence[Change], store: MemoryStore) -> tuple[Memory, ...]:
    """Return the stored memories of the kinds that digests quote (`QUOTED`) which `changes` end, or hide from agents."""
    ids: list[str] = []
    for change in changes:
        match change:
            case Supersede():
                ids += [change.old_id, *change.further]
            case Retire():
                ids.append(change.memory_id)
            case Rewrite() | Merge() if _is_untold(change.memory):
                ids.append(change.memory.id)
            case _:
                pass
    memories = store.get(ids, scope=store.scopes()) if ids else ()
    return tuple(memory for memory in memories if memory.kind in QUOTED)


def _amended(change: Change, ended: Sequence[Memory], store: MemoryStore) -> Change:
    """Return `change`; if it writes a digest, without its quotes of decisions that have ended or are hidden. A digest of nothing else is not written, and a stored one ends."""
    if not isinstance(change, Add | Rewrite) or not _is_digest(change.memory):
        return change
    memory = change.memory
    over = [gone.content for gone in ended if gone.scope == memory.scope]
    scope = ScopeFilter.of(memory.scope)
    for code, text in lines_of(memory.content):
        if code == "dec":
            quoting = MemoryFilter(kinds=QUOTED, statuses=None, text=text.removesuffix("..."))
            memories = store.list_memories(quoting, scope=scope, limit=_MOST)
            if memories and all(_is_untold(statement) for statement in memories):
                over += [statement.content for statement in memories]
    if content := _without(memory.content, over):
        return replace(change, memory=replace(memory, content=content))
    reason = ChangeReason(cause=ChangeCause.QUOTES_ENDED)
    if isinstance(change, Add):
        return Skip(content=memory.content, reason=reason)
    return Retire(memory_id=memory.id, at_ms=_moment(change), reason=reason)


def _edits(ended: Iterable[Memory], store: MemoryStore, digest_ids: set[str], at_ms: int) -> list[Change]:
    """Return changes that take `ended` memories out of the stored digests that quote them, except `digest_ids`."""
    digests: dict[str, Memory] = {}
    contents: dict[str, str] = {}
    for memory in ended:
        quoting = MemoryFilter(kinds=(DIGEST,), text=f"dec: {memory.content[:100]}")
        for note in store.list_memories(quoting, scope=ScopeFilter.of(memory.scope), limit=_MOST):
            if note.id not in digest_ids:
                digests[note.id] = note
                contents[note.id] = _without(contents.get(note.id, note.content), [memory.content])
    reason = ChangeReason(cause=ChangeCause.QUOTES_ENDED)
    return [
        Rewrite(memory=replace(digests[name], content=content), reason=reason)
        if content
        else Retire(memory_id=name, at_ms=at_ms, reason=reason)
        for name, content in contents.items()
        if content != digests[name].content
    ]


def _moment(change: Change) -> int:
    if isinstance(change, Supersede | Retire):
        return change.at_ms
    return change.memory.updated_at_ms if isinstance(change, Rewrite) else 0


def _is_untold(memory: Memory) -> bool:
    """Whether a digest may not quote the memory, because it ended or agents may not see it."""
    return memory.status in _OVER or memory.sensitivity > Sensitivity.PROJECT


def _is_digest(memory: Memory) -> bool:
    return memory.kind == DIGEST


def _without(content: str, over: Iterable[str]) -> str:
    for text in over:
        content = without_decision(content, text)
    return content


def replaced_by(memories: Iterable[Memory]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return {project id: {branch name: sorted ids}} of the memories that `memories` replace on their branches."""
    replaced: dict[str, dict[str, set[str]]] = {}
    for memory in memories:
        project = memory.scope.project_id
        if memory.branch is not None and project and memory.status == "active":
            replaced.setdefault(project, {}).setdefault(memory.branch.name, set()).update(
                memory.branch.replaces
            )
    return {
        project: {name: tuple(sorted(ids)) for name, ids in branches.items()}
        for project, branches in replaced.items()
    }


def branch_values_of(store: Store, changes: Iterable[Change]) -> ValueChanges:
    """Return the named values of the projects' branches that record which memories `changes` replace on a branch.

    They include what is stored already. Write them together with `changes`, so that the next recall sees them.
    """
    stored = [change.memory for change in changes if not isinstance(change, Retire | Skip)]
    values: dict[ValueName, str | None] = {}
    for project, branches in replaced_by(stored).items():
        before = BRANCHES.read(store, project)
        after = dict(before)
        for name, ids in branches.items():
            known = after.get(name, BranchState())
            after[name] = replace(known, replaced=tuple(sorted({*known.replaced, *ids})))
        if after != before:
            values |= BRANCHES.change(after, project)
    return values


def changes_of_merge(
    memory: Memory,
    neighbors: Sequence[Neighbor],
    *,
    replaced: Sequence[Memory],
    kinds: KindRegistry,
    now_ms: int,
) -> tuple[list[Change], list[Relation]]:
    """Return the changes and relations to store now that the branch of `memory` is merged.

    Args:
        memory: a memory that is bound to the branch.
        neighbors: stored memories with a similar meaning.
        replaced: the memories that it replaces on its branch; see `replaced_on_branch`.
        kinds: the known kinds.
        now_ms: the time, in milliseconds since the epoch.
    """
    assert memory.branch is not None
    why = ChangeReason(cause=ChangeCause.BRANCH_MERGED, terms=(memory.branch.name,))
    status = "active" if memory.branch.gone else memory.status
    held = replace(memory, branch=None, status=status, updated_at_ms=now_ms)
    if memory.is_session_note or held.status != "active":
        return [Rewrite(memory=held, reason=why)], []
    ended = list(replaced)
    unbound = [near for near in neighbors if near.memory.branch is None and near.memory not in ended]
    decided = reconcile(held, unbound, kinds=kinds)
    questions: list[Relation] = []
    match decided:
        case Merge() | Skip():
            return _taken_in(held, decided, why, now_ms), []
        case Supersede():
            stored = {near.memory.id: near.memory for near in unbound}
            ended += [stored[name] for name in (decided.old_id, *decided.further) if name in stored]
            questions = [_question(held, name) for name in decided.contested]
            why = join_reasons((why, decided.reason))
        case Contradict():
            questions = [_question(held, name) for name in (decided.other_id, *decided.further)]
            why = join_reasons((why, decided.reason))
        case _:
            # A newer statement was made on the default branch meanwhile: the user decides which of the two holds.
            other = decided.memory.validity.superseded_by if not isinstance(decided, Retire) else None
            questions = [_question(held, other)] if other else []
    changes, relations = ended_for(held, ended, why, now_ms)
    return [Rewrite(memory=held, reason=why), *changes], [*relations, *questions]


def replaced_on_branch(store: MemoryStore, memory: Memory) -> tuple[Memory, ...]:
    """Return the memories that `memory` replaces on its branch and that still hold everywhere else."""
    ids = memory.branch.replaces if memory.branch is not None else ()
    named = {old.id: old for old in store.get(list(ids), scope=store.scopes())} if ids else {}
    in_order = (named[name] for name in ids if name in named)
    return tuple(old for old in in_order if old.status == "active" and old.branch is None)


def ended_for(
    memory: Memory, old_memories: Sequence[Memory], why: ChangeReason, now_ms: int
) -> tuple[list[Change], list[Relation]]:
    """Return the changes and relations that end `old_memories` on all branches. Nothing is stored.

    `memory` replaces them there: it held only on its own branch, and now holds everywhere.
    """
    replaced = ChangeReason(cause=ChangeCause.REPLACED_BY, memory_ids=(memory.id,), further=(why,))
    changes: list[Change] = [
        Rewrite(memory=old.ended_by(memory.id, at_ms=now_ms), reason=replaced) for old in old_memories
    ]
    relations = [Relation(source_id=memory.id, target_id=old.id, type="updates") for old in old_memories]
    return changes, relations


def change_for_gone_branch(memory: Memory, kinds: KindRegistry, now_ms: int) -> Change | None:
    """Return the change that makes a memory wait for the user because its branch is gone; None = no change.

    None if it is not active, waits already, or only tells of the work (an episodic kind): that one fades.
    """
    if memory.branch is None or memory.branch.gone or memory.status != "active":
        return None
    if kinds.of_stored(memory.kind).episodic:
        return None
    waiting = replace(
        memory, branch=replace(memory.branch, gone=True), status="quarantined", updated_at_ms=now_ms
    )
    why = ChangeReason(cause=ChangeCause.BRANCH_GONE, terms=(memory.branch.name,))
    return Rewrite(memory=waiting, reason=why)


def change_for_renamed_branch(memory: Memory, name: str, now_ms: int) -> Change:
    """Return the change that binds a memory to the new name of its branch."""
    assert memory.branch is not None
    why = ChangeReason(cause=ChangeCause.BRANCH_RENAMED, terms=(memory.branch.name, name))
    moved = replace(memory, branch=replace(memory.branch, name=name), updated_at_ms=now_ms)
    return Rewrite(memory=moved, reason=why)


def change_for_restored_branch(memory: Memory, now_ms: int) -> Change | None:
    """Return the change that reactivates a memory whose branch was gone and exists again; None = no change."""
    if memory.branch is None or not memory.branch.gone:
        return None
    why = ChangeReason(cause=ChangeCause.BRANCH_BACK, terms=(memory.branch.name,))
    again = replace(memory, branch=replace(memory.branch, gone=False), status="active", updated_at_ms=now_ms)
    return Rewrite(memory=again, reason=why)


def _taken_in(held: Memory, decided: Merge | Skip, why: ChangeReason, now_ms: int) -> list[Change]:
    """Return the changes that merge `held` into a project memory that says the same."""
    into = decided.memory.id if isinstance(decided, Merge) else decided.memory_id
    same = ChangeReason(cause=ChangeCause.SAYS_SAME, memory_ids=(into,))
    over = Rewrite(memory=held.ended_by(into, at_ms=now_ms), reason=join_reasons((why, same)))
    return [decided, over] if isinstance(decided, Merge) else [over]


def _question(memory: Memory, other_id: str) -> Relation:
    return Relation(source_id=memory.id, target_id=other_id, type="contradicts")


_CANDIDATES = 8
_TRIES = 5
_RELATED = 8
_MOST_NEAR = 4
_MOST_RIVALS = 3
"""Most nearest statements that are checked for disagreement with a new one."""
LEAST_COSINE, LEAST_APART = 0.5, 0.25
"""Two statements may disagree if their cosine reaches the first, and exceeds what is usual near them by the second."""
_LOCAL, _USUAL_COSINE = 5, 0.45
"""Number of neighbors whose mean cosine tells how dense a region is, and the cosine assumed for each missing one."""

Item = Memory | Change
"""A memory to reconcile, or a change that is already decided."""


@frozen
class WriteBatch:
    """The content of one transaction: changes with their vectors (None = none were made), named values, relations."""

    changes: tuple[Change, ...]
    vectors: Vectors | None
    identity: EmbedderIdentity | None
    values: ValueChanges
    relations: tuple[Relation, ...] = ()


class _VectorCache:
    """The vectors of a batch by text. After the embedder failed it gives none: memories are stored without.

    `reindex` adds the missing vectors.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Vectors] = {}
        self.failed = False

    def fill(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if not missing or self.failed:
            return
        try:
            vectors = self._embedder.embed(missing)
        except ProviderError:
            self.failed = True
            return
        self._rows.update(zip(missing, vectors, strict=True))

    def get(self, text: str) -> Vectors | None:
        return None if self.failed else self._rows.get(text)

    def stack(self, memories: Sequence[Memory]) -> Vectors | None:
        """Return one row per memory; None = a text has no vector, or there are no memories."""
        vectors: list[Vectors] = []
        for memory in memories:
            rows = [row for text in embedded_texts(memory) if (row := self.get(text)) is not None]
            if len(rows) < len(embedded_texts(memory)):
                return None
            vectors.append(combine(np.stack(rows)))
        return np.stack(vectors) if vectors else None


class Reconciler:
    """Reconciles prepared memories with the store and writes the outcome in one transaction.

    `store`, `embedder`, `clock`, `kinds` and `step` are what it works with; whatever writes through it uses the same.
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder,
        near_cosine: float,
        clock: Clock,
        kinds: KindRegistry = BUILTIN_KINDS,
        step: Step = no_step,
    ) -> None:
        self.store = store
        self.clock = clock
        self.step = step
        self.embedder = embedder
        self._near = near_cosine
        self.kinds = kinds
        self._lock = threading.Lock()

    def follow(self, *, near_cosine: float) -> None:
        """Use another cosine, from which two memories are linked as near, from now on."""
        self._near = near_cosine

    def keep(
        self,
        items: Sequence[Item],
        *,
        write: Callable[[WriteBatch], None] | None = None,
        values: ValueChanges | None = None,
        finish: Callable[[Sequence[Change]], ValueChanges] | None = None,
        judges: Mapping[str, Judge] | None = None,
        beside: Mapping[str, Sequence[str]] | None = None,
        session: SessionKey | None = None,
        near_cosine: float | None = None,
    ) -> tuple[Change, ...]:
        """Decide on `items` in order, write the outcome in one transaction, and return one change per item.

        Args:
            items: memories to reconcile, and changes that are decided already.
            write: carries out the transaction; may raise, then nothing was stored. None = `apply`.
            values: named values to set in the same transaction.
            finish: makes further values once it is known what changes, one change per item.
            judges: judges of single memories, by id, in place of `judge_by_words`.
            beside: stored memories that single memories are compared with besides those near to them, by id.
            session: whose statements they are; what becomes of each is kept for it.
            near_cosine: cosine from which two statements are linked as near here; None = as everywhere.

        Raises:
            StoreError: as the store; nothing is changed.
        """
        vectors = _VectorCache(self.embedder)
        vectors.fill(
            [text for item in items if (memory := _carried(item)) for text in embedded_texts(memory)]
        )
        self.step("vectors made")
        for attempt in range(_TRIES):
            with self._lock:
                with self.store.at_once():
                    decided, near = self._decide(
                        items, vectors, judges or {}, beside or {}, near_cosine or self._near
                    )
                    changes = with_amended_digests(decided, self.store)
                    relations = self._relations(changes[: len(items)], near)
                carried = [
                    change.memory for change in changes if not isinstance(change, Merge | Retire | Skip)
                ]
                rows = vectors.stack(carried)
                if rows is not None or not carried or vectors.failed or attempt == _TRIES - 1:
                    identity = self.embedder.identity if rows is not None else None
                    named_values = dict(values or {})
                    if finish:
                        named_values.update(finish(decided))
                    named_values.update(branch_values_of(self.store, changes))
                    if session is not None:
                        named_values.update(self._outcomes(session, items, decided))
                    outcome = WriteBatch(
                        changes=changes,
                        vectors=rows,
                        identity=identity,
                        values=named_values,
                        relations=relations,
                    )
                    self.step("changes decided")
                    (write or self.apply)(outcome)
                    self.step("changes stored")
                    self._renew_merged(changes, vectors)
                    return changes[: len(items)]
            # An amended digest needs a vector: make it without the lock, then look again.
            vectors.fill([text for memory in carried for text in embedded_texts(memory)])
        raise AssertionError("the last attempt always writes")

    def settle(
        self,
        memories: Sequence[Memory],
        decide: Callable[[Memory, Sequence[Neighbor]], tuple[Sequence[Change], Sequence[Relation]]],
    ) -> tuple[Change, ...]:
        """Decide on stored memories, given their near neighbors; write all changes in one transaction, return them.

        Args:
            memories: the memories to decide on, in order. Later decisions see the earlier ones.
            decide: returns the changes and relations for one memory and its neighbors. No change may bring new words, since no vectors are stored.

        Raises:
            StoreError: as the store; nothing is changed.
        """
        vectors = _VectorCache(self.embedder)
        vectors.fill([text for memory in memories for text in embedded_texts(memory)])
        with self._lock:
            current: dict[str, Memory] = {}
            ended: set[str] = set()
            changes: list[Change] = []
            relations: list[Relation] = []
            with self.store.at_once():
                for memory in memories:
                    done, related = decide(memory, self._neighbors(memory, vectors, current, ended, ()))
                    for change in done:
                        if not isinstance(change, Retire | Skip):
                            current[change.memory.id] = change.memory
                    changes += done
                    relations += related
                written = with_amended_digests(changes, self.store)
            self.store.apply(written, relations=relations)
        return tuple(changes)

    def _renew_merged(self, changes: Sequence[Change], vectors: _VectorCache) -> None:
        """Store new vectors for merged memories with `when` phrases. A failure leaves the old vectors."""
        merged = [
            change.memory
            for change in changes
            if isinstance(change, Merge) and len(embedded_texts(change.memory)) > 1
        ]
        vectors.fill([text for memory in merged for text in embedded_texts(memory)])
        rows = vectors.stack(merged)
        if rows is not None:
            with suppress(StoreError):
                self.store.put_vectors(
                    [memory.id for memory in merged], rows, identity=self.embedder.identity
                )

    def _outcomes(
        self, session: SessionKey, items: Sequence[Item], changes: Sequence[Change]
    ) -> ValueChanges:
        new = outcomes_of(items, changes, at_ms=self.clock.now_ms())
        return OUTCOMES.change((*OUTCOMES.read(self.store, session), *new), session) if new else {}

    def apply(self, write: WriteBatch) -> None:
        """Write the batch to the store; does nothing if it changes nothing."""
        if write.values or any(not isinstance(change, Skip) for change in write.changes):
            self.store.apply(
                write.changes,
                vectors=write.vectors,
                identity=write.identity,
                values=write.values,
                relations=write.relations,
            )

    def _relations(self, changes: Sequence[Change], near: Sequence[Relation]) -> tuple[Relation, ...]:
        """Return the relations of what is stored now, `near` among them; those that cannot be found are missing."""
        stored = [change.memory for change in changes if isinstance(change, Add | Supersede | Contradict)]
        ended = _ended(changes)
        fresh = [memory for memory in stored if _relatable(memory) and memory.id not in ended]
        relations = {
            (relation.source_id, relation.target_id, relation.type): relation
            for relation in near
            if ended.isdisjoint((relation.source_id, relation.target_id))
        }
        for change in changes:
            by = change.memory.validity.superseded_by if isinstance(change, Rewrite) else None
            if by and isinstance(change, Rewrite) and change.memory.status == "superseded":
                name = change.memory.id
                relations[by, name, "updates"] = Relation(source_id=by, target_id=name, type="updates")
        with suppress(StoreError):
            for memory in fresh:
                for relation in infer_relations(memory, self._others(memory, fresh, ended)):
                    relations.setdefault((relation.source_id, relation.target_id, relation.type), relation)
        return tuple(relations.values())

    def _others(
        self, memory: Memory, fresh: Sequence[Memory], ended: Collection[str]
    ) -> list[tuple[Memory, float]]:
        """Return memories of the same exchange or naming the same things, each with its share of common names.

        The store weighs a shared name by its rarity; what comes with `memory` is not in it yet, and every name counts alike.
        """
        scope = ScopeFilter.compared_with(memory.scope)
        hits = (
            self.store.search.entity(memory.entities, scope=scope, limit=_RELATED).hits
            if memory.entities
            else ()
        )
        shares = {hit.memory_id: hit.score for hit in hits if hit.memory_id != memory.id}
        others = [
            (other, shares[other.id])
            for other in self.store.get(sorted(shares), scope=scope)
            if _relatable(other) and other.id not in ended
        ]
        beside = [other for other in fresh if other.id != memory.id and scope.allows(other.scope)]
        return [
            *others,
            *(
                (other, share)
                for other in beside
                if (share := share_of_entities(memory, other)) or same_exchange(memory, other)
            ),
        ]

    def _decide(
        self,
        items: Sequence[Item],
        vectors: _VectorCache,
        judges: Mapping[str, Judge],
        beside: Mapping[str, Sequence[str]],
        near_cosine: float,
    ) -> tuple[tuple[Change, ...], list[Relation]]:
        """Return the change for each item, and links to near statements. Later items see earlier changes.

        What a session has stated is read here, behind the lock: a prompt and the transcript that ends with it are captured by two threads,
        and whichever comes second must see what the first one counted.
        """
        current: dict[str, Memory] = {}
        counted: dict[SessionKey, set[str]] = {}
        gone: set[str] = set()
        changes: list[Change] = []
        links: list[Relation] = []
        for item in items:
            stated_now = item.memory if isinstance(item, Supersede) else item
            near = (
                self._neighbors(stated_now, vectors, current, gone, beside.get(stated_now.id, ()))
                if isinstance(stated_now, Memory)
                else []
            )
            if isinstance(item, Memory):
                stated = self._stated_in(item.provenance, counted)
                change = reconcile(
                    item,
                    near,
                    judge=judges.get(item.id, judge_by_words),
                    kinds=self.kinds,
                    counted=stated,
                )
                links += [*_near_links(change, near, near_cosine), *self._rivals(change, near, vectors)]
                if stated_id := _holder_id(change):
                    stated.add(stated_id)
            else:
                change = with_copies_ended(item, near)
                links += self._rivals(change, near, vectors)
            match change:
                case Add() | Merge() | Contradict() | Rewrite():
                    current[change.memory.id] = change.memory
                case Supersede():
                    current[change.memory.id] = change.memory
                    gone.update((change.old_id, *change.further))
                case Retire():
                    gone.add(change.memory_id)
                case Skip():
                    pass
            changes.append(change)
        return tuple(changes), links

    def _stated_in(self, provenance: Provenance, counted: dict[SessionKey, set[str]]) -> set[str]:
        """Return the ids of the memories that the session of `provenance` has stated, filled into `counted`."""
        if not provenance.session_id:
            return set()
        session = SessionKey(host=provenance.host, session_id=provenance.session_id)
        if session not in counted:
            counted[session] = {
                outcome.memory_id for outcome in OUTCOMES.read(self.store, session) if outcome.memory_id
            }
        return counted[session]

    def _neighbors(
        self,
        memory: Memory,
        vectors: _VectorCache,
        current: Mapping[str, Memory],
        gone: set[str],
        beside: Sequence[str],
    ) -> list[Neighbor]:
        scope = ScopeFilter.compared_with(memory.scope)
        vector = self._vector_of(memory, vectors)
        cosines: dict[str, float] | None = None
        search = self.store.search
        if vector is not None:
            # Vectors of another model cannot be compared: words alone must do until `reindex` ran.
            with suppress(EmbedderMismatch):
                ranking = search.semantic(
                    vector, identity=self.embedder.identity, scope=scope, limit=_CANDIDATES
                )
                cosines = {hit.memory_id: hit.score for hit in ranking.hits}
        ended = search_words_for_ended(memory.content)
        # What repeats, denies or changes a statement has its words and so its vector; what ends one may share only a name with it.
        by_words = (
            search.lexical(ended or memory.content, scope=scope, limit=_CANDIDATES).hits
            if cosines is None or ended
            else ()
        )
        cosines = cosines or {}
        by_error = (
            search.error(memory.error_signature, scope=scope, limit=_CANDIDATES).hits
            if memory.error_signature
            else ()
        )
        ids = dict.fromkeys([*cosines, *(hit.memory_id for hit in (*by_words, *by_error)), *beside])
        stored = self.store.get(list(ids), scope=scope)
        waiting = MemoryFilter(statuses=("quarantined",), begins=memory.content.rstrip(".! "))
        stored = (*stored, *self.store.list_memories(waiting, scope=scope, limit=_CANDIDATES))
        batch = [other for other in current.values() if scope.allows(other.scope)]
        near: list[Neighbor] = []
        for other in (*(other for other in stored if other.id not in current), *batch):
            if other.id in gone or other.status not in ("active", "quarantined") or other.is_session_note:
                continue
            if memory.provenance.by_agent and why_hidden(other, session=memory.session):
                continue  # what becomes of an agent's statement must not tell what the agent may not see
            cosine = cosines.get(other.id, 0.0)
            theirs = self._vector_of(other, vectors)
            if vector is not None and theirs is not None:
                cosine = float(vector @ theirs)
            near.append(Neighbor(memory=other, cosine=cosine))
        return near

    def _rivals(self, change: Change, neighbors: Sequence[Neighbor], vectors: _VectorCache) -> list[Relation]:
        """Return a `contradicts` relation to a stored statement that a new one may disagree with; empty = none.

        It is near to the new one, and much nearer than either is to others.

        2 cos(x, y) - r(x) - r(y) with r the mean cosine of the nearest others (cross-domain similarity local scaling; Conneau et al.,
        ICLR 2018), because no cosine alone tells two statements about one thing from two about one subject. What one session or one
        file says together disagrees no more than its speaker does.
        """
        ended = _ended([change])
        if not isinstance(change, Add | Supersede | Contradict) or not self._states(change.memory):
            return []
        memory, contested = (
            change.memory,
            set(change.further) if isinstance(change, Contradict) else set[str](),
        )
        if isinstance(change, Contradict):
            contested.add(change.other_id)
        elif isinstance(change, Supersede):
            contested.update(change.contested)
        near = sorted((-n.cosine, n.memory.id, n.memory) for n in neighbors if n.memory.id not in ended)
        cosines = [-cosine for cosine, _, _ in near]
        rivals: list[tuple[float, str]] = []
        for at, (negative, name, other) in enumerate(near[:_MOST_RIVALS]):
            cosine = -negative
            if (
                cosine < LEAST_COSINE
                or name in contested
                or not self._states(other)
                or not _apart(memory, other)
            ):
                continue
            score = 2 * cosine - _local(cosines[:at] + cosines[at + 1 :]) - self._density(other, vectors)
            if score >= LEAST_APART:
                rivals.append((-min(0.99, round(score, 3)), name))
        return [
            Relation(source_id=memory.id, target_id=name, type="contradicts", weight=-score)
            for score, name in sorted(rivals)[:1]
        ]

    def _states(self, memory: Memory) -> bool:
        """Whether the memory states what another one can contradict: it is active, and its kind neither tells of an event nor describes one thing of many."""
        kind = self.kinds.of_stored(memory.kind)
        return _relatable(memory) and not (kind.episodic or kind.separate)

    def _density(self, memory: Memory, vectors: _VectorCache) -> float:
        """Return the mean cosine of a stored memory with its nearest neighbors; 1 = it has no vector."""
        scope, identity = ScopeFilter.compared_with(memory.scope), self.embedder.identity
        vector = vectors.get(memory.content)
        if vector is None:
            vector = self.store.get_vectors([memory.id], scope=scope, identity=identity).get(memory.id)
        if vector is None:
            return 1.0
        hits = self.store.search.semantic(vector, identity=identity, scope=scope, limit=_LOCAL + 1).hits
        return _local([hit.score for hit in hits if hit.memory_id != memory.id])

    def _vector_of(self, memory: Memory, vectors: _VectorCache) -> Vectors | None:
        """Return the vector of a statement; None = there is none, or the embedder does not read its language."""
        return None if unread_language(self.embedder, memory.content) else vectors.get(memory.content)


def _near_links(change: Change, neighbors: Sequence[Neighbor], near_cosine: float) -> list[Relation]:
    """Return `related_to` links from a newly stored statement to those near it, which are shown side by side."""
    if not isinstance(change, Add | Supersede | Contradict) or not _relatable(change.memory):
        return []
    memory = change.memory
    shares = [
        (
            max(
                neighbor.cosine if neighbor.cosine >= near_cosine else 0.0,
                _near_share(memory, neighbor.memory),
            ),
            neighbor.memory,
        )
        for neighbor in neighbors
        if neighbor.memory.id != memory.id and _relatable(neighbor.memory)
    ]
    nearest = sorted((-share, other.id) for share, other in shares if share)[:_MOST_NEAR]
    return [
        Relation(source_id=memory.id, target_id=name, type="related_to", weight=round(min(1.0, -share), 3))
        for share, name in nearest
    ]


def _local(cosines: Sequence[float]) -> float:
    """Return the mean of the first `_LOCAL` of `cosines` (best first); each missing one counts as `_USUAL_COSINE`."""
    found = list(cosines[:_LOCAL])
    return (sum(found) + _USUAL_COSINE * (_LOCAL - len(found))) / _LOCAL


def _apart(memory: Memory, other: Memory) -> bool:
    """Whether two statements have the same scope and branch, and come from different sessions or files."""
    mine, theirs = memory.provenance, other.provenance
    together = mine.session_id and (mine.host, mine.session_id) == (theirs.host, theirs.session_id)
    of_file = mine.read_from and mine.read_from == theirs.read_from
    return (
        memory.scope == other.scope and memory.branch_name == other.branch_name and not (together or of_file)
    )


def _near_share(memory: Memory, other: Memory) -> float:
    """Return the share of words that two statements have in common; 0 = too small to count as near."""
    share = word_overlap(memory.content, other.content)
    return share if share >= NEAR_WORDS else 0.0


def _relatable(memory: Memory) -> bool:
    return memory.status == "active" and not memory.is_session_note


def _ended(changes: Sequence[Change]) -> set[str]:
    """Return the ids of the memories that `changes` end."""
    ids = {change.memory_id for change in changes if isinstance(change, Retire)}
    for change in changes:
        if isinstance(change, Supersede):
            ids.update((change.old_id, *change.further))
    return ids


def _carried(item: Item) -> Memory | None:
    if isinstance(item, Memory):
        return item
    return None if isinstance(item, Retire | Skip) else item.memory


def _holder_id(change: Change) -> str:
    """Return the id of the memory that holds the statement after `change`; "" = none."""
    if isinstance(change, Skip):
        return change.memory_id
    return "" if isinstance(change, Retire) else change.memory.id


_FATES: dict[type[Change], Fate] = {
    Add: "new",
    Merge: "merged",
    Supersede: "replaced",
    Contradict: "contradicts",
}


def outcomes_of(
    items: Sequence[Memory | Change], changes: Sequence[Change], *, at_ms: int
) -> tuple[StatementOutcome, ...]:
    """Return a record of what became of each statement in `items`; a session's own notes get none."""
    outcomes = (_outcome(item, change, at_ms) for item, change in zip(items, changes, strict=False))
    return tuple(outcome for outcome in outcomes if outcome is not None)


def _outcome(item: Memory | Change, change: Change, at_ms: int) -> StatementOutcome | None:
    fate = _FATES.get(type(change))
    stated = item if isinstance(item, Memory) else None
    if stated is not None and stated.is_session_note:
        return None
    fields: dict[str, Any] = {"at_ms": at_ms}
    if stated is not None:
        provenance = stated.provenance
        span = content_hash(provenance.span) if provenance.span else ""
        fields |= {
            "speaker": provenance.speaker,
            "extractor": provenance.extractor,
            "turn": provenance.turn,
            "span": span,
        }
    if isinstance(change, Skip):
        if change.memory_id:
            return StatementOutcome(fate="duplicate", memory_id=change.memory_id, **fields)
        # The detail of a reason may be a statement's own words.
        why = ChangeReason(cause=change.reason.cause, terms=change.reason.terms)
        return StatementOutcome(fate="dropped", why=why, **fields)
    if fate is None or stated is None or not isinstance(change, Add | Merge | Supersede | Contradict):
        return None
    others, questions = (), ()
    if isinstance(change, Supersede):
        others, questions = (change.old_id, *change.further), change.contested
    elif isinstance(change, Contradict):
        questions = (change.other_id, *change.further)
    return StatementOutcome(
        fate=fate, memory_id=change.memory.id, others=others, questions=questions, **fields
    )
