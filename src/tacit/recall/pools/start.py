"""What a start pack is chosen from. In: a scope. Out: its memories in the order of expected need.

Every session of a project asks for the same pool, so the last ones are kept until the store changes or a quarter of an
hour has passed (needs age, but slowly). Never decides what is handed over.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

from tacit.config.settings import RecallSettings, TypedScore
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.ports.store import Store
from tacit.recall.need import NeedModel, by_marginal_need, shipped_need
from tacit.recall.pools.scoped_start import scoped_start
from tacit.recall.pools.typed_start import typed_start
from tacit.recall.spaces.recent import freshness

START_POOL = 120
SPECIFIC_SHARE = 2
KEPT_POOLS = 16
KEPT_MS = 15 * 60_000
KEPT_TYPED_MS = 5 * 60_000
"""How long the `typed` design keeps a start context made ahead; source: its section 8.3."""
_PLAIN = RecallSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPool:
    """Candidates, most needed first, and notes for the trace. `change` and `at_ms`: of which store, made when."""

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]
    change: int
    at_ms: int


class StartPools:
    """The pools of the scopes used last. Safe to use from several threads."""

    def __init__(self, *, store: Store, kinds: KindRegistry, need: NeedModel | None = None) -> None:
        self._store = store
        self._kinds = kinds
        self._need = need or shipped_need()
        self._lock = Lock()
        self._pools: OrderedDict[tuple[ScopeFilter, str, TypedScore], StartPool] = OrderedDict()

    def of(self, scope: ScopeFilter, *, at_ms: int, settings: RecallSettings = _PLAIN) -> StartPool:
        """The pool of `scope` at `at_ms`, as the store is now and `settings.start_pool` wants it."""
        # Asked before reading: a write in between makes the pool look older than it is, never newer.
        change = self._store.change()
        own = tuple(one for one in scope.scopes if one.kind is ScopeKind.SESSION)
        if own:
            # Every session has a scope of its own, nearly always empty: then it shares the pool of the others.
            if self._holds_any(ScopeFilter.of(*own)):
                return self._made(scope, settings, change=change, at_ms=at_ms)
            scope = ScopeFilter.of(*(one for one in scope.scopes if one.kind is not ScopeKind.SESSION))
        with self._lock:
            pool = self._pools.get((scope, settings.start_pool, settings.typed))
        if (
            pool is not None
            and pool.change == change
            and 0 <= at_ms - pool.at_ms < (KEPT_TYPED_MS if settings.start_pool == "typed" else KEPT_MS)
        ):
            return pool
        pool = self._made(scope, settings, change=change, at_ms=at_ms)
        with self._lock:
            key = (scope, settings.start_pool, settings.typed)
            self._pools[key] = pool
            self._pools.move_to_end(key)
            while len(self._pools) > KEPT_POOLS:
                self._pools.popitem(last=False)
        return pool

    def with_first(
        self, pool: StartPool, *, first: tuple[str, ...], scope: ScopeFilter, at_ms: int
    ) -> tuple[Candidate, ...]:
        """The candidates of `pool`; those of `first`, which a compaction took out of the context, before all others."""
        if not first:
            return pool.candidates
        dropped = self._store.get(first, scope=scope)
        again = {memory.id for memory in dropped}
        rest = (replace(c, relevance=c.relevance / 2) for c in pool.candidates if c.memory.id not in again)
        back = (
            Candidate(
                memory=memory,
                scores=(("recent", round(self._recent(memory, at_ms), 4)),),
                fused=1.0,
                relevance=1.0,
            )
            for memory in dropped
        )
        return (*back, *rest)

    def _holds_any(self, scope: ScopeFilter) -> bool:
        return self._store.count_active(scope=scope) > 0

    def _made(self, scope: ScopeFilter, settings: RecallSettings, *, change: int, at_ms: int) -> StartPool:
        if settings.start_pool == "typed":
            candidates, notes = typed_start(self._store, scope, at_ms=at_ms, weights=settings.typed)
            return StartPool(candidates=candidates, notes=notes, change=change, at_ms=at_ms)
        if settings.start_pool == "score":
            candidates, notes = scoped_start(self._store, scope, at_ms=at_ms, kinds=self._kinds)
            return StartPool(candidates=candidates, notes=notes, change=change, at_ms=at_ms)
        return self._by_need(scope, change=change, at_ms=at_ms)

    def _by_need(self, scope: ScopeFilter, *, change: int, at_ms: int) -> StartPool:
        kinds = [kind.name for kind in self._kinds if kind.standing or kind.at_start]
        # A kind that was removed from the settings still names what is stored.
        removed = self._kinds.unknown(self._store.kinds(scope=scope))
        rest = [*(kind.name for kind in self._kinds if kind.name not in kinds), *removed]
        search = self._store.search
        hits = search.standing(kinds, scope=scope, limit=START_POOL, broadest=True).hits
        extra = search.standing(rest, scope=scope, limit=START_POOL // SPECIFIC_SHARE, broadest=True).hits
        ids = list(dict.fromkeys(hit.memory_id for hit in (*hits, *extra)))
        memories = self._store.get(ids, scope=scope)
        needs = self._need.needs(memories, kinds=self._kinds, at_ms=at_ms)
        candidates = [
            Candidate(
                memory=one.memory,
                scores=(("recent", round(self._recent(one.memory, at_ms), 4)),),
                fused=one.need,
                relevance=one.gain,
            )
            for one in by_marginal_need(memories, needs)
        ]
        notes = (f"standing: {len(hits)}", f"specific: {len(extra)}")
        return StartPool(candidates=tuple(candidates), notes=notes, change=change, at_ms=at_ms)

    def _recent(self, memory: Memory, at_ms: int) -> float:
        return freshness(at_ms=at_ms, since_ms=memory.updated_at_ms, kind=self._kinds.of_stored(memory.kind))
