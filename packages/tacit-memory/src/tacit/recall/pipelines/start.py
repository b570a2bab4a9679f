"""At the start of a session and after a compaction: what it will need most, from a pool of all that is known here.

In: a scope. Out: its memories in the order of expected need, and the pipeline that hands them over. Every session of a project asks for the same pool, so the last ones are kept for a quarter of an hour (needs age, but
slowly). What was written since is put into the kept lists; they are read anew only where that does not tell what they
hold now. Never decides what is handed over.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock

import numpy as np

from tacit.config.settings import RecallSettings
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.ids import newest_id_first
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.budget import pack_start
from tacit.recall.guard import dedupe, guard
from tacit.recall.pipelines import hand_over
from tacit.recall.score import NeedModel, order_by_need, shipped_need
from tacit.recall.spaces import freshness
from tacit.recall.stage import (
    Kit,
    Outcome,
    Pipeline,
    Preset,
    RecallState,
    StartPoolDesign,
    Step,
    newest_digests,
)

START_POOL = 120
SPECIFIC_SHARE = 2
RESERVE = 40
"""How many more memories a list holds than are used, to replace those that change or retire."""
DIGESTS_READ = 5
"""How many of the last begun digests are read to find the one that was updated last."""
MOST_CHANGED = 64
"""With more changed memories the lists are read anew."""
KEPT_POOLS = 16
EVERYWHERE = (ScopeKind.UNIVERSAL, ScopeKind.LANGUAGE)
"""Scopes of memories that other projects see too."""
BY_NEED = StartPoolDesign(make=None, keep_ms=15 * 60_000, one_digest=True)
"""The start pool by expected need, with one digest."""


def start(kit: Kit, state: RecallState, *, judge: Step | None = None) -> Pipeline:
    """Return the pipeline of a start: read the pool, order it, look at files, guard, drop what is known, pack, index the rest, render.

    A session that goes on gets only what changed since. `judge` None = the candidates keep the relevance that the pool gave them.
    """
    changes = (("dedupe", keep_changes),) if state.context.changed is not None else ()
    return Pipeline(
        find=(("retrieve", kit.pools.read), ("fuse", kit.pools.order)),
        choose=(
            *((("score", judge),) if judge is not None else ()),
            ("score", partial(kit.files.look, kit.tools)),
            ("guard", guard),
            *changes,
            *hand_over(kit, state),
        ),
        at_once=False,
    )


_Rank = tuple[int, float, float, str, str]
"""Sort key of a listed memory, as in `Search.standing`: pinned, broadest, most important, newest id; last its id."""


def _rank(memory: Memory) -> _Rank:
    return (
        -int(memory.pinned),
        -memory.trigger.reach,
        -memory.importance,
        newest_id_first(memory.id),
        memory.id,
    )


@frozen
class _Listing:
    """The first memories of `kinds` (with `rest`: of all other kinds) by rank, of scopes seen everywhere or of the project's own.

    `limit` = how many are used; `ranks` holds up to `RESERVE` more. `whole` = there are no further ones in the store.
    """

    kinds: frozenset[str]
    rest: bool
    everywhere: bool
    limit: int
    ranks: tuple[_Rank, ...]
    whole: bool

    @property
    def all_used(self) -> bool:
        """Whether the list uses every memory of its kinds and scopes."""
        return self.whole and len(self.ranks) <= self.limit

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the memories that are used."""
        return tuple(rank[-1] for rank in self.ranks[: self.limit])

    def after_changes(
        self, ids: Collection[str], current: Sequence[Memory], *, at_ms: int
    ) -> _Listing | None:
        """Return a copy that follows a change of the store: the memories `ids` are now as in `current`, or gone if they are not there. None = the list must be read anew."""
        coming = [
            _rank(memory)
            for memory in current
            if (memory.kind in self.kinds) is not self.rest
            and (memory.scope.kind in EVERYWHERE) is self.everywhere
            and memory.status == "active"
            and memory.validity.holds_at(at_ms)
        ]
        if not self.whole:
            last = self.ranks[-1]
            coming = [rank for rank in coming if rank <= last]
        ranks = sorted((*(rank for rank in self.ranks if rank[-1] not in ids), *coming))
        if not self.whole and len(ranks) < self.limit:
            return None
        room = self.limit + RESERVE
        return replace(self, ranks=tuple(ranks[:room]), whole=self.whole and len(ranks) <= room)


