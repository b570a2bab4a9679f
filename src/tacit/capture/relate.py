"""What a memory names, linked to it. In: a statement and its files. Out: entities. Pure; never adds a relation.

`related_to` is left to a later stage: without it `graph` walks over `updates` and `contradicts`, which reconcile makes.
"""

from __future__ import annotations

from tacit.model.memory import Entity
from tacit.reading.entities import find_entities


def link_entities(content: str, *, files: tuple[str, ...] = (), error_text: str = "") -> tuple[Entity, ...]:
    """Entities of the statement, its files, and an error's telling line; sorted, without repeats."""
    found = set(find_entities(content))
    if error_text:
        found.update(find_entities(error_text))
    found.update(Entity(kind="file", key=path.lower()) for path in files if path)
    return tuple(sorted(found, key=lambda entity: (entity.kind, entity.key)))
