"""List and search memories, projects, kinds and spaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.app.visibility import SearchHit
from tacit.model.memory import Memory, MemoryStatus, Sensitivity, SensitivityName, TrustTier
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.ports.store import GivenTimes, MemoryFilter, MemoryOrder, MemoryTally
from tacit.recall.spaces import SPACES
from tacit.safety.trust import visible_levels
from tacit.verbs.answers import Facet, Facets, KindRow, Kinds, ListedMemories, RankPlaces, SpaceRow
from tacit.verbs.requests import (
    MOST_MS,
    NoBody,
    Place,
    Request,
    ScopeText,
    StoredStatus,
    from_cursor,
    rows_before,
    to_cursor,
)


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
    given: bool | None = Field(
        default=None, description="only those that were ever given to a session, or only others"
    )
    used: bool | None = Field(default=None, description="only those that any session used, or only others")
    facets: bool = Field(default=False, description="count the memories by value, too")
    order: MemoryOrder | None = Field(
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

    Each filter narrows the list. With `text` the list holds what a search finds by words, even misspelled ones, and by
    meaning; `hits` tells the place of each memory in both rankings. Memories that have every word come first, and
    `matched` counts them; then the best first, unless `order` is set. A search ends after the best 200. `total` counts
    all memories that match, not only those of this page. The search changes no session: nothing is injected or traced.
    """
    where = MemoryFilter(
        kinds=request.kind or None,
        statuses=request.wanted_statuses,
        source=request.source,
        as_of_ms=request.as_of_ms,
        tiers=request.wanted_tiers,
        sensitivities=visible_levels(request.wanted_sensitivities, by_user=caller.by_user),
        pinned=request.pinned,
        given=request.given,
        used=request.used,
        order=request.order or "created",
        ascending=request.ascending,
    )
    where, skip = _from(where, request)
    seen = engine.visible(request.cwd, paths=request.path) if request.cwd else engine.admin.scopes(())
    scope = engine.admin.scopes([Scope.parse(text) for text in request.scope], within=seen)
    facets = (
        _facets(engine, request, where, seen=seen, scope=scope, by_user=caller.by_user)
        if request.facets
        else None
    )
    if request.text is not None and request.text.strip():
        return _found(engine, request, where, scope, facets)
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
        matched=None,
        given_times=_given_times(engine, rows),
        facets=facets,
    )


def _given_times(engine: Engine, memories: Sequence[Memory]) -> list[GivenTimes]:
    """Return how often each of `memories` was given."""
    known = engine.store.given_times([memory.id for memory in memories])
    return [known.get(memory.id, GivenTimes()) for memory in memories]


_FACETS = {
    "kind": "kinds",
    "scope": "",
    "tier": "tiers",
    "status": "statuses",
    "sensitivity": "sensitivities",
    "given": "given",
    "used": "used",
}
"""Facet -> the field of `MemoryFilter` that filters by it; the scope is no field of it."""


