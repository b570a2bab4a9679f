"""Return values of the library, and how they are read from answers of the API. Frozen; in a notebook each one shows itself as a table. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tacit.frozen import frozen


@frozen
class MemoryRecord:
    """One memory as it is stored, or as it was in an earlier version.

    Attributes:
        id: `mem_...`.
        kind: name of its kind.
        content: its statement.
        scope: who may see it, e.g. `universal` or `project:...`.
        tier: who vouches for it: user, teammate, assistant, tool or import.
        source: where it came from, in one word.
        status: `active`, `quarantined` (it waits for the user), `superseded` or `retired`.
        importance: 0 to 1.
        pinned: whether it is packed first where a preset pins.
        sensitivity: where it may appear: public, project, session or restricted.
        files: files that it is about.
        created_at_ms, updated_at_ms: milliseconds since the Unix epoch.
        valid_from_ms: since when it holds, in milliseconds since the Unix epoch.
        valid_to_ms: until when it held; None = it still does.
    """

    id: str
    kind: str
    content: str
    scope: str
    tier: str
    source: str
    status: str
    importance: float
    pinned: bool
    sensitivity: str
    files: tuple[str, ...]
    created_at_ms: int
    updated_at_ms: int
    valid_from_ms: int
    valid_to_ms: int | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for the user to confirm it."""
        return self.status == WAITING

    def _repr_html_(self) -> str:
        return html_table(
            ("id", "kind", "content", "status", "scope", "tier"),
            [(self.id, self.kind, self.content, self.status, self.scope, self.tier)],
        )


@frozen
class MemoryPage:
    """One page of a list of memories. Supports iteration, `len()` and indexing.

    Attributes:
        memories: this part, in the order of the list.
        total: number of memories in the whole list.
    """

    memories: tuple[MemoryRecord, ...]
    total: int

    def __iter__(self):  # noqa: ANN204 - an iterator of MemoryRecord
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, place: int) -> MemoryRecord:
        return self.memories[place]

    def _repr_html_(self) -> str:
        rows = [(memory.id, memory.kind, memory.content, memory.status) for memory in self.memories]
        caption = f"{len(self.memories)} of {self.total} memories"
        return html_table(("id", "kind", "content", "status"), rows, caption=caption)


@frozen
class Found:
    """One memory in the answer to a recall.

    Attributes:
        id: `mem_...`.
        kind: name of its kind.
        content: its statement, shortened where the budget asked for it.
        relevance: probability that it helps, 0-1.
        scope: who may see it, e.g. `universal` or `project:...`.
        tier: who vouches for it: user, teammate, assistant, tool or import.
        source: where it came from, in one word.
        created_at_ms: milliseconds since the Unix epoch.
        valid_from_ms: since when it holds, in milliseconds since the Unix epoch.
        valid_to_ms: until when it held; None = it still does.
        waits: whether it waits for the user to confirm it.
    """

    id: str
    kind: str
    content: str
    relevance: float
    scope: str
    tier: str
    source: str
    created_at_ms: int
    valid_from_ms: int = 0
    valid_to_ms: int | None = None
    waits: bool = False

    def _repr_html_(self) -> str:
        return html_table(
            ("id", "kind", "content", "relevance"), [(self.id, self.kind, self.content, self.relevance)]
        )


@frozen
class Recollection:
    """The answer to a recall; empty if nothing was found.

    Attributes:
        text: the block for a model; "" = nothing.
        tokens: its size.
        memories: what it was written from, in its order.
        silence: why it is empty, in words.
        trace_id: `trc_...`, what `tacit why` shows in full.
    """

    text: str = ""
    tokens: int = 0
    memories: tuple[Found, ...] = ()
    silence: str = ""
    trace_id: str = ""

    def __bool__(self) -> bool:
        return bool(self.memories)

    def _repr_html_(self) -> str:
        rows = [(one.id, one.kind, one.content, one.relevance) for one in self.memories]
        caption = self.silence or f"{len(rows)} memories, {self.tokens} tokens"
        return html_table(("id", "kind", "content", "relevance"), rows, caption=caption)


@frozen
class Stored:
    """What one call changed.

    Attributes:
        change: add, merge, supersede, contradict, edit, retire, or skip where nothing was stored.
        id: `mem_...` of the memory that holds it now, also where it was known already, or of the one that ended; "" = there is none.
        kind: name of its kind; "" = there is no memory.
        content: its words as they are stored, without secrets; "" for a retired one.
        waits: whether it waits for the user to confirm it.
        reason: why, in words.
        change_id: `chg_...`, what `undo` takes; "" = nothing was written.
    """

    change: str
    id: str
    content: str
    reason: str
    kind: str = ""
    waits: bool = False
    change_id: str = ""

    def _repr_html_(self) -> str:
        return html_table(
            ("change", "id", "kind", "content", "waits", "reason"),
            [(self.change, self.id, self.kind, self.content, "yes" if self.waits else "no", self.reason)],
        )


@frozen
class Considered:
    """A memory that a recall looked at.

    Attributes:
        id: `mem_...`.
        content: its statement; "" = it was dropped before it was read.
        relevance: probability that it helps, 0-1; None = it was dropped before it was scored.
        outcome: `given`, or the stage that dropped it and why.
    """

    id: str
    content: str
    relevance: float | None
    outcome: str


@frozen
class RecallRecord:
    """One recall: what was asked, what was given, and why not more.

    Attributes:
        trace_id: `trc_...`.
        session: `host/id`, or "" where no session asked.
        surface: the surface that was asked for.
        text: the words.
        at_ms: milliseconds since the Unix epoch.
        silence: why nothing was given, in words; "" = something was.
        considered: the memories that it looked at, first those that were given.
    """

    trace_id: str
    session: str
    surface: str
    text: str
    at_ms: int
    silence: str
    considered: tuple[Considered, ...]

    @property
    def given(self) -> tuple[str, ...]:
        """Return the ids of the memories that were given."""
        return tuple(one.id for one in self.considered if one.outcome == GIVEN)

    def _repr_html_(self) -> str:
        rows = [
            (one.id, one.content, "" if one.relevance is None else one.relevance, one.outcome)
            for one in self.considered
        ]
        caption = f"{self.surface}: {self.text}" + (f" ({self.silence})" if self.silence else "")
        return html_table(("id", "content", "relevance", "outcome"), rows, caption=caption)


@frozen
class FoundItem:
    """An item of a program, as it is stored.

    Attributes:
        namespace: labels from the widest to the narrowest.
        key: the name of the item in its namespace.
        value: a JSON object.
        created_at_ms, updated_at_ms: milliseconds since the Unix epoch.
        score: similarity to the query, higher is better; None = there was no query, or the item has no memory.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    created_at_ms: int
    updated_at_ms: int
    score: float | None = None


WAITING = "quarantined"
"""The status of a memory that waits for the user."""
GIVEN = "given"
"""The outcome of a memory that a recall gave."""


# --- tables for notebooks

_STYLE = "text-align:left;vertical-align:top"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str = "") -> str:
    """Return a table in HTML for notebooks; `caption` is shown above it."""
    head = "".join(_cell("th", heading) for heading in headings)
    body = "".join(f"<tr>{''.join(_cell('td', value) for value in row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f'<{tag} style="{_STYLE}">{escape(text)}</{tag}>'


# --- read from answers of the API


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
