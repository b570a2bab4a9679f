"""List and search memories, projects, kinds and spaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.memory import Memory, MemoryStatus, Sensitivity, SensitivityName, TrustTier
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.store import MemoryFilter
from tacit.safety.trust import visible_levels
from tacit.verbs.answers import KindRow, Kinds, ListedMemories, RankPlaces, SpaceRow
from tacit.verbs.cursors import from_cursor, rows_before, to_cursor
from tacit.verbs.requests import MOST_MS, NoBody, Place, Request, ScopeText, StoredStatus


class ListMemories(Request):
    """A request for a page of memories, with filters and order."""

    cwd: Place = Field(
        default="", description="only memories visible from this folder, or to `user:NAME`; default: all"
    )
    path: tuple[str, ...] = Field(default=(), max_length=200, description="files in use, for path scopes")
    kind: tuple[str, ...] = Field(default=(), max_length=100, description="only these kinds")
    source: str | None = Field(default=None, max_length=200, description="only from this source")
    text: str | None = Field(
        default=None,
        max_length=4000,
        description="search text: words in any order, misspelled, or by meaning; at most 200 results, best first"
        " unless `order` is set",
    )
    as_of_ms: int | None = Field(
        default=None, ge=0, le=MOST_MS, description="as known and valid at this time"
    )
    status: tuple[StoredStatus, ...] = Field(
        default=("active",), max_length=5, description="only these states; `all` for any"
    )
    scope: tuple[ScopeText, ...] = Field(
        default=(),
        max_length=100,
        description="only these scopes; a project's stands for its paths and tasks, too",
    )
    tier: tuple[Literal["user", "teammate", "assistant", "tool", "import"], ...] = Field(
        default=(), max_length=5, description="only with these trust tiers"
    )
    sensitivity: tuple[SensitivityName, ...] = Field(
        default=(), max_length=4, description="only of these levels"
    )
    pinned: bool | None = Field(default=None, description="only pinned ones, or only others")
    order: Literal["created", "updated", "importance", "used"] | None = Field(
        default=None, description="sort key, greatest first; ties newest first; default: `created`"
    )
    ascending: bool = Field(default=False, description="least of the sort key first; needs `order`")
    limit: int = Field(default=50, ge=1, le=500, description="most memories in one answer")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="number of memories to skip")
    cursor: str | None = Field(
        default=None, max_length=400, description="`next_cursor` of the page before, instead of `offset`"
    )

    @model_validator(mode="after")
    def _says_what_is_least(self) -> Self:
        if self.ascending and self.order is None:
            raise ValueError("order, where ascending is true")
        return self

    @property
    def wanted_statuses(self) -> tuple[MemoryStatus, ...] | None:
        """Return the states asked for; None = any."""
        return None if "all" in self.status else tuple(status for status in self.status if status != "all")

    @property
    def wanted_sensitivities(self) -> tuple[Sensitivity, ...] | None:
        """Return the sensitivities to list; None = any."""
        return tuple(Sensitivity.parse(level) for level in self.sensitivity) or None

    @property
    def wanted_tiers(self) -> tuple[TrustTier, ...] | None:
        """Return the trust tiers to list; None = any."""
        return tuple(TrustTier[tier.upper()] for tier in self.tier) or None


def list_memories(engine: Engine, caller: Caller, request: ListMemories) -> ListedMemories:
    """List memories, newest first unless ordered otherwise; `next_cursor` and `next_offset` are null at the end.

    Filters are combined: each narrows the list. With `text` the list holds the memories found, best first
    unless `order` is set: results are ranked by words, which may be misspelled, and by meaning, and the two
    rankings are combined. `hits` tells the places of each. `total` counts all memories that match, not only those
    of this page. A search ends after the best 200, and its `total` is never greater. Recalls are not affected:
    nothing is injected or traced.
    """
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        source=request.source,
        as_of_ms=request.as_of_ms,
        tiers=request.wanted_tiers,
        sensitivities=visible_levels(request.wanted_sensitivities, by_user=caller.by_user),
        pinned=request.pinned,
        order=request.order or "created",
        ascending=request.ascending,
    )
    where, skip = _from(where, request)
    scope = engine.visible(request.cwd, paths=request.path) if request.cwd else None
    if request.scope:
        scope = engine.admin.scopes([Scope.parse(text) for text in request.scope], within=scope)
    if request.text is not None and request.text.strip():
        return _found(engine, request, where, scope)
    fetched = engine.list_memories(where, scope=scope, limit=request.limit + 1, offset=skip)
    rows = fetched[: request.limit]
    more = len(fetched) > request.limit
    following: tuple[int, str] = (skip + request.limit, "")
    if more and _is_newest_first(where):
        following = (rows[-1].created_at_ms, rows[-1].id)
    return ListedMemories(
        memories=rows,
        limit=request.limit,
        offset=request.offset,
        next_offset=request.offset + request.limit if more and not request.cursor else None,
        next_cursor=to_cursor(following) if more else None,
        total=engine.admin.count(where, scope=scope),
    )


def _in_order(memories: Iterable[Memory], where: MemoryFilter) -> list[Memory]:
    """Return `memories` sorted by `where.order`, ties newest first."""

    def first(memory: Memory) -> float:
        match where.order:
            case "created":
                return memory.created_at_ms
            case "updated":
                return memory.updated_at_ms
            case "importance":
                return memory.importance
            case "used":
                return memory.use_count

    sign = 1 if where.ascending else -1
    return sorted(memories, key=lambda memory: (sign * first(memory), -memory.created_at_ms, memory.id))


def _found(
    engine: Engine, request: ListMemories, where: MemoryFilter, scope: ScopeFilter | None
) -> ListedMemories:
    """Search for the request's text, and return the requested page of the memories found. `total` is the number of all of them."""
    skip = rows_before(request.cursor) if request.cursor else request.offset
    within = scope if scope is not None else engine.admin.scopes(())
    hits = {hit.memory.id: hit for hit in engine.admin.search.find(request.text or "", where, scope=within)}
    found = [hit.memory for hit in hits.values()]
    if request.order is not None:
        found = _in_order(found, where)
    following = skip + request.limit
    more = following < len(found)
    page = found[skip:following]
    return ListedMemories(
        memories=page,
        hits=[
            RankPlaces(score=hit.score, by_words=hit.by_words, by_meaning=hit.by_meaning)
            for hit in (hits[memory.id] for memory in page)
        ],
        limit=request.limit,
        offset=request.offset,
        next_offset=following if more and not request.cursor else None,
        next_cursor=to_cursor((following, "")) if more else None,
        total=len(found),
    )