def _facets(
    engine: Engine,
    request: ListMemories,
    where: MemoryFilter,
    *,
    seen: ScopeFilter,
    scope: ScopeFilter,
    by_user: bool,
) -> Facets:
    """Count the memories by value. Each list heeds all filters but its own; in a search only what it finds counts."""
    free: dict[str, Any] = dict.fromkeys(_FACETS.values()) | {
        "sensitivities": visible_levels(by_user=by_user)
    }
    del free[""]
    chosen: dict[str, Collection[object] | None] = {
        "kind": where.kinds,
        "scope": {str(one) for one in scope.scopes} if request.scope else None,
        "tier": where.tiers,
        "status": where.statuses,
        "sensitivity": request.wanted_sensitivities,
        "given": None if where.given is None else (where.given,),
        "used": None if where.used is None else (where.used,),
    }
    where = replace(where, after=None)
    text = (request.text or "").strip()
    everything = () if text else engine.store.tally(replace(where, **free), scope=seen)

    @cache
    def found(facet: str) -> Sequence[MemoryTally]:
        """Count what the search finds without the filter of one facet; "" = with all filters."""
        field = _FACETS.get(facet, "")
        less = replace(where, **({field: free[field]} if field else {}))
        hits = engine.admin.search.find(text, less, scope=seen if facet == "scope" else scope)
        memories = [hit.memory for hit in hits]
        return [_tally(*pair) for pair in zip(memories, _given_times(engine, memories), strict=True)]

    def counted(facet: str) -> list[Facet]:
        if text:
            rows = found(facet if chosen[facet] is not None else "")
        else:
            others = {name: values for name, values in chosen.items() if name != facet and values is not None}
            rows = [
                row
                for row in everything
                if all(getattr(row, name) in values for name, values in others.items())
            ]
        counts: Counter[str] = Counter()
        for row in rows:
            counts[_value(facet, getattr(row, facet))] += row.count
        return [
            Facet(value=value, count=count)
            for value, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ]

    return Facets(**{facet: counted(facet) for facet in _FACETS})


def _tally(memory: Memory, delivery: GivenTimes) -> MemoryTally:
    """Return one memory as a count of its values."""
    return MemoryTally(
        kind=memory.kind,
        scope=str(memory.scope),
        tier=memory.provenance.tier,
        status=memory.status,
        sensitivity=memory.sensitivity,
        given=delivery.last_ms > 0,
        used=memory.use_count > 0,
        count=1,
    )


def _value(facet: str, value: object) -> str:
    """Return a value of a tally as the request writes it; the path or task of a project counts as its project."""
    if facet == "scope":
        scope = Scope.parse(str(value))
        return str(project_scope(scope.project_id) if scope.project_id else scope)
    if isinstance(value, TrustTier | Sensitivity):
        return value.name.lower()
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_order(
    hits: Sequence[SearchHit], where: MemoryFilter, known: Mapping[str, GivenTimes]
) -> list[SearchHit]:
    """Return `hits` sorted by `where.order`, those with every word first, ties newest first."""

    def first(memory: Memory) -> float:
        delivery = known.get(memory.id, GivenTimes())
        match where.order:
            case "given":
                return delivery.given
            case "fetched":
                return delivery.fetched
            case "last":
                return delivery.last_ms
            case "created":
                return memory.created_at_ms
            case "updated":
                return memory.updated_at_ms
            case "importance":
                return memory.importance
            case "used":
                return memory.use_count

    sign = 1 if where.ascending else -1
    return sorted(
        hits,
        key=lambda hit: (
            not hit.whole,
            sign * first(hit.memory),
            -hit.memory.created_at_ms,
            hit.memory.id,
        ),
    )


def _found(
    engine: Engine, request: ListMemories, where: MemoryFilter, scope: ScopeFilter, facets: Facets | None
) -> ListedMemories:
    """Search for the request's text, and return the requested page of the memories found. `total` is the number of all of them."""
    skip = rows_before(request.cursor) if request.cursor else request.offset
    found: Sequence[SearchHit] = engine.admin.search.find(request.text or "", where, scope=scope)
    if request.order is not None:
        known = engine.store.given_times([hit.memory.id for hit in found])
        found = _in_order(found, where, known)
    following = skip + request.limit
    more = following < len(found)
    page = found[skip:following]
    memories = [hit.memory for hit in page]
    return ListedMemories(
        memories=memories,
        hits=[
            RankPlaces(matched=hit.whole, score=hit.score, by_words=hit.by_words, by_meaning=hit.by_meaning)
            for hit in page
        ],
        limit=request.limit,
        offset=request.offset,
        next_offset=following if more and not request.cursor else None,
        next_cursor=to_cursor((following, "")) if more else None,
        total=len(found),
        matched=sum(hit.whole for hit in found),
        given_times=_given_times(engine, memories),
        facets=facets,
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
        for space in SPACES.values()
    ]
    return Kinds(kinds=kinds, spaces=spaces)
