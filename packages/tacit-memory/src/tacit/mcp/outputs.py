"""What the tools answer: a text for the model, and the same as JSON that matches an output schema.

In: memories, changes, traces, counts. Out: a `ToolAnswer`. Some clients hand the model the JSON instead of the text. So it holds the
text, block and all, or everything that the text says; its words are escaped in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tacit.app.queries.agent_tools import AgentStats
from tacit.app.reasons import reason_text, silence_text
from tacit.frozen import frozen
from tacit.model.changes import Change, Contradict, Retire, Rewrite, Skip, Supersede
from tacit.model.memory import Memory, day
from tacit.model.trace import Trace
from tacit.safety.escape import escape_text
from tacit.safety.trust import is_marked

SHOWN_CANDIDATES = 5
_FRAME_TOKENS = 20
"""Tokens of a list's answer that are kept for its other fields, such as how many entries were left out."""

_STRING: Mapping[str, Any] = {"type": "string"}
_COUNT: Mapping[str, Any] = {"type": "integer"}
_OBJECT: Mapping[str, Any] = {"type": "object"}


def _object(required: Sequence[str] = (), **properties: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def _list(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


MEMORIES = _object(
    ("text", "memories"), text=_STRING, memories=_list(_object(id=_STRING, kind=_STRING)), more=_COUNT
)
"""JSON schema of an answer with memories: the text, the ids and kinds, and how many more there are."""
CHANGES = _object(
    ("changes",),
    changes=_list(
        _object(
            change=_STRING,
            id=_STRING,
            kind=_STRING,
            unconfirmed={"type": "boolean"},
            others=_list(_STRING),
        )
    ),
    note=_STRING,
    undo=_STRING,
)
"""JSON schema of an answer with changes. `others` = memories that are replaced or contradicted, `undo` = id of the change."""
JUDGED = _object(("id", "counted"), id=_STRING, counted={"type": "boolean"}, undo=_STRING)
"""JSON schema of the answer to feedback; `counted` = whether the verdict counted."""
RECALLS = _object(
    ("recalls",),
    recalls=_list(
        _object(
            trace=_STRING,
            surface=_STRING,
            text=_STRING,
            count=_COUNT,
            given=_list(_STRING),
            silence=_STRING,
            candidates=_list(_OBJECT),
        )
    ),
    more=_COUNT,
)
"""JSON schema of an answer with recalls: for each the number of injected memories, their ids as far as they fit, and the best candidates."""
STATS = _object(
    ("active", "unconfirmed"),
    active=_COUNT,
    unconfirmed=_COUNT,
    kinds=_OBJECT,
    session=_OBJECT,
    refused=_STRING,
)
"""JSON schema of an answer with counts of the visible memories, and of the session at work."""


@frozen
class ToolAnswer:
    """The answer of a tool: `text` for a model, and the same facts in `data` as JSON values."""

    text: str
    data: dict[str, Any]


def memories_data(text: str, memories: Sequence[Memory], *, more: int = 0) -> dict[str, Any]:
    """Return the data of an answer with memories. `more` = how many were left out."""
    rows = [{"id": memory.id, "kind": memory.kind} for memory in memories]
    return {"text": text, "memories": rows, **({"more": more} if more else {})}


def _fitting(
    rows: Sequence[dict[str, Any]], max_tokens: int, count: Callable[[str], int]
) -> list[dict[str, Any]]:
    """Return the first rows that fit into `max_tokens`, at least one. The lists in a row that does not fit are shortened."""
    remaining = max_tokens - _FRAME_TOKENS
    shown: list[dict[str, Any]] = []
    for row in rows:
        cost = count(_json(row)) + 1
        if cost > remaining and shown:
            break
        while cost > remaining and (smaller := _smaller(row)) is not None:
            row = smaller  # noqa: PLW2901
            cost = count(_json(row)) + 1
        remaining -= cost
        shown.append(row)
    return shown


def _json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _smaller(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return `row` with its longer list cut to half; None = no list is left to cut."""
    name = next((name for name in ("candidates", "given") if row.get(name)), None)
    return {**row, name: row[name][: len(row[name]) // 2]} if name else None


def marks_of(memory: Memory) -> list[str]:
    """Return remarks that tell how far a memory can be trusted: unconfirmed, ended, where it was read, and the branch that it holds on."""
    origin, ended = memory.provenance.read_from, memory.validity.valid_to_ms
    marks = ["unconfirmed"] if is_marked(memory) else []
    marks += [f"held until {day(ended, memory.validity.offset_ms)}"] if ended is not None else []
    marks += [f"from {escape_text(origin)}"] if origin else []
    return marks + ([f"on branch {escape_text(memory.branch_name)}"] if memory.branch is not None else [])


def changes_data(changes: Sequence[Change], note: str) -> dict[str, Any]:
    """Return the data of an answer with changes; `note` is the same in words."""
    return {"changes": [_change(change) for change in changes], "note": note}


def _change(change: Change) -> dict[str, Any]:
    word = "edit" if isinstance(change, Rewrite) else type(change).__name__.lower()
    row: dict[str, Any] = {"change": word, "id": ""}
    match change:
        case Retire() | Skip(memory=None):
            row["id"] = change.memory_id
        case _:
            assert change.memory is not None
            row |= {"id": change.memory.id, "kind": change.memory.kind}
            if is_marked(change.memory):
                row["unconfirmed"] = True
    match change:
        case Supersede():
            row["others"] = [change.old_id, *change.further, *change.contested]
        case Contradict():
            row["others"] = [change.other_id, *change.further]
        case _:
            pass
    return row


def recalls_data(
    traces: Sequence[Trace], memory_id: str, *, max_tokens: int, count: Callable[[str], int]
) -> dict[str, Any]:
    """Return the data of an answer with recalls: as many as fit, newest first. With `memory_id`, of their candidates only that memory."""
    rows = [_recall(trace, memory_id) for trace in traces]
    shown = _fitting(rows, max_tokens, count)
    more = len(rows) - len(shown)
    return {"recalls": shown, **({"more": more} if more else {})}


def _recall(trace: Trace, memory_id: str) -> dict[str, Any]:
    fates = fates_of(trace)
    candidates = [c for c in trace.candidates if not memory_id or c.memory_id == memory_id]
    rows: list[dict[str, Any]] = [
        {
            "id": c.memory_id,
            "relevance": round(c.relevance, 2),
            "fate": escape_text(fates.get(c.memory_id, "not chosen")),
        }
        for c in candidates[:SHOWN_CANDIDATES]
    ]
    if memory_id and not rows and memory_id in fates:
        rows.append({"id": memory_id, "fate": escape_text(fates[memory_id])})
    return {
        "trace": trace.id,
        "surface": trace.surface.value,
        "text": escape_text(trace.text[:120]),
        "count": len(trace.injected),
        "given": list(trace.injected),
        **({} if trace.injected else {"silence": escape_text(silence_text(trace)) or "nothing fitted"}),
        "candidates": rows,
    }


def fates_of(trace: Trace) -> dict[str, str]:
    """Return for each memory that a recall injected or dropped what happened to it, in words, by id."""
    dropped = {
        drop.memory_id: f"{stage.stage}: {reason_text(drop.why)}"
        for stage in trace.stages
        for drop in stage.drops
    }
    return {**dropped, **dict.fromkeys(trace.injected, "handed over")}


def stats_data(stats: AgentStats) -> dict[str, Any]:
    """Return the data of an answer with counts."""
    counts: dict[str, Any] = {
        "active": stats.active,
        "unconfirmed": stats.unconfirmed,
        "kinds": dict(stats.kinds),
    }
    if stats.session:
        counts["session"] = {
            "name": stats.session,
            "injected": stats.injected,
            "silent": stats.silent,
            "tokens": stats.tokens,
            "answers": stats.answers,
        }
    return {**counts, "refused": stats.refused} if stats.refused else counts
