"""One round of upkeep over a store: decay in every scope, orphaned relations, old records, and counts of the contents.

In: a store, kinds, settings, the time. Out: counts. A second round at the same time changes nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tacit.config.settings import RetentionSettings
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Sensitivity
from tacit.model.scope import ScopeFilter
from tacit.ports.clock import Clock
from tacit.ports.store import MemoryFilter, MemoryStore, Store
from tacit.state.registry import forget_session
from tacit.upkeep.decay import DecayCounts, is_stated, orphans, plan_decay

DAY_MS = 86_400_000
FADE_HALF_LIVES = 6.0
"""Half-lives of its kind after which a memory that nobody stated or used is deleted."""
MOST_MEMORIES = 20_000
"""Most memories in one scope that nobody stated."""
SESSION_DAYS = 90
"""A live session record that heard nothing for so long is forgotten; its traces follow their own limit."""
_SESSIONS = 10_000


_BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the store holds.

    Attributes:
        by_kind, by_status, by_scope: memories, most frequent first; by kind and by scope active ones only.
        stated: active ones that upkeep never touches.
        used: active ones that were used after an injection.
        restated: active ones that were stated more than once.
    """

    by_kind: Mapping[str, int]
    by_status: Mapping[str, int]
    by_scope: Mapping[str, int]
    stated: int
    used: int
    restated: int


def run_upkeep_round(
    store: MemoryStore,
    kinds: KindRegistry,
    *,
    clock: Clock,
    fade: float = FADE_HALF_LIVES,
    most: int = MOST_MEMORIES,
) -> DecayCounts:
    """Apply decay to every scope, each in one transaction; see `plan_decay` for `fade` and `most`.

    Raises:
        StoreError: as the store; scopes before it stay tended.
    """
    done = DecayCounts()
    for scope in sorted(store.scopes().scopes, key=str):
        visible = ScopeFilter.of(scope)
        memories = tuple(_all(store, MemoryFilter(), visible))
        plan = plan_decay(memories, kinds, now_ms=clock.now_ms(), fade=fade, most=most)
        if plan.changes:
            store.apply(plan.changes)
        done += plan.tended
    return replace(done, relations=_unrelate(store))


def statistics(
    store: MemoryStore, kinds: KindRegistry, *, levels: tuple[Sensitivity, ...] | None = None
) -> Statistics:
    """Count the memories of these sensitivities (None = any) in the whole store."""
    statuses: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    by_scope: Counter[str] = Counter()
    stated = used = restated = 0
    for memory in _all(store, MemoryFilter(statuses=None, sensitivities=levels), store.scopes()):
        statuses[memory.status] += 1
        if memory.status != "active":
            continue
        by_kind[memory.kind] += 1
        by_scope[str(memory.scope)] += 1
        stated += is_stated(memory, kinds)
        used += memory.use_count > 0
        restated += memory.frequency > 1
    return Statistics(
        by_kind=_ordered(by_kind),
        by_status=_ordered(statuses),
        by_scope=_ordered(by_scope),
        stated=stated,
        used=used,
        restated=restated,
    )


def _unrelate(store: MemoryStore) -> int:
    """Delete relations that lead to a memory that is recalled no more."""
    scope = store.scopes()
    memories = {memory.id: memory for memory in _all(store, MemoryFilter(statuses=None), scope)}
    ids = [name for name, memory in memories.items() if memory.status not in ("active", "quarantined")]
    relations = {
        (relation.source_id, relation.target_id, relation.type): relation
        for start in range(0, len(ids), _BATCH)
        for relation in store.relations(ids[start : start + _BATCH], scope=scope)
    }
    gone = orphans(relations.values(), memories)
    if gone:
        store.unrelate(gone)
    return len(gone)


def _all(store: MemoryStore, where: MemoryFilter, scope: ScopeFilter) -> Iterator[Memory]:
    offset = 0
    while batch := store.list_memories(where, scope=scope, limit=_BATCH, offset=offset):
        yield from batch
        offset += len(batch)


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionCounts:
    """Counts of deleted records."""

    traces: int
    sessions: int


def apply_retention(store: Store, settings: RetentionSettings, *, clock: Clock) -> RetentionCounts:
    """Delete old traces and session records, and the named values that belong to them. Memories are never touched.

    Running it twice changes nothing more.

    Raises:
        StoreError: as the store.
    """
    now = clock.now_ms()
    traces = store.prune_traces(before_ms=int(now - settings.trace_days * DAY_MS), keep=settings.traces)
    limit = now - SESSION_DAYS * DAY_MS
    stale = [state.key for state in store.list_sessions(limit=_SESSIONS) if state.last_signal_at_ms < limit]
    for key in stale:
        store.delete_session(key)
        forget_session(store, key)
    return RetentionCounts(traces=traces, sessions=len(stale))
