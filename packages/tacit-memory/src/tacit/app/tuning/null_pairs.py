"""Prompts that deserve nothing, from the user's own store and without labels. In: stored traces. Out: queries, and the best relevance of each.

A prompt of one project asked of another project's memories deserves nothing of them, generic rules aside: such pairs are the
null distribution. Where there is only one project, the words of one prompt meet the situation of another.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.config.settings import Settings
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, Store
from tacit.presets import preset_of
from tacit.reading.terms import find_entities
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.stage import Context

SESSIONS_READ = 500
PAIRS = 400
GENERIC_BREADTH = 2.75
GENERIC_READ = 1000


def best_of_null_pairs(
    store: Store,
    pipeline: RecallPipeline,
    settings: Settings,
    traces: Sequence[Trace],
    projects: dict[str, str],
) -> tuple[list[float], str]:
    """Best relevance of each pair, 0 without a candidate; and how they were paired, `projects` or `situations`."""
    queries, paired = _null_queries(store, traces, projects)
    preset, context = preset_of(settings.preset), Context()
    best: list[float] = []
    for query in queries:
        _, trace = pipeline.run(
            query, preset=preset, settings=settings.recall, context=context, trace_id="tune"
        )
        best.append(_best(trace, _generic(store, query.scope)))
    return best, paired


def projects_of(store: Store, traces: Sequence[Trace]) -> dict[str, str]:
    """Project by session of the traces, for sessions that are still stored."""
    project_of = {str(state.key): state.project_id for state in store.list_sessions(limit=SESSIONS_READ)}
    return {trace.session: project_of[trace.session] for trace in traces if project_of.get(trace.session)}


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
