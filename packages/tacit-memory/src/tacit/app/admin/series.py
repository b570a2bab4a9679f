"""Numbers over time, for charts. In: traces, verdicts, counts of use. Out: buckets and sums. Pure but for what it reads.

Only what charts need of a trace is kept, no text, so that the next question decodes new traces alone. Percentiles are nearest
rank: the value at position ceil(p * n) of n values in order (Hyndman and Fan 1996, definition 1). The tokens of a block are shared
out to the kinds of its memories by the length of their words in the trace.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from threading import Lock

from tacit.app.reasons import cause_text, silence_text
from tacit.config.settings import MOST_TRACES, RetentionSettings
from tacit.frozen import frozen
from tacit.model.pack import Surface
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import MemoryFilter, Store, TraceFilter
from tacit.session import cache_meter
from tacit.state.counted import Mark, Verdict
from tacit.state.registry import CACHE_DAYS, CACHE_DAYS_OF_HOSTS, TOTALS, USAGE, VERDICTS

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
BUCKETS_MS: Mapping[str, int] = {"hour": HOUR_MS, "day": DAY_MS}
MOST_BUCKETS = 800
MOST_FACTS = 5000
_BATCH = 64
_ALWAYS = (Surface.START, Surface.COMPACTION, Surface.ON_DEMAND)
"""Surfaces on which something is given whenever there is something."""


@frozen
class Bucket:
    """One time interval that begins at `at_ms`. Recall latencies are in milliseconds, 0 without recalls.

    `injections` and `silences` are of prompts, calls and failures: a start pack comes always, and an agent's own search gets an answer.
    `useful` and `wrong` = verdicts on what was handed over then; `precision` = their share of useful ones.
    """

    at_ms: int
    injections: int
    silences: int
    memories: int
    p50_ms: float
    p95_ms: float
    tokens: Mapping[str, int]
    useful: int
    wrong: int
    precision: float | None


@frozen
class Latency:
    """Latency of the recalls of one surface, in milliseconds."""

    surface: str
    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@frozen
class SurfaceCount:
    """The recalls of one surface: how many there were, how many injected something, the injected memories and their tokens."""

    surface: str
    recalls: int
    injections: int
    memories: int
    tokens: int


@frozen
class Reason:
    """A reason for silence of prompts, calls and failures, in words, and how often; `cause` = null where it was stored without one."""

    reason: str
    cause: SilenceCause | None
    count: int


@frozen
class FeedbackCounts:
    """Counts of the owner's verdicts: `precision` = useful / (useful + wrong) of the injected memories, null without a verdict."""

    useful: int
    wrong: int
    missed: int
    precision: float | None


@frozen
class Use:
    """Use of memories injected into the sessions of that time: `used` of the `shown` that were assessed, as `rate`.

    `baseline` = the same share of memories that were not injected, over all sessions.
    """

    shown: int
    used: int
    rate: float | None
    baseline: float | None


@frozen
class Series:
    """Numbers from `since_ms` to `until_ms` in buckets of `bucket_ms`, oldest first, none left out.

    `recalls` = how often the memory was asked in that time, and `surfaces` what came of them; `noted` = memories stored in that time; `complete` = False where older ones have gone already; `marks` = settings changed and memories
    imported in that time.
    """

    since_ms: int
    until_ms: int
    bucket_ms: int
    recalls: int
    complete: bool
    buckets: tuple[Bucket, ...]
    latency: tuple[Latency, ...]
    silences: tuple[Reason, ...]
    kinds: Mapping[str, int]
    feedback: FeedbackCounts
    used: Use
    surfaces: tuple[SurfaceCount, ...] = ()
    noted: int = 0
    cache: tuple[cache_meter.CacheShare, ...] = ()
    marks: tuple[Mark, ...] = ()


@frozen
class Fact:
    """The numbers of one trace that charts need. `tokens` = tokens of the block, by kind."""

    at_ms: int
    surface: str
    took_ms: float
    injected: int
    silence: str
    cause: SilenceCause | None = None
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])


def fact_of(trace: Trace) -> Fact:
    """Return the numbers of `trace` that charts need."""
    return Fact(
        at_ms=trace.at_ms,
        surface=trace.surface.value,
        took_ms=trace.took_ms,
        injected=len(trace.injected),
        silence=cause_text(trace.cause) if trace.cause is not None else silence_text(trace),
        cause=trace.cause,
        tokens=tokens_by_kind(trace),
    )


