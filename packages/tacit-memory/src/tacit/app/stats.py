"""Counts: of one recall, of what is wrong with settings or store, and of sessions with and without memory."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from tacit import __version__
from tacit.app.evidence import looked_at
from tacit.app.values import EngineStatus, ExtractorStatus, ModelDay, NamingStatus, Parts
from tacit.config.settings import Settings, WriterSettings, prices_of
from tacit.frozen import frozen
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, Salvage
from tacit.ports.writer import Writer
from tacit.reading.errors import error_signature
from tacit.session import cache_meter
from tacit.session.transitions import held_out, root_of
from tacit.state.counted import SessionCounts, Spending
from tacit.state.registry import (
    ANTICIPATION_SPENDING,
    CACHE_DAYS,
    HOLDOUT_ERRORS,
    HOLDOUT_SESSIONS,
    JUDGE_SPENDING,
    SPENDING,
    WAITING,
    NamedValue,
    undeclared,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tacit.app.values import SignalResult
    from tacit.config.settings import RecallSettings
    from tacit.ports.models import TokenCounter
    from tacit.ports.store import ValueStore

# Counts of one recall, read from its trace, and what is wrong with settings or store. Source: the typed seed, section 8.1.
#
# In: a trace, or the parts. Out: counts (`InjectionStats`), with what was looked at and what was handed over told apart; sentences.


@frozen
class InjectionStats:
    """Figures of one recall: memories considered and injected, tokens used and allowed, kinds, relevance.

    Attributes:
        memories_considered: candidates that were scored.
        memories_injected: memories in the block.
        tokens_used, tokens_budget: size of the block, and most it might have had.
        by_type: (kind, memories in the block), most frequent first.
        avg_relevance: mean relevance of the memories in the block, 0-1; 0 for none.
    """

    memories_considered: int
    memories_injected: int
    tokens_used: int
    tokens_budget: int
    by_type: tuple[tuple[str, int], ...]
    avg_relevance: float


def stats_of(trace: Trace) -> InjectionStats:
    """Return the counts of `trace`."""
    injected = [c for c in trace.candidates if c.memory_id in set(trace.injected)]
    kinds = Counter(c.kind for c in injected)
    return InjectionStats(
        memories_considered=looked_at(trace),
        memories_injected=len(trace.injected),
        tokens_used=trace.tokens,
        tokens_budget=trace.budget_tokens,
        by_type=tuple(sorted(kinds.items(), key=lambda entry: (-entry[1], entry[0]))),
        avg_relevance=sum(c.relevance for c in injected) / len(injected) if injected else 0.0,
    )


def warnings_of(parts: Parts) -> tuple[str, ...]:
    """List problems of the settings and the store, in sentences that say what to do."""
    warnings = [str(warning) for warning in parts.settings.report().warnings]
    if parts.salvaged is not None:
        warnings.append(salvage_words(parts.salvaged))
    everything = parts.store.scopes()
    for name in parts.kinds.unknown(parts.store.kinds(scope=everything)):
        count = parts.store.count_memories(MemoryFilter(kinds=(name,)), scope=everything)
        warnings.append(
            f"{count} {'memory has' if count == 1 else 'memories have'} the kind {name!r}, which your settings no longer"
            " define: shown under that name with default weights. Define it again under `kinds`, or give them"
            " another kind with `tacit edit ID --kind KIND`."
        )
    stats = parts.store.stats()
    if stats.vectors_missing:
        warnings.append(
            f"{stats.vectors_missing} memories have no vector of this embedder, and only their words find them. Those that just came from"
            " another device get one soon by themselves; `tacit doctor --reindex` makes all of them."
        )
    if unknown := undeclared(parts.store):
        warnings.append(
            f"The store holds {len(unknown)} named values that this version does not know, such as {unknown[0]!r}: a later"
            " version stored them. A purge takes words out of them and does not delete them; update Tacit."
        )
    return tuple(warnings)


def salvage_notice(salvage: Salvage) -> str:
    """Describe the repair of a damaged store in one line for the start of a session."""
    if not salvage.at_ms:
        count = "a new one is in use"
    else:
        noun = "memory" if salvage.recovered == 1 else "memories"
        lost = f"{salvage.lost_count} could not be read" if salvage.lost_count else _loss(salvage)
        count = f"{salvage.recovered} {noun} recovered, {lost if salvage.recovered else 'nothing else could be read'}"
    return f"Tacit's store was damaged and has been repaired: {count}; `tacit status` says more."


def _loss(salvage: Salvage) -> str:
    return "what was stored last may be missing" if salvage.cut else "none is known to be lost"


def salvage_words(salvage: Salvage) -> str:
    """Describe the repair of a damaged store for a person."""
    day = datetime.fromtimestamp(salvage.at_ms / 1000, UTC).strftime(" on %Y-%m-%d") if salvage.at_ms else ""
    text = f"The store was damaged and put aside{day} at {salvage.aside}. "
    if salvage.at_ms:
        backup = f" ({salvage.from_backup} of them from the newest backup)" if salvage.from_backup else ""
        number = f"{salvage.recovered} memories were" if salvage.recovered != 1 else "1 memory was"
        text += f"{number} recovered into a new one{backup}; "
        if salvage.lost_count:
            lost_names = ", ".join(salvage.lost) + (", ..." if salvage.lost_count > len(salvage.lost) else "")
            text += f"{salvage.lost_count} could not be read: {lost_names}. "
        elif salvage.recovered:
            text += f"{_loss(salvage)}. "
        else:
            text += "nothing else could be read. "
    else:
        text += "A new one is in use. "
    return (
        text
        + "`tacit restore FILE` restores a backup, or what can be read of that file; moving it away ends this notice."
    )


def status_of(parts: Parts, *, settings: Settings, sessions_cached: int) -> EngineStatus:
    """Collect what `tacit status` shows, without the sync."""
    return EngineStatus(
        version=__version__,
        home=str(parts.home.root),
        preset=settings.preset,
        store=parts.store.stats(),
        embedder=str(parts.embedder.identity),
        warnings=warnings_of(parts),
        sessions_cached=sessions_cached,
        recall_enabled=settings.recall.enabled,
        shadow=settings.recall.shadow,
        extractor=_extractor(parts, settings),
        anticipation=_naming(
            parts, parts.anticipating, ANTICIPATION_SPENDING, settings.recall.anticipate.as_writer()
        ),
        judge=_naming(parts, parts.judging, JUDGE_SPENDING, settings.recall.judge.as_writer()),
    )


def _days(spent: Spending, of: WriterSettings) -> tuple[ModelDay, ...]:
    """Return what a model took on each day, with its cost by the prices in the settings."""
    prices = prices_of(of.price)
    return tuple(
        ModelDay(
            day=one.day,
            tokens=one.tokens,
            tokens_out=one.tokens_out,
            cost=None
            if prices is None
            else round((one.tokens * prices[0] + one.tokens_out * prices[1]) / 1_000_000, 6),
        )
        for one in spent.days
    )


def _naming(
    parts: Parts, model: Writer | None, account: NamedValue[Spending], of: WriterSettings
) -> NamingStatus | None:
    if model is None:
        return None
    spent = account.read(parts.store).as_of(parts.clock.now_ms())
    return NamingStatus(
        name=model.name,
        tokens=spent.tokens,
        tokens_per_day=of.tokens_per_day,
        asked=spent.asked,
        named=spent.kept,
        ignored=spent.dropped,
        failed=spent.failed,
        over_budget=spent.over_budget,
        error=spent.error,
        tokens_out=spent.tokens_out,
        paused_until_ms=spent.paused_until_ms if spent.error else 0,
        days=_days(spent, of),
    )


def _extractor(parts: Parts, settings: Settings) -> ExtractorStatus | None:
    if parts.writer is None:
        return None
    spent = SPENDING.read(parts.store).as_of(parts.clock.now_ms())
    return ExtractorStatus(
        name=parts.writer.name,
        tokens=spent.tokens,
        tokens_per_day=settings.capture.extractor.tokens_per_day,
        asked=spent.asked,
        kept=spent.kept,
        dropped=spent.dropped,
        failed=spent.failed,
        over_budget=spent.over_budget,
        error=spent.error,
        tokens_out=spent.tokens_out,
        waiting=len(WAITING.names(parts.store)),
        paused_until_ms=spent.paused_until_ms if spent.error else 0,
        days=_days(spent, settings.capture.extractor),
    )


# The effect of memory: sessions with and without it, and the reuse of prompt caches. In: handled signals. Out: reports.
#
# The counter runs after the answers were sent. It stores counts and digests, no words, and nothing of an incognito or muted session. Token counts are
# estimates over prompts, the agent's last words, tool inputs and outputs as the host reports them, and injected text.
#
# The comparison is pure; its resampling is seeded. The interval is the 95 % percentile interval of the difference of two means over
# 2000 bootstrap resamples of each group (Efron and Tibshirani: An introduction to the bootstrap, 1993, sections 8.3 and 13.3). Below 20
# sessions a group nothing is concluded.

_SHARDS = 32
SHARDS = tuple(f"{number:02d}" for number in range(_SHARDS))
"""Keys of the named values that hold the records, so that only one of them is rewritten when a session ends."""
Records = Mapping[str, SessionCounts]
Seen = Mapping[str, tuple[str, int]]
"""`{digest of an error: (digest of the session, turn)}` of its first occurrence."""


MAX_LIVE = 256


class HoldoutCounter:
    """Counts turns, calls, failures and tokens of each session while a holdout is set, to compare those with and without memory; and, always, the reuse of prompt caches.

    The counts are kept in one store. Safe to use from several threads.
    """

    def __init__(self, store: ValueStore, tokens: TokenCounter) -> None:
        """Keep the counts in `store`; `tokens` estimates the tokens of texts."""
        self._store = store
        self._tokens = tokens
        self._lock = Lock()
        self._live: OrderedDict[str, SessionCounts] = OrderedDict()

    def note(self, signal: Signal, handled: SignalResult, settings: RecallSettings) -> None:
        """Count `signal` for its session; call it once for each signal, in the background.

        Writes to the store when a message or session ends.
        """
        if isinstance(signal, MessageEnded) and signal.sent:
            with self._lock:
                days = cache_meter.counted(CACHE_DAYS.read(self._store), signal.sent, at_ms=signal.at_ms)
                CACHE_DAYS.write(self._store, days)
        state = handled.state
        if settings.holdout <= 0.0 or state.muted or not settings.enabled or settings.shadow:
            return
        name = str(root_of(state))
        with self._lock:
            stored = self._live.get(name) or HOLDOUT_SESSIONS.read(self._store, shard_of(name)).get(name)
            record = stored or SessionCounts(without=held_out(state, settings.holdout), at_ms=signal.at_ms)
            record = self._counted(record, signal, handled, name)
            self._live[name] = record
            self._live.move_to_end(name)
            if isinstance(signal, MessageEnded | SessionEnded) or len(self._live) > MAX_LIVE:
                self._write(name, record)
                while len(self._live) > MAX_LIVE:
                    oldest, let_go = self._live.popitem(last=False)
                    self._write(oldest, let_go)

    def _counted(
        self, record: SessionCounts, signal: Signal, handled: SignalResult, name: str
    ) -> SessionCounts:
        injected_tokens = handled.delivery.block.tokens
        match signal:
            case PromptSubmitted():
                turns = 0 if signal.machine or signal.agent_id else 1
                return record.plus(turns=turns, tokens=injected_tokens + self._count(signal.text))
            case ToolFinished():
                return record.plus(
                    calls=1, tokens=injected_tokens + self._count(signal.output) + self._of_call(signal.call)
                )
            case ToolFailed():
                tokens = injected_tokens + self._count(signal.error) + self._of_call(signal.call)
                again = self._again(signal, handled, name)
                return record.plus(calls=1, failures=1, repeated=int(again), tokens=tokens)
            case MessageEnded():
                return record.plus(tokens=self._count(signal.text))
            case SessionStarted() | SubagentStarted() | ToolStarting() | Compacting() | SessionEnded():
                return record.plus(tokens=injected_tokens)

    def _again(self, signal: ToolFailed, handled: SignalResult, name: str) -> bool:
        signature = error_signature(signal.error, command=signal.call.command or signal.call.tool)
        project_id = handled.project.id if handled.project else ""
        seen = HOLDOUT_ERRORS.read(self._store, project_id)
        again, after = failed_before(signature, session=name, turn=handled.state.turn, seen=seen)
        if after is not seen:
            HOLDOUT_ERRORS.write(self._store, after, project_id)
        return again

    def _of_call(self, call: ToolCall) -> int:
        return self._count(call.command) + self._count(call.text)

    def _count(self, text: str) -> int:
        return self._tokens.count(text) if text else 0

    def _write(self, name: str, record: SessionCounts) -> None:
        shard = shard_of(name)
        stored = HOLDOUT_SESSIONS.read(self._store, shard)
        HOLDOUT_SESSIONS.write(self._store, merged(stored, {name: record}), shard)

    def holdout(self, *, since_ms: int, until_ms: int, share: float) -> Holdout:
        """Compare the sessions of that time with memory and without; `share` = the share that goes without now."""
        with self._lock:
            records = dict(self._live)
        for shard in SHARDS:
            records = {**HOLDOUT_SESSIONS.read(self._store, shard), **records}
        return holdout_of(within(list(records.values()), since_ms=since_ms, until_ms=until_ms), share=share)


def shard_of(session: str) -> str:
    """Return the key under `HOLDOUT_SESSIONS` of the value that holds the record of `session` (`host/id`)."""
    return SHARDS[int.from_bytes(_digest(session), "big") % _SHARDS]


def failed_before(signature: str, *, session: str, turn: int, seen: Seen) -> tuple[bool, Seen]:
    """Return whether an error is a repetition, and the errors seen so far with this one added.

    A failure is *repeated* when the same error (its signature) occurred before in this project: in another session, or at an earlier turn
    of this one.
    """
    name = _digest(signature).hex()
    before = seen.get(name)
    if before is None:
        return False, {**seen, name: (_digest(session).hex(), turn)}
    return before != (_digest(session).hex(), turn), seen


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()


def merged(stored: Records, new: Records) -> Records:
    """Return both sets of records by session, oldest session first; of a session in both the record in `new`."""
    return dict(sorted({**stored, **new}.items(), key=lambda pair: (pair[1].at_ms, pair[0])))


def within(records: Sequence[SessionCounts], *, since_ms: int, until_ms: int) -> list[SessionCounts]:
    """Return the records of sessions that began from `since_ms` to before `until_ms` and had a turn."""
    return [record for record in records if since_ms <= record.at_ms < until_ms and record.turns]


# --- comparison

RESAMPLES = 2000
LEVEL = 0.95
ENOUGH = 20
_CHUNK = 200
_SEED = 20_261_121


@frozen
class Contrast:
    """One measure compared. `difference` = mean with memory less mean without; `low`, `high` = its 95 % interval.

    `clear` = there are enough sessions, and the interval does not hold 0.
    """

    measure: str
    with_memory: float
    without: float
    difference: float
    low: float
    high: float
    clear: bool


@frozen
class Holdout:
    """The comparison: `share` = the share of sessions that go without now; sessions of each group; a contrast per measure."""

    share: float
    sessions_with: int
    sessions_without: int
    enough: bool
    contrasts: tuple[Contrast, ...] = ()


MEASURES: Mapping[str, Callable[[SessionCounts], float]] = {
    "repeated failures a session": lambda record: record.repeated,
    "turns a session": lambda record: record.turns,
    "tokens a session": lambda record: record.tokens,
    "failures a session": lambda record: record.failures,
}


def holdout_of(records: Sequence[SessionCounts], *, share: float) -> Holdout:
    """Compare the sessions with memory and without, measure by measure."""
    having = [record for record in records if not record.without]
    lacking = [record for record in records if record.without]
    enough = min(len(having), len(lacking)) >= ENOUGH
    contrasts = [
        _contrast(
            name,
            [measure(record) for record in having],
            [measure(record) for record in lacking],
            enough=enough,
        )
        for name, measure in MEASURES.items()
        if having and lacking
    ]
    return Holdout(
        share=share,
        sessions_with=len(having),
        sessions_without=len(lacking),
        enough=enough,
        contrasts=tuple(contrasts),
    )


def _contrast(name: str, having: Sequence[float], lacking: Sequence[float], *, enough: bool) -> Contrast:
    values_with, values_without = np.asarray(having, dtype=np.float64), np.asarray(lacking, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    differences = np.sort(_means(values_with, rng) - _means(values_without, rng))
    tail = (1.0 - LEVEL) / 2.0
    low, high = (float(value) for value in np.quantile(differences, (tail, 1.0 - tail)))
    return Contrast(
        measure=name,
        with_memory=round(float(values_with.mean()), 3),
        without=round(float(values_without.mean()), 3),
        difference=round(float(values_with.mean() - values_without.mean()), 3),
        low=round(low, 3),
        high=round(high, 3),
        clear=enough and (low > 0.0 or high < 0.0),
    )


def _means(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    chunks = [
        values[rng.integers(0, len(values), size=(_CHUNK, len(values)))].mean(axis=1)
        for _ in range(RESAMPLES // _CHUNK)
    ]
    return np.concatenate(chunks)
