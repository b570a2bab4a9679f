"""One round of upkeep over a store: decay in every scope, orphaned relations, old records, and counts of the contents.

In: a store, kinds, settings, the time. Out: counts. A second round at the same time changes nothing more.

Decay, consolidation and limits: what may go of what nobody stated. In: memories, kinds, the time. Out: changes. Pure.

Never touched: what the user stated or confirmed, what is pinned, standing rules. What goes is retired, so that its history stays and
it can be brought back. The changes for a store that was just tended are none.

Decay: a memory of a kind with a half-life is worth

    fresh = 2 ** -(age / (half_life * (1 + ln(1 + uses + repeats))))

with age in days since it was last stated, `uses` how often an injection of it was used and `repeats` how often it was stated again
(source: our own choice; the form is that of the space `recent`, lengthened by use as spaced repetition does). Below `2 ** -fade` it is
retired. Consolidation: of several memories of one scope and kind that say the same words, the one vouched for best (then the oldest,
then the first id) takes over what the others know. Limit: of more than `most` unstated memories of a scope the least worth go,
by importance, then use, then age, then id.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tacit.config.settings import MOST_TRACES, RetentionSettings
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Change, Merge, Retire
from tacit.model.kinds import DIGEST, KindRegistry
from tacit.model.memory import Memory, Relation, Sensitivity, TrustTier
from tacit.model.scope import ScopeFilter
from tacit.ports.clock import Clock
from tacit.ports.store import MemoryFilter, MemoryStore, Store
from tacit.safety.trust import most_sensitive
from tacit.state.registry import forget_session
from tacit.statements.same import canonical_text

DAY_MS = 86_400_000
MAX_EVIDENCE = 8
_HISTORY = frozenset({"updates", "contradicts"})
"""Types of relations that are history: they stay when a memory ends, because undoing needs them."""


@frozen
class DecayCounts:
    """How many memories upkeep retired as faded, merged with equal ones, and retired because their scope had too many (`over`), and how many relations it deleted."""

    faded: int = 0
    consolidated: int = 0
    over: int = 0
    relations: int = 0

    def __add__(self, other: DecayCounts) -> DecayCounts:
        return DecayCounts(
            faded=self.faded + other.faded,
            consolidated=self.consolidated + other.consolidated,
            over=self.over + other.over,
            relations=self.relations + other.relations,
        )


@frozen
class DecayPlan:
    """The changes that upkeep should make in one scope, and in `tended` how many of them there are for each reason."""

    changes: tuple[Change, ...] = ()
    tended: DecayCounts = field(default_factory=DecayCounts)


def is_stated(memory: Memory, kinds: KindRegistry) -> bool:
    """Return whether upkeep must leave `memory` alone: it is pinned, a standing rule, or stated by the user or a teammate. A digest counts as not stated."""
    if memory.pinned or kinds.of_stored(memory.kind).standing:
        return True
    # Tacit writes digests in the user's name; nobody stated them.
    return memory.provenance.tier >= TrustTier.TEAMMATE and memory.kind != DIGEST


def freshness(memory: Memory, kinds: KindRegistry, *, now_ms: int) -> float:
    """Return the freshness of `memory`, 1 (new) down to 0, by the formula at the top of this module; 1 for a kind without half-life."""
    half_life = kinds.of_stored(memory.kind).half_life_days
    if half_life is None:
        return 1.0
    last_stated_ms = max(memory.updated_at_ms, memory.created_at_ms, memory.validity.valid_from_ms)
    age = max(0, now_ms - last_stated_ms) / DAY_MS
    return 2 ** -(age / (half_life * (1 + math.log1p(memory.use_count + memory.frequency - 1))))


def plan_decay(
    memories: Sequence[Memory], kinds: KindRegistry, *, now_ms: int, fade: float, most: int
) -> DecayPlan:
    """Return the changes that upkeep should make in one scope: merge equal memories, retire faded ones and those over the limit. Writes nothing.

    Args:
        memories: the active memories of the scope, in any order.
        kinds: the known kinds; a memory of a kind that is known no more is left alone but for consolidation.
        now_ms: the time.
        fade: half-lives after which an unused memory goes; 0 = never.
        most: most unstated memories; 0 = no limit.
    """
    changes: list[Change] = []
    remaining, merged = _consolidated(memories, kinds, now_ms=now_ms)
    changes += merged
    faded = [
        memory
        for memory in remaining
        if fade > 0 and not is_stated(memory, kinds) and freshness(memory, kinds, now_ms=now_ms) < 2**-fade
    ]
    changes += [
        Retire(memory_id=memory.id, at_ms=now_ms, reason=ChangeReason(cause=ChangeCause.FADED))
        for memory in faded
    ]
    gone = {memory.id for memory in faded}
    loose = [memory for memory in remaining if memory.id not in gone and not is_stated(memory, kinds)]
    loose.sort(key=lambda memory: (-memory.importance, -memory.use_count, -memory.updated_at_ms, memory.id))
    over = loose[most:] if most else []
    changes += [
        Retire(memory_id=memory.id, at_ms=now_ms, reason=ChangeReason(cause=ChangeCause.OVER_LIMIT))
        for memory in over
    ]
    count = sum(isinstance(change, Retire) for change in merged)
    return DecayPlan(
        changes=tuple(changes), tended=DecayCounts(faded=len(faded), consolidated=count, over=len(over))
    )


def _consolidated(
    memories: Sequence[Memory], kinds: KindRegistry, *, now_ms: int
) -> tuple[list[Memory], list[Change]]:
    """Return (memories that remain, changes): of memories with the same kind and statement, one takes over what the others know and those are retired."""
    groups: dict[tuple[str, str, str, str], list[Memory]] = {}
    for memory in memories:
        alike = (memory.kind, canonical_text(memory.content), memory.error_signature, memory.branch_name)
        groups.setdefault(alike, []).append(memory)
    remaining: list[Memory] = []
    changes: list[Change] = []
    for group in groups.values():
        best, *duplicates = sorted(
            group,
            key=lambda memory: (
                not is_stated(memory, kinds),
                -memory.provenance.tier.rank,
                memory.created_at_ms,
                memory.id,
            ),
        )
        if duplicates:
            best = _merged(best, duplicates)
            changes.append(
                Merge(
                    memory=best,
                    reason=ChangeReason(cause=ChangeCause.CONSOLIDATED, terms=(str(len(duplicates)),)),
                )
            )
            changes += [
                Retire(
                    memory_id=memory.id,
                    at_ms=now_ms,
                    reason=ChangeReason(cause=ChangeCause.SAYS_SAME, memory_ids=(best.id,)),
                )
                for memory in duplicates
            ]
        remaining.append(best)
    return remaining, changes


def _merged(best: Memory, duplicates: Sequence[Memory]) -> Memory:
    spans = (span for memory in (best, *duplicates) for span in (*memory.evidence, memory.provenance.span))
    evidence = tuple(dict.fromkeys(span for span in spans if span and span != best.provenance.span))
    everyone = (best, *duplicates)
    return replace(
        best,
        frequency=sum(memory.frequency for memory in everyone),
        use_count=sum(memory.use_count for memory in everyone),
        shown_count=sum(memory.shown_count for memory in everyone),
        importance=max(memory.importance for memory in everyone),
        confidence=max(memory.confidence for memory in everyone),
        sensitivity=most_sensitive(*(memory.sensitivity for memory in everyone)),
        updated_at_ms=max(memory.updated_at_ms for memory in everyone),
        pinned=any(memory.pinned for memory in everyone),
        evidence=evidence[-MAX_EVIDENCE:],
        files=tuple(dict.fromkeys(path for memory in everyone for path in memory.files)),
        trigger=best.trigger if not best.trigger.empty else duplicates[0].trigger,
    )


def orphans(relations: Iterable[Relation], memories: Mapping[str, Memory]) -> tuple[Relation, ...]:
    """Return those of `relations` to delete: one of the two memories is not in `memories` (by id) or has ended, and the type is not in `_HISTORY`."""
    live = ("active", "quarantined")

    def alive(name: str) -> bool:
        return name in memories and memories[name].status in live

    return tuple(
        relation
        for relation in relations
        if relation.type not in _HISTORY and not (alive(relation.source_id) and alive(relation.target_id))
    )


FADE_HALF_LIVES = 6.0
"""Half-lives of its kind after which a memory that nobody stated or used is deleted."""
MOST_MEMORIES = 20_000
"""Most memories in one scope that nobody stated."""
SESSION_DAYS = 90
"""A live session record that heard nothing for so long is forgotten; its traces follow their own limit."""
_SESSIONS = 10_000


_BATCH = 2_000


@frozen
class Statistics:
    """Counts of the memories in a store.

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
    """Run `plan_decay` on every scope of the store and write its changes, one transaction per scope; delete orphaned relations. Return the counts.

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
    """Count the active memories of these sensitivities (None = any) in the whole store; `by_status` counts the others, too."""
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
    """Delete the `orphans` among the relations of memories that have ended; return how many were deleted."""
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


@frozen
class RetentionCounts:
    """How many traces and session records a round of retention deleted."""

    traces: int
    sessions: int


def apply_retention(store: Store, settings: RetentionSettings, *, clock: Clock) -> RetentionCounts:
    """Delete traces older than `settings` says, those beyond the newest `MOST_TRACES`, and session records older than `SESSION_DAYS`, with their named values; never memories.

    Running it twice changes nothing more.

    Raises:
        StoreError: as the store.
    """
    now = clock.now_ms()
    traces = store.prune_traces(before_ms=int(now - settings.trace_days * DAY_MS), keep=MOST_TRACES)
    limit = now - SESSION_DAYS * DAY_MS
    stale = [state.key for state in store.list_sessions(limit=_SESSIONS) if state.last_signal_at_ms < limit]
    for key in stale:
        store.delete_session(key)
        forget_session(store, key)
    return RetentionCounts(traces=traces, sessions=len(stale))
