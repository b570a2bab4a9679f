"""The entities that a memory names, and its related memories. In: a statement with its files; stored memories.

Out: entities, relations. Pure. `updates` and `contradicts` come from reconciliation; here:

caused_by   of one exchange of a session: what the user said went wrong -> the error pattern that explains it
result_of   of one exchange: what the agent decided or brought about -> what the user asked for
part_of     a file's description -> that of a folder above it
related_to  shared entities, weighed by how rare they are: half of all that the memory names, at most three
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.kinds import BUILTIN_KINDS
from tacit.model.memory import Entity, Memory, Relation, TrustTier
from tacit.reading.entities import find_entities

MOST_RELATED = 3
LEAST_SHARED = 0.5
"""Least share of a memory's entities, weighed by their rarity, that another one names too."""


def link_entities(content: str, *, files: tuple[str, ...] = ()) -> tuple[Entity, ...]:
    """Entities of the statement and its files; sorted, without repeats."""
    entities = set(find_entities(content))
    entities.update(Entity(kind="file", key=path.lower()) for path in files if path)
    return tuple(sorted(entities, key=lambda entity: (entity.kind, entity.key)))


def infer_relations(memory: Memory, others: Sequence[tuple[Memory, float]]) -> tuple[Relation, ...]:
    """Relations between `memory` and `others`, each with its share of common entities (0 to 1); one a pair at most."""
    relations: list[Relation] = []
    shared: list[tuple[float, str]] = []
    for other, share in others:
        if other.id == memory.id:
            continue
        relation = _of_exchange(memory, other) or _of_exchange(other, memory) or _of_folder(memory, other)
        if relation is not None:
            relations.append(relation)
        elif share >= LEAST_SHARED:
            shared.append((-share, other.id))
    relations += [
        Relation(source_id=memory.id, target_id=name, type="related_to", weight=round(-share, 3))
        for share, name in sorted(shared)[:MOST_RELATED]
    ]
    return tuple(relations)


def same_exchange(memory: Memory, other: Memory) -> bool:
    """Whether both were said between one prompt of a session and the next."""
    mine, theirs = memory.provenance, other.provenance
    return bool(mine.session_id) and (mine.host, mine.session_id, mine.turn) == (
        theirs.host,
        theirs.session_id,
        theirs.turn,
    )


def shared_names(memory: Memory, other: Memory) -> float:
    """Share of what `memory` names that `other` names too, 0 to 1."""
    mine = set(memory.entities)
    return len(mine & set(other.entities)) / len(mine) if mine else 0.0


def _of_exchange(memory: Memory, other: Memory) -> Relation | None:
    """`memory` is what the user said, `other` what the agent or a tool said to it."""
    mine, theirs = memory.provenance.tier, other.provenance.tier
    if not same_exchange(memory, other) or mine is not TrustTier.USER or theirs is TrustTier.USER:
        return None
    answer = BUILTIN_KINDS.of_stored(other.kind)
    if answer.explains_errors and BUILTIN_KINDS.of_stored(memory.kind).is_symptom:
        return Relation(source_id=memory.id, target_id=other.id, type="caused_by")
    if answer.is_result:
        return Relation(source_id=other.id, target_id=memory.id, type="result_of")
    return None


def _of_folder(memory: Memory, other: Memory) -> Relation | None:
    if memory.kind != "file_context" or other.kind != "file_context":
        return None
    for part, whole in ((memory, other), (other, memory)):
        folders = [path for path in _files(whole) if not _has_ending(path)]
        if any(
            path != folder and path.startswith(f"{folder.rstrip('/')}/")
            for path in _files(part)
            for folder in folders
        ):
            return Relation(source_id=part.id, target_id=whole.id, type="part_of")
    return None


def _files(memory: Memory) -> list[str]:
    return [entity.key for entity in memory.entities if entity.kind == "file"]


def _has_ending(path: str) -> bool:
    return "." in path.rsplit("/", 1)[-1]