@frozen
class StartPool:
    """The memories that a start pack is chosen from, most needed first, and notes for the trace.

    `change`: the store's number of changes. `at_ms`: when it was made. `listings`: the lists it was made from, read at
    `read_at_ms`; () = it cannot follow changes. `share`: factor for the need of memories that every project sees. `rivals`: how many memories
    the pool stands for, those counted by `share`.
    """

    candidates: tuple[Candidate, ...]
    facts: tuple[Note, ...]
    change: int
    at_ms: int
    read_at_ms: int
    listings: tuple[_Listing, ...] = ()
    share: float = 1.0
    rivals: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether it holds every memory in scope but older digests; False if unknown."""
        return bool(self.listings) and all(listing.all_used for listing in self.listings)


class StartPools:
    """Cache of start pools by scope, preset and settings; keeps pools up to date with the store. Thread-safe."""

    def __init__(self, *, store: SearchableStore, kinds: KindRegistry, need: NeedModel | None = None) -> None:
        self._store = store
        self._kinds = kinds
        self._need = need or shipped_need()
        self._lock = Lock()
        self._pools: OrderedDict[tuple[ScopeFilter, str, Hashable], StartPool] = OrderedDict()

    def of(self, scope: ScopeFilter, *, at_ms: int, preset: Preset, settings: RecallSettings) -> StartPool:
        """Return the pool of `scope` in the design of `preset`, up to date with the store; cached, updated or read now."""
        # Asked before reading: a write in between makes the pool look older than it is, never newer.
        change = self._store.change()
        own = tuple(
            visible_scope for visible_scope in scope.scopes if visible_scope.kind is ScopeKind.SESSION
        )
        if own:
            # Every session has a scope of its own, nearly always empty: then it shares the pool of the others.
            if self._holds_any(ScopeFilter.of(*own)):
                return self._make(scope, preset, settings, change=change, at_ms=at_ms)
            scope = ScopeFilter.of(
                *(
                    visible_scope
                    for visible_scope in scope.scopes
                    if visible_scope.kind is not ScopeKind.SESSION
                ),
                lent=scope.lent,
            )
        key = (scope, preset.name, preset.start_pool.keyed_by(settings))
        with self._lock:
            pool = self._pools.get(key)
        keep_ms = preset.start_pool.keep_ms
        if pool is not None and (at_ms < pool.at_ms or at_ms - pool.read_at_ms >= keep_ms):
            pool = None
        if pool is not None and pool.change == change:
            return pool
        pool = (pool and self._follow_changes(pool, scope, change=change, at_ms=at_ms)) or self._make(
            scope, preset, settings, change=change, at_ms=at_ms
        )
        with self._lock:
            self._pools[key] = pool
            self._pools.move_to_end(key)
            while len(self._pools) > KEPT_POOLS:
                self._pools.popitem(last=False)
        return pool

    def read(self, state: RecallState) -> Outcome[RecallState]:
        """Set the state's `pool`, `pool_whole` and `rivals`: the memories that a start pack is chosen from."""
        pool = self.of(
            state.query.scope, at_ms=state.query.at_ms, preset=state.preset, settings=state.settings
        )
        state = state.changed(pool=pool.candidates, pool_whole=pool.whole, rivals=pool.rivals)
        return Outcome(kept=state, facts=pool.facts)

    def order(self, state: RecallState) -> Outcome[RecallState]:
        """Set the state's `found` and `scored`: the pool in its order, after a compaction what it dropped first; hidden memories are withheld."""
        query = state.query
        # Without a start pack, a compaction brings back what it dropped and nothing else.
        pool = state.pool if state.settings.budgets.start else ()
        candidates = self.with_first(pool, first=state.context.first, scope=query.scope, at_ms=query.at_ms)
        hidden = {c.memory.id: why for c in candidates if (why := state.why_withheld(c.memory))}
        candidates = tuple(c for c in candidates if c.memory.id not in hidden)
        if state.preset.start_pool.one_digest:
            last = newest_digests((c.memory for c in candidates), by_branch=False)
            candidates = tuple(c for c in candidates if c.memory.kind != DIGEST or c.memory in last)
        state = state.changed(
            found=candidates,
            scored=candidates,
            withheld=tuple(Drop(memory_id=memory_id, why=why) for memory_id, why in hidden.items()),
        )
        return Outcome(kept=state, facts=(Note(cause=NoteCause.ORDERED_BY_NEED),))

    def with_first(
        self, pool: Sequence[Candidate], *, first: tuple[str, ...], scope: ScopeFilter, at_ms: int
    ) -> tuple[Candidate, ...]:
        """Return the memories `first` with relevance 1, then the rest of `pool` with half its relevance; with () the pool as it is.

        Reads `first` from the store; ids that are not in `scope` are skipped.
        """
        if not first:
            return tuple(pool)
        dropped = self._store.get(first, scope=scope)
        again = {memory.id for memory in dropped}
        remaining = (replace(c, relevance=c.relevance / 2) for c in pool if c.memory.id not in again)
        back = (
            Candidate(
                memory=memory,
                scores=(("recent", round(self._recent(memory, at_ms), 4)),),
                fused=1.0,
                relevance=1.0,
            )
            for memory in dropped
        )
        return (*back, *remaining)

    def _holds_any(self, scope: ScopeFilter) -> bool:
        return self._store.count_active(scope=scope) > 0

    def _make(
        self, scope: ScopeFilter, preset: Preset, settings: RecallSettings, *, change: int, at_ms: int
    ) -> StartPool:
        make = preset.start_pool.make
        if make is None:
            listings = self._listings(scope)
            return self._order_by_need(listings, scope, change=change, at_ms=at_ms, read_at_ms=at_ms)
        candidates, facts = make(self._store, scope, at_ms=at_ms, kinds=self._kinds, settings=settings)
        return StartPool(candidates=candidates, facts=facts, change=change, at_ms=at_ms, read_at_ms=at_ms)

    def _listings(self, scope: ScopeFilter) -> tuple[_Listing, ...]:
        """Read the lists that a pool is made of: of standing and of other kinds, each once for the project's own scopes and once for those that all projects see."""
        kinds = [kind.name for kind in self._kinds if kind.standing or kind.at_start]
        # A kind that was removed from the settings still names what is stored.
        removed = self._kinds.unknown(self._store.kinds(scope=scope))
        other_kinds = [*(kind.name for kind in self._kinds if kind.name not in kinds), *removed]
        listings: list[_Listing] = []
        for everywhere, part in enumerate(_parts(scope)):
            for names, limit in ((kinds, START_POOL), (other_kinds, START_POOL // SPECIFIC_SHARE)):
                room = limit + RESERVE
                hits = self._store.search.standing(names, scope=part, limit=room, broadest=True).hits
                memories = self._store.get([hit.memory_id for hit in hits], scope=part)
                listings.append(
                    _Listing(
                        kinds=frozenset(kinds),
                        rest=names is other_kinds,
                        everywhere=bool(everywhere),
                        limit=limit,
                        ranks=tuple(sorted(map(_rank, memories))),
                        whole=len(hits) < room,
                    )
                )
        return tuple(listings)

    def _follow_changes(
        self, pool: StartPool, scope: ScopeFilter, *, change: int, at_ms: int
    ) -> StartPool | None:
        """Return `pool` with what was written to the store since, which is read; None = the pool must be made anew."""
        if not pool.listings:
            return None
        ids = self._store.changed(pool.change, scope=scope, limit=MOST_CHANGED)
        if ids is None:
            return None
        current = self._store.get(ids, scope=scope)
        listings: list[_Listing] = []
        for listing in pool.listings:
            after = listing.after_changes(frozenset(ids), current, at_ms=at_ms)
            if after is None:
                return None
            listings.append(after)
        before = {name for listing in pool.listings for name in listing.ids}
        before.update(candidate.memory.id for candidate in pool.candidates)
        share, rivals = self._competition(scope)
        same = pool.share == share and all(
            listing.ids == after.ids for listing, after in zip(pool.listings, listings, strict=True)
        )
        if same and before.isdisjoint(ids) and all(memory.kind != DIGEST for memory in current):
            return replace(pool, change=change, listings=tuple(listings), rivals=rivals)
        return self._order_by_need(
            tuple(listings), scope, change=change, at_ms=at_ms, read_at_ms=pool.read_at_ms
        )

    def _order_by_need(
        self, listings: tuple[_Listing, ...], scope: ScopeFilter, *, change: int, at_ms: int, read_at_ms: int
    ) -> StartPool:
        """Return the pool of the memories of `listings`, by expected need, with only the newest digest of each branch. Reads the store."""
        standing, specific = (
            [name for listing in listings if listing.rest is rest for name in listing.ids]
            for rest in (False, True)
        )
        digests = self._store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=scope, limit=DIGESTS_READ)
        last = newest_digests(digests)
        listed = self._store.get(list(dict.fromkeys((*standing, *specific))), scope=scope)
        memories = (*(memory for memory in listed if memory.kind != DIGEST), *last)
        share, rivals = self._competition(scope)
        shares = np.array([share if memory.scope.kind in EVERYWHERE else 1.0 for memory in memories])
        needs = self._need.needs(memories, kinds=self._kinds, at_ms=at_ms) * shares
        candidates = tuple(
            Candidate(
                memory=memory,
                scores=(("recent", round(self._recent(memory, at_ms), 4)),),
                fused=need,
                relevance=need,
            )
            for memory, need in order_by_need(memories, needs)
        )
        return StartPool(
            candidates=candidates,
            facts=(
                Note(cause=NoteCause.LISTED, detail="standing", count=len(standing)),
                Note(cause=NoteCause.LISTED, detail="specific", count=len(specific)),
            ),
            change=change,
            at_ms=at_ms,
            read_at_ms=read_at_ms,
            listings=listings,
            share=share,
            rivals=rivals,
        )

    def _competition(self, scope: ScopeFilter) -> tuple[float, float]:
        """Return the factor for the need of memories that every project sees, and how many memories compete for a start pack.

        The factor is own memories / such memories, at most 1. By it such memories count.
        """
        own, everywhere = (self._store.count_active(scope=part) for part in _parts(scope))
        share = min(1.0, own / everywhere) if own and everywhere else 1.0
        return share, own + share * everywhere

    def _recent(self, memory: Memory, at_ms: int) -> float:
        return freshness(at_ms=at_ms, since_ms=memory.updated_at_ms, kind=self._kinds.of_stored(memory.kind))


def _parts(scope: ScopeFilter) -> tuple[ScopeFilter, ScopeFilter]:
    """Split a scope into the project's own scopes, and those whose memories other projects see, too."""
    own = (visible for visible in scope.scopes if visible.kind not in EVERYWHERE)
    everywhere = (visible for visible in scope.scopes if visible.kind in EVERYWHERE)
    return ScopeFilter.of(*own), ScopeFilter.of(*everywhere)


def keep_changes(state: RecallState) -> Outcome[RecallState]:
    """Reduce the state's `passed`, for a session that goes on, to what a whole start pack would hold and is new to the session."""
    context, passed = state.context, state.passed or ()
    changed = context.changed
    assert changed is not None
    not_first = tuple(c for c in passed if c.memory.id not in context.first)
    whole = pack_start(state, dedupe(not_first, in_context={}).kept).kept
    listed = {item.candidate.memory.id for item in whole.items}
    new = {
        c.memory.id
        for c in not_first
        if c.memory.id in listed and not context.in_context(c.memory) and changed(c.memory)
    }.union(context.first)
    drops = tuple(
        Drop(memory_id=c.memory.id, why=DropReason(cause=DropCause.UNCHANGED))
        for c in passed
        if c.memory.id not in new
    )
    return Outcome(kept=state.changed(passed=tuple(c for c in passed if c.memory.id in new)), drops=drops)
