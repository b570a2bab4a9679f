"""The changes of memories whose branch was merged, deleted, renamed or restored. In: memories and their neighbors. Out: changes.

When its branch is merged, a memory holds for the whole project and is reconciled like a new statement: the memories that it replaced on its branch end, it
is merged into a memory that says the same, and the user is asked about a possible contradiction. When its branch is deleted without a merge, the user is
asked about the memory; notes of sessions stay bound and fade. Only the functions that take a store read from it; none writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tacit.capture.reconcile import Neighbor, reconcile
from tacit.model.change_reason import ChangeCause, ChangeReason, joined
from tacit.model.changes import Change, Contradict, Edit, Merge, Retire, Skip, Supersede
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Relation
from tacit.ports.store import MemoryStore, Store, ValueChanges, ValueName
from tacit.state.captured import BranchState
from tacit.state.registry import BRANCHES


def replaced_by(memories: Iterable[Memory]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The sorted ids of the memories that `memories` replace on their branches, by project id and branch name."""
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


def replaced_on_branches(store: Store, changes: Iterable[Change]) -> ValueChanges:
    """The named values that record which memories `changes` replace on branches. Write them together with `changes`, so that the next recall sees them."""
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
    neighbours: Sequence[Neighbor],
    *,
    replaced: Sequence[Memory],
    kinds: KindRegistry,
    now_ms: int,
) -> tuple[list[Change], list[Relation]]:
    """The changes and relations to store when the branch of `memory` was merged.

    Args:
        memory: a memory that is bound to the branch.
        neighbours: stored memories with a similar meaning.
        replaced: the memories that it replaces on its branch; see `replaced_on_branch`.
        kinds: the known kinds.
        now_ms: the time, in milliseconds since the epoch.
    """
    assert memory.branch is not None
    why = ChangeReason(cause=ChangeCause.BRANCH_MERGED, terms=(memory.branch.name,))
    status = "active" if memory.branch.gone else memory.status
    held = replace(memory, branch=None, status=status, updated_at_ms=now_ms)
    if memory.is_session_note or held.status != "active":
        return [Edit(memory=held, reason=why)], []
    ended = list(replaced)
    unbound = [near for near in neighbours if near.memory.branch is None and near.memory not in ended]
    decided = reconcile(held, unbound, kinds=kinds)
    questions: list[Relation] = []
    match decided:
        case Merge() | Skip():
            return _taken_in(held, decided, why, now_ms), []
        case Supersede():
            stored = {near.memory.id: near.memory for near in unbound}
            ended += [stored[name] for name in (decided.old_id, *decided.further) if name in stored]
            questions = [_question(held, name) for name in decided.contested]
            why = joined((why, decided.reason))
        case Contradict():
            questions = [_question(held, name) for name in (decided.other_id, *decided.further)]
            why = joined((why, decided.reason))
        case _:
            # A newer statement was made on the default branch meanwhile: the user decides which of the two holds.
            other = decided.memory.validity.superseded_by if not isinstance(decided, Retire) else None
            questions = [_question(held, other)] if other else []
    changes, relations = ended_for(held, ended, why, now_ms)
    return [Edit(memory=held, reason=why), *changes], [*relations, *questions]


def replaced_on_branch(store: MemoryStore, memory: Memory) -> tuple[Memory, ...]:
    """The memories that `memory` replaces on its branch and that are still active on all other branches."""
    ids = memory.branch.replaces if memory.branch is not None else ()
    named = {old.id: old for old in store.get(list(ids), scope=store.scopes())} if ids else {}
    in_order = (named[name] for name in ids if name in named)
    return tuple(old for old in in_order if old.status == "active" and old.branch is None)


def ended_for(
    memory: Memory, old_memories: Sequence[Memory], why: ChangeReason, now_ms: int
) -> tuple[list[Change], list[Relation]]:
    """The changes and relations with which `memory` ends `old_memories` on all branches; until now it replaced them only on its own branch."""
    replaced = ChangeReason(cause=ChangeCause.REPLACED_BY, memory_ids=(memory.id,), further=(why,))
    changes: list[Change] = [
        Edit(memory=_ended(old, memory.id, now_ms), reason=replaced) for old in old_memories
    ]
    relations = [Relation(source_id=memory.id, target_id=old.id, type="updates") for old in old_memories]
    return changes, relations


def gone(memory: Memory, kinds: KindRegistry, now_ms: int) -> Change | None:
    """The change that makes a memory wait for the user because its branch is gone.

    None if it is not active, waits already, or only tells of the work (an episodic kind): such a memory stays bound and fades.
    """
    if memory.branch is None or memory.branch.gone or memory.status != "active":
        return None
    if kinds.of_stored(memory.kind).episodic:
        return None
    waiting = replace(
        memory, branch=replace(memory.branch, gone=True), status="quarantined", updated_at_ms=now_ms
    )
    why = ChangeReason(cause=ChangeCause.BRANCH_GONE, terms=(memory.branch.name,))
    return Edit(memory=waiting, reason=why)


def renamed(memory: Memory, name: str, now_ms: int) -> Change:
    """The change that binds a memory to the new name of its branch."""
    assert memory.branch is not None
    why = ChangeReason(cause=ChangeCause.BRANCH_RENAMED, terms=(memory.branch.name, name))
    moved = replace(memory, branch=replace(memory.branch, name=name), updated_at_ms=now_ms)
    return Edit(memory=moved, reason=why)


def back(memory: Memory, now_ms: int) -> Change | None:
    """The change that makes a memory active again because its branch, which was gone, exists again; None = it does not wait for that."""
    if memory.branch is None or not memory.branch.gone:
        return None
    why = ChangeReason(cause=ChangeCause.BRANCH_BACK, terms=(memory.branch.name,))
    again = replace(memory, branch=replace(memory.branch, gone=False), status="active", updated_at_ms=now_ms)
    return Edit(memory=again, reason=why)


def _taken_in(held: Memory, decided: Merge | Skip, why: ChangeReason, now_ms: int) -> list[Change]:
    """The changes that merge `held` into a memory of the project that says the same."""
    into = decided.memory.id if isinstance(decided, Merge) else decided.memory_id
    same = ChangeReason(cause=ChangeCause.SAYS_SAME, memory_ids=(into,))
    over = Edit(memory=_ended(held, into, now_ms), reason=joined((why, same)))
    return [decided, over] if isinstance(decided, Merge) else [over]


def _question(memory: Memory, other_id: str) -> Relation:
    return Relation(source_id=memory.id, target_id=other_id, type="contradicts")


def _ended(memory: Memory, by: str, now_ms: int) -> Memory:
    until = max(now_ms, memory.validity.valid_from_ms)
    over = replace(memory.validity, valid_to_ms=until, superseded_by=by)
    return replace(memory, status="superseded", validity=over, updated_at_ms=now_ms)
