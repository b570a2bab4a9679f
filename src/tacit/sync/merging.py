"""What a memory is, given everything that devices wrote of it. In: its newest states. Out: one state. Pure.

A state names the states that it replaces. What no other state replaces is a head; two devices that wrote without knowing of one another
leave two. The merged state depends on the set of heads alone, not on clocks or on the order in which entries arrive, so all devices come to the
same one:

- what ended on one device has ended: retired before superseded before active before waiting;
- of two wordings of what still holds neither is dropped: one stays, the other becomes a memory of its own, and the pair waits for the user;
- counts, evidence, files and relations are united; the stricter sensitivity holds; what one device pinned is pinned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from tacit.model.ids import encode_base32
from tacit.model.memory import Memory, MemoryStatus, Relation, Validity

_RANK: Mapping[MemoryStatus, int] = {"retired": 3, "superseded": 2, "active": 1, "quarantined": 0}
MAX_EVIDENCE = 20


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


def merge_heads(heads: Sequence[Head]) -> MergedState:
    """The state that `heads` come to, at least one; the same whatever their order."""
    ranked = sorted(heads, key=_precedence)
    main, *rest = ranked
    if not rest:
        return MergedState(memory=main.memory, relations=sorted_relations(main.relations))
    memories = [head.memory for head in ranked]
    ended = _RANK[main.memory.status] >= _RANK["superseded"]
    others = (
        () if ended else tuple(_own_memory(head) for head in rest if _says_other(head.memory, main.memory))
    )
    relations = [relation for head in ranked for relation in head.relations]
    relations += [
        Relation(source_id=main.memory.id, target_id=other.id, type="contradicts") for other in others
    ]
    return MergedState(
        memory=replace(
            main.memory,
            validity=_validity(main.memory, memories),
            updated_at_ms=max(memory.updated_at_ms for memory in memories),
            importance=max(memory.importance for memory in memories),
            confidence=max(memory.confidence for memory in memories),
            sensitivity=max(memory.sensitivity for memory in memories),
            frequency=max(memory.frequency for memory in memories),
            proofs=max(memory.proofs for memory in memories),
            pinned=any(memory.pinned for memory in memories),
            files=tuple(dict.fromkeys(file for memory in memories for file in memory.files)),
            evidence=tuple(dict.fromkeys(span for memory in memories for span in memory.evidence))[
                :MAX_EVIDENCE
            ],
        ),
        relations=sorted_relations(relations),
        others=tuple(sorted({other.id: other for other in others}.values(), key=lambda memory: memory.id)),
    )


def _precedence(head: Head) -> tuple[int, int, int, str]:
    memory = head.memory
    return -_RANK[memory.status], -memory.provenance.tier.rank, -memory.frequency, head.entry


def _says_other(memory: Memory, main: Memory) -> bool:
    holds = _RANK[memory.status] <= _RANK["active"]
    return holds and memory.content_hash != main.content_hash


def _own_memory(head: Head) -> Memory:
    """A wording as a memory of its own; its id follows from the entry, so that every device gives it the same."""
    digest = int.from_bytes(hashlib.sha256(head.entry.encode()).digest()[:10], "big")
    return replace(head.memory, id=f"mem_{encode_base32(digest, 16)}")


def _validity(main: Memory, memories: Iterable[Memory]) -> Validity:
    """Of what ended, the earliest end and the first successor in the order of ids."""
    alike = [memory.validity for memory in memories if memory.status == main.status]
    ends = [validity.valid_to_ms for validity in alike if validity.valid_to_ms is not None]
    successors = [validity.superseded_by for validity in alike if validity.superseded_by]
    return Validity(
        valid_from_ms=min(validity.valid_from_ms for validity in alike),
        valid_to_ms=min(ends, default=None),
        superseded_by=min(successors, default=None),
    )


def sorted_relations(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Relations in a fixed order, the heaviest of each pair and type alone."""
    heaviest: dict[tuple[str, str, str], Relation] = {}
    for relation in relations:
        key = (relation.source_id, relation.target_id, relation.type)
        if key not in heaviest or heaviest[key].weight < relation.weight:
            heaviest[key] = relation
    return tuple(heaviest[key] for key in sorted(heaviest))


def shared_form(memory: Memory) -> Memory:
    """The memory as devices share it: without the counts of its use, which belong to a device."""
    return replace(memory, use_count=0, shown_count=0)


def state_digest(memory: Memory, relations: Iterable[Relation]) -> str:
    """Hash of a state as devices share it: equal where the states are."""
    raw = msgspec.json.encode((shared_form(memory), sorted_relations(relations)), order="deterministic")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
