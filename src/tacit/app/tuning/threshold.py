"""`tacit tune`: the prompt surface's threshold for this very store, without labels. In: stored traces. Out: a report.

A prompt of one project asked of another project's memories deserves nothing of them, generic rules aside: such pairs are the
null distribution. Where there is only one project, the words of one prompt meet the situation of another. Prompts of which the owner
said that nothing should have come belong to it as they are, and what the owner called useful is told with what a threshold would
do to it. Nothing is stored but, on demand, the setting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tacit.app.parts import Parts
from tacit.app.tuning.cosines import CosineReport, measure_cosines
from tacit.config.overrides import set_user_values
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, Store
from tacit.reading.entities import find_entities
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.replay import replay, would_have
from tacit.recall.stage import Context
from tacit.state.counted import Verdict
from tacit.state.registry import VERDICTS

STEP = 1e-4
"""Relevance is kept to four places: the next value up."""


SESSIONS_READ = 500
PROMPTS = 200
PAIRS = 400
GENERIC_BREADTH = 2.75
GENERIC_READ = 1000
LEAST_PAIRS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """The result of tuning.

    Attributes:
        surface: the surface it is about.
        bound: greatest expected rate of wrongful injections that was asked for.
        prompts, pairs: of traces, and of prompts that deserve nothing.
        paired: `projects`, or `situations` where there is only one project.
        before, after: thresholds; equal when there was too little to learn from.
        rate_before, rate_after: share of the pairs that get something.
        handed_before, handed_after: share of the stored prompts that get something.
        changed: stored prompts whose pack differs.
        judged_useful, judged_wrong: memories handed over with prompts of which the owner said so.
        useful_kept, wrong_kept: those of them that reach the new threshold.
        applied: whether the setting was written.
        note: why nothing was proposed, or "".
        cosines: the cosine bars of the preset, for an embedder of the user's own.
    """

    surface: str
    bound: float
    prompts: int
    pairs: int
    paired: str
    before: float
    after: float
    rate_before: float
    rate_after: float
    handed_before: float
    handed_after: float
    changed: int
    judged_useful: int = 0
    judged_wrong: int = 0
    useful_kept: int = 0
    wrong_kept: int = 0
    applied: bool = False
    note: str = ""
    cosines: CosineReport = field(default_factory=CosineReport)


def tune(parts: Parts, pipeline: RecallPipeline, *, bound: float, apply: bool) -> TuneReport:
    """Propose a threshold for prompts, and measure an embedder of the user's own; with `apply`, keep both.

    Raises:
        InvalidSetting: if the settings file cannot be written soundly.
    """
    settings = parts.settings.current()
    recall = settings.recall
    traces = [
        trace
        for trace in parts.store.list_traces(surface=Surface.PROMPT, limit=PROMPTS)
        if trace.text and not trace.situation.nothing_coming
    ]
    projects = _projects_of(parts.store, traces)
    queries, paired = _null_queries(parts.store, traces, projects)
    best: list[float] = []
    for query in queries:
        _, trace = pipeline.run(
            query, settings=recall, context=Context(preset=settings.preset), trace_id="tune"
        )
        best.append(_best(trace, _generic(parts.store, query.scope)))
    verdicts = [
        verdict
        for verdict in VERDICTS.read(parts.store)
        if verdict.surface == Surface.PROMPT and verdict.injected
    ]
    best += _deserved_nothing(verdicts)
    before = recall.thresholds.prompt
    fitted = bounded_threshold(best, bound=bound) if len(best) >= LEAST_PAIRS else None
    after = before if fitted is None else fitted
    again = [replay(trace, threshold=after, most=recall.max_items) for trace in traces]
    report = TuneReport(
        surface=Surface.PROMPT.value,
        bound=bound,
        prompts=len(traces),
        pairs=len(best),
        paired=paired,
        before=before,
        after=after,
        rate_before=round(rate_at(best, before), 4),
        rate_after=round(rate_at(best, after), 4),
        handed_before=_share([bool(would_have(trace)) for trace in traces]),
        handed_after=_share([bool(replayed.after) for replayed in again]),
        changed=sum(bool(replayed.added or replayed.gone) for replayed in again),
        judged_useful=sum(verdict.useful for verdict in verdicts),
        judged_wrong=sum(not verdict.useful for verdict in verdicts),
        useful_kept=sum(verdict.useful and verdict.relevance >= after for verdict in verdicts),
        wrong_kept=sum(not verdict.useful and verdict.relevance >= after for verdict in verdicts),
        applied=apply and after != before,
        note=f"fewer than {LEAST_PAIRS} prompts to learn from" if fitted is None else "",
        cosines=measure_cosines(parts, traces, projects, apply=apply),
    )
    if report.applied:
        set_user_values(parts.home, {"recall": {"thresholds": {"prompt": after}}})
    return report


def _deserved_nothing(verdicts: Sequence[Verdict]) -> list[float]:
    """Best relevance of each prompt whose every judged memory should not have come."""
    by_trace: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_trace.setdefault(verdict.trace_id, []).append(verdict)
    return [
        max(verdict.relevance for verdict in judged)
        for _, judged in sorted(by_trace.items())
        if not any(verdict.useful for verdict in judged)
    ]


def _projects_of(store: Store, traces: Sequence[Trace]) -> dict[str, str]:
    """Project by session of the traces, for sessions that are still stored."""
    known = {str(state.key): state.project_id for state in store.list_sessions(limit=SESSIONS_READ)}
    return {trace.session: known[trace.session] for trace in traces if known.get(trace.session)}


def _null_queries(store: Store, traces: Sequence[Trace], projects: dict[str, str]) -> tuple[list[Query], str]:
    places = [
        project.id
        for project in store.projects()
        if store.count_active(scope=ScopeFilter.of(project_scope(project.id)))
    ]
    queries = [
        _query(trace, trace, place)
        for trace in traces
        if trace.session in projects
        for place in places
        if place != projects[trace.session]
    ]
    if queries:
        step = max(1, len(queries) // PAIRS)
        return queries[::step][:PAIRS], "projects"
    half = len(traces) // 2
    return [
        _query(trace, traces[(at + half) % len(traces)], projects[trace.session])
        for at, trace in enumerate(traces)
        if half and trace.session in projects
    ][:PAIRS], "situations"


def _query(words: Trace, situation: Trace, project: str) -> Query:
    return Query(
        surface=Surface.PROMPT,
        text=words.text,
        raw_text=words.text,
        situation=situation.situation,
        scope=ScopeFilter.of(project_scope(project)),
        at_ms=words.at_ms,
        budget_tokens=1_000_000,
        entities=find_entities(words.text),
    )


def _generic(store: Store, scope: ScopeFilter) -> frozenset[str]:
    return frozenset(
        memory.id
        for memory in store.list_memories(MemoryFilter(), scope=scope, limit=GENERIC_READ)
        if memory.trigger.always or memory.trigger.breadth >= GENERIC_BREADTH
    )


def _best(trace: Trace, generic: frozenset[str]) -> float:
    return max(
        (candidate.relevance for candidate in trace.candidates if candidate.memory_id not in generic),
        default=0.0,
    )


def _share(flags: Sequence[bool]) -> float:
    return round(sum(flags) / len(flags), 4) if flags else 0.0


def bounded_threshold(best: Sequence[float], *, bound: float) -> float | None:
    """Return the least threshold in steps of `STEP`; None when there are too few prompts to promise anything.

    Conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster, ICLR 2024) for the loss "anything was injected", which is at
    most 1 and falls as the threshold rises. With n prompts that deserve nothing, the least t with

        n / (n + 1) * rate(t) + 1 / (n + 1) <= bound,   rate(t) = share of the n whose best relevance is at least t

    keeps the expected rate on one more exchangeable prompt at or below the bound.

    Args:
        best: best relevance of each prompt that deserves nothing, 0 when it had no candidate.
        bound: greatest expected rate, 0-1.
    """
    n = len(best)
    allowed = math.floor(bound * (n + 1) - 1 + 1e-9)
    if allowed < 0:
        return None
    if allowed >= n:
        return 0.0
    ordered = sorted(best, reverse=True)
    return min(1.0, round(ordered[allowed] + STEP, 4))


def rate_at(best: Sequence[float], threshold: float) -> float:
    """Return the share of prompts whose best relevance reaches `threshold`; 0 without prompts."""
    return sum(value >= threshold for value in best) / len(best) if best else 0.0
