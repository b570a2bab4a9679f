"""Values of the engine, and answers of the API, as values of the library. In: either. Out: the same frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tacit.app.library.values import (
    GIVEN,
    Considered,
    Found,
    MemoryRecord,
    RecallRecord,
    Recollection,
    Stored,
)

if TYPE_CHECKING:
    from tacit.model.changes import Change
    from tacit.model.memory import Memory
    from tacit.model.pack import PackItem
    from tacit.model.trace import Trace


def stored_of(change: Change, change_id: str = "") -> Stored:
    """A change of the engine."""
    from tacit.app.reasons import change_text  # noqa: PLC0415 - a program on the socket does not load it
    from tacit.model.changes import Retire, Skip  # noqa: PLC0415

    name, reason = type(change).__name__.lower(), change_text(change.reason)
    if isinstance(change, Skip):
        return Stored(change=name, id="", content=change.content, reason=reason)
    if isinstance(change, Retire):
        return Stored(change=name, id=change.memory_id, content="", reason=reason, change_id=change_id)
    memory = change.memory
    return Stored(change=name, id=memory.id, content=memory.content, reason=reason, change_id=change_id)


def stored_from(change: Mapping[str, Any], change_id: str | None) -> Stored:
    """A change as the API writes it."""
    memory: Mapping[str, Any] = change.get("memory") or {}
    skipped = change.get("change") == "skip"
    return Stored(
        change=str(change.get("change", "")),
        id="" if skipped else str(memory.get("id") or change.get("memory_id") or ""),
        content=str(memory.get("content") or change.get("content") or ""),
        reason=str(change.get("reason", "")),
        change_id="" if skipped else change_id or "",
    )


def record_of(memory: Memory) -> MemoryRecord:
    """A memory of the engine."""
    return MemoryRecord(
        id=memory.id,
        kind=memory.kind,
        content=memory.content,
        scope=str(memory.scope),
        tier=memory.provenance.tier.name.lower(),
        source=memory.provenance.source,
        status=memory.status,
        importance=memory.importance,
        pinned=memory.pinned,
        sensitivity=memory.sensitivity.name.lower(),
        files=memory.files,
        created_at_ms=memory.created_at_ms,
        updated_at_ms=memory.updated_at_ms,
        valid_from_ms=memory.validity.valid_from_ms,
        valid_to_ms=memory.validity.valid_to_ms,
    )


def record_from(memory: Mapping[str, Any]) -> MemoryRecord:
    """A memory as the API writes it."""
    return MemoryRecord(
        id=memory["id"],
        kind=memory["kind"],
        content=memory["content"],
        scope=memory["scope"],
        tier=memory["provenance"]["tier"],
        source=memory["provenance"]["source"],
        status=memory["status"],
        importance=memory["importance"],
        pinned=memory["pinned"],
        sensitivity=memory["sensitivity"],
        files=tuple(memory["files"]),
        created_at_ms=memory["created_at_ms"],
        updated_at_ms=memory["updated_at_ms"],
        valid_from_ms=memory["validity"]["valid_from_ms"],
        valid_to_ms=memory["validity"]["valid_to_ms"],
    )


def found_of(item: PackItem) -> Found:
    """A memory of a pack."""
    memory = item.candidate.memory
    return Found(
        id=memory.id,
        kind=memory.kind,
        content=item.text,
        relevance=item.candidate.relevance,
        scope=str(memory.scope),
        tier=memory.provenance.tier.name.lower(),
        source=memory.provenance.source,
        created_at_ms=memory.created_at_ms,
        valid_from_ms=memory.validity.valid_from_ms,
        valid_to_ms=memory.validity.valid_to_ms,
    )


def recollection_from(answer: Mapping[str, Any]) -> Recollection:
    """An answer as the API writes it."""
    block, trace = answer["block"], answer["trace"]
    return Recollection(
        text=block["text"],
        tokens=block["tokens"],
        memories=tuple(
            Found(
                id=memory["id"],
                kind=memory["kind"],
                content=memory["text"],
                relevance=memory["relevance"],
                scope=memory["scope"],
                tier=memory["provenance"]["tier"],
                source=memory["provenance"]["source"],
                created_at_ms=memory["created_at_ms"],
                valid_from_ms=memory["validity"]["valid_from_ms"],
                valid_to_ms=memory["validity"]["valid_to_ms"],
            )
            for memory in answer["memories"]
        ),
        silence=trace["silence"],
        trace_id=trace["id"],
    )


def recall_of(trace: Trace) -> RecallRecord:
    """A recall of the engine."""
    from tacit.app.reasons import in_words  # noqa: PLC0415 - a program on the socket does not load it

    told = in_words(trace)
    return RecallRecord(
        trace_id=told.id,
        session=told.session,
        surface=told.surface.value,
        text=told.text,
        at_ms=told.at_ms,
        silence=told.silence,
        considered=_considered(
            told.injected,
            [(c.memory_id, c.content, c.relevance) for c in told.candidates],
            [
                (drop.memory_id, f"{stage.stage}: {drop.reason}")
                for stage in told.stages
                for drop in stage.drops
            ],
        ),
    )


def recall_from(trace: Mapping[str, Any]) -> RecallRecord:
    """A recall as the API writes it."""
    return RecallRecord(
        trace_id=trace["id"],
        session=trace["session"],
        surface=trace["surface"],
        text=trace["text"],
        at_ms=trace["at_ms"],
        silence=trace["silence"],
        considered=_considered(
            trace["injected"],
            [(c["memory_id"], c["content"], c["relevance"]) for c in trace["candidates"]],
            [
                (drop["memory_id"], f"{stage['stage']}: {drop['reason']}")
                for stage in trace["stages"]
                for drop in stage["drops"]
            ],
        ),
    )


def _considered(
    given: Sequence[str], candidates: Sequence[tuple[str, str, float]], drops: Sequence[tuple[str, str]]
) -> tuple[Considered, ...]:
    scored = {name: (content, relevance) for name, content, relevance in candidates}
    outcomes = {**dict(drops), **dict.fromkeys(given, GIVEN)}
    names = dict.fromkeys((*given, *scored, *outcomes))
    return tuple(
        Considered(
            id=name,
            content=scored[name][0] if name in scored else "",
            relevance=scored[name][1] if name in scored else None,
            outcome=outcomes.get(name, "not chosen"),
        )
        for name in names
    )
