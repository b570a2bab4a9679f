"""Answers of the API as values of the library. In: plain values. Out: frozen values. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.library.values import (
    GIVEN,
    WAITING,
    Considered,
    Found,
    FoundItem,
    MemoryPage,
    MemoryRecord,
    RecallRecord,
    Recollection,
    Stored,
)


def stored_from(change: Mapping[str, Any], change_id: str | None) -> Stored:
    """Read a change in an answer of the API. `change_id` is that of the whole answer."""
    memory: Mapping[str, Any] = change.get("memory") or {}
    skipped = change.get("change") == "skip"
    return Stored(
        change=str(change.get("change", "")),
        id=str(memory.get("id") or change.get("memory_id") or ""),
        kind=str(memory.get("kind") or ""),
        content=str(memory.get("content") or change.get("content") or ""),
        waits=memory.get("status") == WAITING,
        reason=str(change.get("reason", "")),
        change_id="" if skipped else change_id or "",
    )


def record_from(memory: Mapping[str, Any]) -> MemoryRecord:
    """Read a memory in an answer of the API."""
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


def recollection_from(answer: Mapping[str, Any]) -> Recollection:
    """Read the API's answer to a recall."""
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
                waits=memory["status"] == WAITING,
            )
            for memory in answer["memories"]
        ),
        silence=trace["silence"],
        trace_id=trace["id"],
    )


def recall_from(trace: Mapping[str, Any]) -> RecallRecord:
    """Read a recall's trace in an answer of the API."""
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


def changes_from(answer: Mapping[str, Any]) -> tuple[Stored, ...]:
    """Read all changes in an answer of the API."""
    return tuple(stored_from(change, answer.get("change_id")) for change in answer["changes"])


def page_from(answer: Mapping[str, Any]) -> MemoryPage:
    """Read a page of memories in an answer of the API."""
    return MemoryPage(memories=tuple(map(record_from, answer["memories"])), total=answer["total"])


def item_from(item: Mapping[str, Any]) -> FoundItem:
    """Read an item in an answer of the API."""
    return FoundItem(
        **{name: item[name] for name in ("key", "value", "created_at_ms", "updated_at_ms", "score")},
        namespace=tuple(item["namespace"]),
    )


def stored_from_edit(answer: Mapping[str, Any]) -> Stored:
    """Convert the API's answer to an edit into a `Stored` with the change "edit"."""
    memory = record_from(answer["memory"])
    change_id = answer["change_id"] or ""
    return Stored(
        change="edit",
        id=memory.id,
        kind=memory.kind,
        content=memory.content,
        waits=memory.waits,
        reason="edited",
        change_id=change_id,
    )


def stored_from_forget(answer: Mapping[str, Any], reason: str) -> Stored:
    """Convert the API's answer to forgetting a memory into a `Stored` with the change "retire"; `reason` is the one that was given."""
    change_id = answer["change_id"] or ""
    why = reason or "forgotten"
    ended = answer["memory"]
    return Stored(
        change="retire", id=ended["id"], kind=ended["kind"], content="", reason=why, change_id=change_id
    )