def tokens_by_kind(trace: Trace) -> dict[str, int]:
    """Return `{kind: tokens}`: the block's tokens shared out by the length of its memories' words; the largest kind gets the rounding rest."""
    chosen = set(trace.injected)
    lengths: Counter[str] = Counter()
    for candidate in trace.candidates:
        if candidate.memory_id in chosen:
            lengths[candidate.kind] += max(1, len(candidate.content))
    if not lengths or not trace.tokens:
        return {}
    total_length = sum(lengths.values())
    shared = {kind: trace.tokens * length // total_length for kind, length in sorted(lengths.items())}
    first = min(shared, key=lambda kind: (-lengths[kind], kind))
    shared[first] += trace.tokens - sum(shared.values())
    return shared


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at `share` (0 to 1) of sorted `values`, by nearest rank; 0 if there are none."""
    return round(values[max(0, math.ceil(share * len(values)) - 1)], 3) if values else 0.0


def series_of(
    facts: Iterable[Fact],
    verdicts: Sequence[Verdict],
    *,
    since_ms: int,
    until_ms: int,
    bucket_ms: int,
    used: Use,
    complete: bool,
) -> Series:
    """Sum up facts and verdicts in buckets; `since_ms` is rounded down to a whole bucket, and at most the last `MOST_BUCKETS` are returned."""
    first = max(since_ms // bucket_ms, (until_ms - 1) // bucket_ms - MOST_BUCKETS + 1)
    count = max(0, (until_ms - 1) // bucket_ms - first + 1)
    since_ms = first * bucket_ms
    # What the preset switches off was not asked: it is no recall, and its silence says nothing of the memory.
    asked = [fact for fact in facts if fact.cause is not SilenceCause.OFF_IN_PRESET]
    inside = [fact for fact in asked if since_ms <= fact.at_ms < until_ms]
    by_bucket: list[list[Fact]] = [[] for _ in range(count)]
    for fact in inside:
        by_bucket[fact.at_ms // bucket_ms - first].append(fact)
    judged = [verdict for verdict in verdicts if since_ms <= verdict.trace_at_ms < until_ms]
    surfaces: dict[str, list[float]] = {}
    kinds: Counter[str] = Counter()
    for fact in inside:
        surfaces.setdefault(fact.surface, []).append(fact.took_ms)
        kinds.update(fact.tokens)
    silences = Counter((fact.silence, fact.cause) for fact in inside if fact.silence and _is_moment(fact))
    return Series(
        since_ms=since_ms,
        until_ms=until_ms,
        bucket_ms=bucket_ms,
        recalls=len(inside),
        complete=complete,
        buckets=tuple(
            _bucket((first + at) * bucket_ms, bucket_facts, _said_in(judged, first + at, bucket_ms))
            for at, bucket_facts in enumerate(by_bucket)
        ),
        latency=tuple(_latency(name, sorted(times)) for name, times in sorted(surfaces.items())),
        silences=tuple(
            Reason(reason=reason, cause=cause, count=number)
            for (reason, cause), number in sorted(
                silences.items(), key=lambda pair: (-pair[1], pair[0][0], pair[0][1] or "")
            )
        ),
        kinds=dict(sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))),
        feedback=_feedback(judged),
        used=used,
        surfaces=tuple(
            _surface(name, [fact for fact in inside if fact.surface == name]) for name in sorted(surfaces)
        ),
    )


def _is_moment(fact: Fact) -> bool:
    """Whether the recall belongs to a moment of the work, at which silence is the rule, and not to a start or to an agent's question."""
    return fact.surface not in _ALWAYS


def _surface(name: str, facts: Sequence[Fact]) -> SurfaceCount:
    return SurfaceCount(
        surface=name,
        recalls=len(facts),
        injections=sum(fact.injected > 0 for fact in facts),
        memories=sum(fact.injected for fact in facts),
        tokens=sum(sum(fact.tokens.values()) for fact in facts),
    )


def _said_in(verdicts: Sequence[Verdict], number: int, bucket_ms: int) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.trace_at_ms // bucket_ms == number]


def _bucket(at_ms: int, facts: Sequence[Fact], verdicts: Sequence[Verdict]) -> Bucket:
    times = sorted(fact.took_ms for fact in facts)
    tokens: Counter[str] = Counter()
    for fact in facts:
        tokens.update(fact.tokens)
    feedback = _feedback(verdicts)
    moments = [fact for fact in facts if _is_moment(fact)]
    injections = sum(fact.injected > 0 for fact in moments)
    return Bucket(
        at_ms=at_ms,
        injections=injections,
        silences=len(moments) - injections,
        memories=sum(fact.injected for fact in facts),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        tokens=dict(sorted(tokens.items())),
        useful=feedback.useful,
        wrong=feedback.wrong,
        precision=feedback.precision,
    )


def _latency(surface: str, times: Sequence[float]) -> Latency:
    return Latency(
        surface=surface,
        count=len(times),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        p99_ms=percentile(times, 0.99),
    )


def _feedback(verdicts: Sequence[Verdict]) -> FeedbackCounts:
    useful = sum(verdict.useful and verdict.injected for verdict in verdicts)
    wrong = sum(not verdict.useful and verdict.injected for verdict in verdicts)
    return FeedbackCounts(
        useful=useful,
        wrong=wrong,
        missed=sum(verdict.useful and not verdict.injected for verdict in verdicts),
        precision=round(useful / (useful + wrong), 4) if useful + wrong else None,
    )


class Charts:
    """Makes the series of charts from one store, and keeps the numbers of traces already read. Safe to use from several threads."""

    def __init__(self, store: Store, *, retention: Callable[[], RetentionSettings]) -> None:
        """Read `store`; `retention` tells how long it keeps traces."""
        self._store = store
        self._retention = retention
        self._lock = Lock()
        self._facts: OrderedDict[str, Fact] = OrderedDict()
        self._from_ms: int | None = None
        """All traces from this time on were read once; None = none were."""

    def series(self, *, since_ms: int, until_ms: int, bucket_ms: int) -> Series:
        """Return what the charts show from `since_ms` to `until_ms`, in buckets of `bucket_ms`: injections, silences, latency, tokens, verdicts and use.

        Of the traces, only those of that time are read, and of these only those that were not read before.
        """
        since_ms = since_ms // bucket_ms * bucket_ms
        with self._lock:
            self._read(since_ms)
            facts = tuple(self._facts.values())
        totals = TOTALS.read(self._store)
        retention = self._retention()
        older = self._store.find_traces(TraceFilter(until_ms=since_ms + 1), limit=1)
        all_there = len(facts) < MOST_TRACES and since_ms >= until_ms - retention.trace_days * DAY_MS
        series = series_of(
            facts,
            VERDICTS.read(self._store),
            since_ms=since_ms,
            until_ms=until_ms,
            bucket_ms=bucket_ms,
            used=self._used(since_ms, until_ms, baseline=totals.baseline),
            complete=bool(older) or all_there,
        )
        return replace(
            series,
            cache=self._prompt_cache_shares(since_ms=since_ms, until_ms=until_ms),
            noted=self._noted(since_ms, until_ms),
        )

    def _used(self, since_ms: int, until_ms: int, *, baseline: float | None) -> Use:
        """Count how much of what was injected into the sessions that were heard of last in that time was used."""
        shown = used = 0
        for state in self._store.list_sessions(limit=MOST_FACTS):
            if state.last_signal_at_ms < since_ms:
                break
            if state.last_signal_at_ms >= until_ms:
                continue
            usage = USAGE.read(self._store, state.key)
            given = {exposure.memory_id for exposure in state.ledger if exposure.surface is not Surface.HOST}
            shown += len(given.intersection(usage.counted))
            used += len(given.intersection(usage.counted, usage.used))
        return Use(shown=shown, used=used, rate=round(used / shown, 4) if shown else None, baseline=baseline)

    def _noted(self, since_ms: int, until_ms: int) -> int:
        """Count the memories that were stored in that time, whatever became of them; digests and task lists of sessions are none."""
        where = MemoryFilter(statuses=None, notes=False)
        scope = self._store.scopes()

        def stored_from(at_ms: int) -> int:
            return self._store.count_memories(replace(where, stored_from_ms=at_ms), scope=scope)

        return stored_from(since_ms) - stored_from(until_ms)

    def _prompt_cache_shares(self, *, since_ms: int, until_ms: int) -> tuple[cache_meter.CacheShare, ...]:
        """Return one `CacheShare` for each placement (what a prompt cache could keep), followed by one for each host (what its provider kept)."""
        placement_days = CACHE_DAYS.read(self._store)
        host_days = CACHE_DAYS_OF_HOSTS.read(self._store)
        return (
            *cache_meter.shares(placement_days, since_ms=since_ms, until_ms=until_ms),
            *cache_meter.shares_of_hosts(host_days, since_ms=since_ms, until_ms=until_ms),
        )

    def _read(self, since_ms: int) -> None:
        if self._from_ms is not None:
            self._read_all(TraceFilter(since_ms=self._from_ms), known_end=True)
        if self._from_ms is None or since_ms < self._from_ms:
            self._read_all(TraceFilter(since_ms=since_ms, until_ms=self._from_ms), known_end=False)
            self._from_ms = since_ms
        if len(self._facts) > MOST_FACTS:
            newest = sorted(self._facts.items(), key=lambda pair: pair[1].at_ms)[-MOST_FACTS:]
            self._facts = OrderedDict(newest)

    def _read_all(self, where: TraceFilter, *, known_end: bool) -> None:
        """Read the traces that fit `where`, newest first; with `known_end` up to those that were read before."""
        while traces := self._store.find_traces(where, limit=_BATCH):
            new = [trace for trace in traces if trace.id not in self._facts]
            self._facts.update((trace.id, fact_of(trace)) for trace in new)
            # A recall may be stored after one that began later, so a batch without anything new ends it.
            if len(traces) < _BATCH or (known_end and not new):
                return
            where = replace(where, after=(traces[-1].at_ms, traces[-1].id))
