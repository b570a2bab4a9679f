"""Counts of one recall, read from its trace, and what is wrong with settings or store. Source: the typed seed, section 8.1.

In: a trace, or the parts. Out: counts (`InjectionStats`), with what was looked at and what was handed over told apart; sentences.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from tacit import __version__
from tacit.app.parts import Parts
from tacit.app.values import EngineStatus, ExtractorStatus, NamingStatus, SilenceCount
from tacit.config.settings import Settings
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import MemoryFilter, Salvage
from tacit.ports.writer import Writer
from tacit.state.counted import Spending
from tacit.state.named_value import NamedValue
from tacit.state.registry import ANTICIPATION_SPENDING, JUDGE_SPENDING, SPENDING, WAITING, undeclared


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionStats:
    """Counts of one recall.

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
    """The counts of `trace`."""
    scored = {
        memory_id
        for stage in trace.stages
        if stage.stage == "score"
        for memory_id in (*stage.kept, *(drop.memory_id for drop in stage.drops))
    }
    injected = [c for c in trace.candidates if c.memory_id in set(trace.injected)]
    kinds = Counter(c.kind for c in injected)
    return InjectionStats(
        memories_considered=len(scored | set(trace.injected)),
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
            f"{stats.vectors_missing} memories have no vector of this embedder: run `tacit reindex`."
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
        lost = f"{salvage.lost_count} could not be read" if salvage.lost_count else "none is known to be lost"
        count = f"{salvage.recovered} {noun} recovered, {lost if salvage.recovered else 'nothing else could be read'}"
    return f"Tacit's store was damaged and has been repaired: {count}; `tacit status` says more."


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
            text += "no memory is known to be lost. "
        else:
            text += "nothing else could be read. "
    else:
        text += "A new one is in use. "
    return (
        text
        + "`tacit restore FILE` restores a backup, or what can be read of that file; moving it away ends this notice."
    )


RECENT_TRACES = 200


def status_of(parts: Parts, *, settings: Settings, sessions_cached: int) -> EngineStatus:
    """What `tacit status` shows."""
    listed = parts.store.list_traces(limit=RECENT_TRACES)
    # What the preset switches off was not asked: it is no recall, and its silence says nothing of the memory.
    traces = [trace for trace in listed if trace.cause is not SilenceCause.OFF_IN_PRESET]
    silences = Counter((trace.surface, trace.cause) for trace in traces if trace.cause is not None)
    return EngineStatus(
        version=__version__,
        home=str(parts.home.root),
        preset=settings.preset,
        store=parts.store.stats(),
        embedder=str(parts.embedder.identity),
        warnings=warnings_of(parts),
        silences=tuple(
            SilenceCount(surface=surface, cause=cause, count=count)
            for (surface, cause), count in silences.most_common()
        ),
        injections=sum(1 for trace in traces if trace.injected),
        recent=len(traces),
        sessions_cached=sessions_cached,
        recall_enabled=settings.recall.enabled,
        shadow=settings.recall.shadow,
        extractor=_extractor(parts, settings),
        anticipation=_naming(
            parts, parts.anticipating, ANTICIPATION_SPENDING, settings.recall.anticipate.tokens_per_day
        ),
        judge=_naming(parts, parts.judging, JUDGE_SPENDING, settings.recall.judge.tokens_per_day),
    )


def _naming(
    parts: Parts, model: Writer | None, account: NamedValue[Spending], tokens_per_day: int
) -> NamingStatus | None:
    if model is None:
        return None
    spent = account.read(parts.store).on(parts.clock.now_ms())
    return NamingStatus(
        name=model.name,
        tokens=spent.tokens,
        tokens_per_day=tokens_per_day,
        asked=spent.asked,
        named=spent.kept,
        ignored=spent.dropped,
        failed=spent.failed,
        over_budget=spent.over_budget,
        error=spent.error,
        tokens_out=spent.tokens_out,
        paused_until_ms=spent.paused_until_ms if spent.error else 0,
    )


def _extractor(parts: Parts, settings: Settings) -> ExtractorStatus | None:
    if parts.writer is None:
        return None
    spent = SPENDING.read(parts.store).on(parts.clock.now_ms())
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
    )