def _is_newest_first(where: MemoryFilter) -> bool:
    """Whether the list is sorted newest first, so that a cursor can name the last memory instead of a count of rows."""
    return where.order == "created" and not where.ascending


def _from(where: MemoryFilter, request: ListMemories) -> tuple[MemoryFilter, int]:
    """Return where the page begins: the filter, which may name the memory to continue after, and the number of rows to skip."""
    if not request.cursor:
        return where, request.offset
    if _is_newest_first(where):
        return replace(where, after=from_cursor(request.cursor)), 0
    return where, rows_before(request.cursor)


def list_kinds(engine: Engine, caller: Caller, request: NoBody) -> Kinds:
    """List the defined kinds, and the spaces, which are the measures of similarity.

    A kind sets how important a memory is at first and how fast its weight fades. The setting `kinds` adds
    more. A space is one way to measure how close a memory is to a situation; `high` and `low` are its
    thresholds. Traces name the score of each space.
    """
    kinds = [
        KindRow(**{name: getattr(kind, name) for name in KindRow.model_fields})
        for kind in engine.admin.kinds()
    ]
    spaces = [
        SpaceRow(**{name: getattr(space, name) for name in SpaceRow.model_fields})
        for space in engine.admin.spaces()
    ]
    return Kinds(kinds=kinds, spaces=spaces)
