"""What a memory is, given everything that devices wrote of it. In: its newest states, and the one that they all go back to. Out: one state. Pure.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from tacit.model.ids import encode_base32
from tacit.model.memory import LearnedOn, Memory, MemoryStatus, Relation, Validity

_RANK: Mapping[MemoryStatus, int] = {"retired": 3, "superseded": 2, "active": 1, "quarantined": 0}
MAX_EVIDENCE = 20
_Ends = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A state that no other one replaces, and the id of its entry."""

    entry: str
    memory: Memory
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedState:
    """The state of a memory. `others` are wordings that became memories of their own."""

    memory: Memory
    relations: tuple[Relation, ...] = ()
    others: tuple[Memory, ...] = ()


def merge_heads(heads: Sequence[Head], *, base: Head | None = None) -> MergedState:
    """The state that `heads` come to, at least one; the same whatever their order.

    Args:
        heads: the newest states.
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
            _own_memory(head)
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
    """The relations that a head added, and those of the base that every head still has."""
    before = {_ends(relation) for relation in base.relations} if base is not None else set[_Ends]()
    kept = [{_ends(relation) for relation in head.relations} for head in heads]
    removed = {ends for ends in before if not all(ends in each for each in kept)}
    return [relation for head in heads for relation in head.relations if _ends(relation) not in removed]


def _values(name: str, memories: Sequence[Memory], base: Memory | None) -> list[Any]:
    """The values of a field that somebody changed, in the order of heads; where nobody did, the one that all have."""
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
    """A count with what every device added to it."""
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


def _own_memory(head: Head) -> Memory:
    """A wording as a memory of its own; its id follows from the entry, so that every device gives it the same."""
    return replace(head.memory, id=own_memory_id(head.entry))


def own_memory_id(entry: str) -> str:
    """The id that the wording of an entry has as a memory of its own."""
    digest = int.from_bytes(hashlib.sha256(entry.encode()).digest()[:10], "big")
    return f"mem_{encode_base32(digest, 16)}"


def _validity(main: Memory, memories: Iterable[Memory]) -> Validity:
    """Of what ended, the earliest end and the first successor in the order of ids."""
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
    """Relations in a fixed order, the heaviest of each pair and type alone."""
    heaviest: dict[_Ends, Relation] = {}
    for relation in relations:
        key = _ends(relation)
        if key not in heaviest or heaviest[key].weight < relation.weight:
            heaviest[key] = relation
    return tuple(heaviest[key] for key in sorted(heaviest))


def _ends(relation: Relation) -> _Ends:
    return relation.source_id, relation.target_id, relation.type


def shared_form(memory: Memory) -> Memory:
    """The memory as devices share it: without the counts of its use, which belong to a device."""
    return replace(memory, use_count=0, shown_count=0)


def relations_digest(relations: Iterable[Relation]) -> str:
    """Hash of relations: equal where they are."""
    return hashlib.blake2b(msgspec.json.encode(sorted_relations(relations)), digest_size=16).hexdigest()


def state_digest(memory: Memory, relations: Iterable[Relation]) -> str:
    """Hash of a state as devices share it: equal where the states are."""
    raw = msgspec.json.encode((shared_form(memory), sorted_relations(relations)), order="deterministic")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
