"""`tacit config tune`: thresholds from the user's own store, without labels: the levels before a prompt, and the bars of an embedder of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import cast

from tacit.app.values import Parts
from tacit.config.cosine_bars import (
    NAME as BARS_NAME,
)
from tacit.config.cosine_bars import (
    UnrelatedCosines,
    bars_from,
    cosine_at,
    details_of,
    is_shipped,
    stated_shares,
)
from tacit.config.layers import Origin
from tacit.config.levels import LEVELS, NAME, THRESHOLD, Level, Levels, levels_in_use, uses_levels
from tacit.config.settings import LevelName, Settings
from tacit.fitted import Artifact, FitOrigin, write_artifact
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, Store
from tacit.presets import preset_of
from tacit.reading.terms import find_entities
from tacit.recall.finished import Replayed, replay
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.render import frame_lines, line_text
from tacit.recall.retrieve import QUERY_CHARS
from tacit.recall.stage import Context
from tacit.state.counted import Verdict
from tacit.state.registry import VERDICTS

# Prompts that deserve nothing, from the user's own store and without labels. In: stored traces. Out: queries, and the best relevance of each.
#
# A prompt of one project asked of another project's memories deserves nothing of them, generic rules aside: such pairs are the
# null distribution. Where there is only one project, the words of one prompt meet the situation of another.

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
    """Return the best relevance of each null pair (0 = no candidate), and how they were paired: `projects` or `situations`."""
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
    """Return `{session: project id}` for the sessions of the traces that are still stored."""
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


# The cosine bars of the presets for the user's own embedder, from the user's own store. In: stored prompts. Out: a report; a file in the home.
#
# Each stored prompt is compared with every memory of its project. Nobody judged those pairs, but hardly one in a hundred is needed, so
# they stand for unrelated ones; the bars come out slightly too high, never too low. For an embedder whose cosines ship nothing is measured.

LEAST_COSINES = 2000
"""With fewer pairs no bar is measured: a share below one percent would mean nothing."""
MEMORIES_READ = 1000


@frozen
class MeasuredBar:
    """One cosine bar of the preset in use, before and after.

    Attributes:
        setting: its dotted name, with the kind where it is a mapping.
        share: of unrelated pairs that may reach it.
        before, after: cosines.
    """

    setting: str
    share: float
    before: float
    after: float


@frozen
class CosineReport:
    """The cosine bars measured on this store. `pairs` 0 = the embedder's cosines ship with Tacit; no bars = too few pairs."""

    embedder: str = ""
    pairs: int = 0
    bars: tuple[MeasuredBar, ...] = ()


def measure_cosines(
    parts: Parts, traces: Sequence[Trace], projects: Mapping[str, str], *, apply: bool
) -> CosineReport:
    """Measure the cosine bars for the embedder in use, if none ship for it; with `apply`, write them to the home.

    Args:
        parts: the store and its embedder.
        traces: of stored prompts.
        projects: project by session of the traces.
        apply: whether to write the file.
    """
    settings = parts.settings.current()
    identity = str(parts.embedder.identity)
    if is_shipped(settings.embedder):
        return CosineReport(embedder=identity)
    prompts = [trace for trace in traces if trace.session in projects]
    vectors = parts.embedder.embed([trace.text[:QUERY_CHARS] for trace in prompts]) if prompts else ()
    cosines = [
        hit.score
        for trace, vector in zip(prompts, vectors, strict=True)
        for hit in parts.store.search.semantic(
            vector,
            identity=parts.embedder.identity,
            scope=ScopeFilter.of(project_scope(projects[trace.session])),
            limit=MEMORIES_READ,
        ).hits
    ]
    if len(cosines) < LEAST_COSINES:
        return CosineReport(embedder=identity, pairs=len(cosines))
    measured = bars_from(cosines)
    if apply:
        origin = FitOrigin(
            what="cosines that a share of the pairs of a prompt and a memory of its project reaches",
            made_by="tacit config tune",
            embedder=identity,
            details={**details_of(settings.embedder), "pairs": len(cosines)},
        )
        write_artifact(
            parts.home.unrelated_cosines_file, Artifact(name=BARS_NAME, origin=origin, values=measured)
        )
        parts.settings.look_again()
    return CosineReport(embedder=identity, pairs=len(cosines), bars=_told(parts, measured))


def _told(parts: Parts, measured: UnrelatedCosines) -> tuple[MeasuredBar, ...]:
    """Return the bars of the preset in use, before and after."""
    settings = parts.settings.current()
    bars: list[MeasuredBar] = []
    for key, share in stated_shares(settings.preset).items():
        before: object = settings
        for attribute in key.split("."):
            before = getattr(before, attribute)
        if isinstance(share, float):
            bars.append(
                MeasuredBar(
                    setting=key, share=share, before=cast(float, before), after=cosine_at(share, measured)
                )
            )
            continue
        for name, single_share in cast("Mapping[str, float]", share).items():
            current = cast("Mapping[str, float]", before).get(name, 0.0)
            bars.append(
                MeasuredBar(
                    setting=f"{key}.{name}",
                    share=single_share,
                    before=current,
                    after=cosine_at(single_share, measured),
                )
            )
    return tuple(bars)


# `tacit config tune`: the levels of `focused` for this very store, without labels. In: stored traces. Out: a report; a file in the home.
#
# The null distribution is in `null_pairs`: prompts that deserve nothing. Prompts of which the owner said that nothing should have come
# belong to it as they are, and what the owner called useful is told with what each threshold would do to it. Each level keeps a bound
# of its own on the share of such prompts that get something; the bounds stand to each other as those of the shipped levels.

PROMPTS = 200
LEAST_PAIRS = 20
SETS_NO_LEVEL = ("default", "preset", "embedder", "level")
"""Layers whose prompt threshold nobody set by hand; one that is set in another layer wins over the levels."""


@frozen
class TunedLevel:
    """One level before and after tuning.

    Attributes:
        name: of the level.
        bound: greatest expected rate of wrongful injections that it keeps.
        before, after: thresholds; equal when there was too little to learn from.
        rate_before, rate_after: share of the pairs that get something.
        handed_before, handed_after: share of the stored prompts that get something.
        tokens_after: mean of all stored prompts, about.
        changed: stored prompts whose pack differs.
        useful_kept, wrong_kept: judged memories that reach the new threshold.
    """

    name: LevelName
    bound: float
    before: float
    after: float
    rate_before: float
    rate_after: float
    handed_before: float
    handed_after: float
    tokens_after: float
    changed: int
    useful_kept: int
    wrong_kept: int


@frozen
class TuneReport:
    """The result of `tacit config tune`: for each level the present and the proposed threshold, with their measured effects.

    Attributes:
        surface: the surface it is about.
        bound: greatest expected rate of wrongful injections that was asked for, of the level `balanced`.
        level: the level in use.
        prompts, pairs: of traces, and of prompts that deserve nothing.
        paired: `projects`, or `situations` where there is only one project.
        levels: from the quietest on; () where the preset has none.
        judged_useful, judged_wrong: memories handed over with prompts of which the owner said so.
        explicit: the prompt threshold that somebody set, which wins over every level; null = none.
        explicit_place: where it is set.
        applied: whether the levels were written.
        note: why nothing was proposed, or "".
        cosines: the cosine bars of the preset, for an embedder of the user's own.
    """

    surface: str
    bound: float
    level: LevelName
    prompts: int
    pairs: int
    paired: str
    levels: tuple[TunedLevel, ...] = ()
    judged_useful: int = 0
    judged_wrong: int = 0
    explicit: float | None = None
    explicit_place: str = ""
    applied: bool = False
    note: str = ""
    cosines: CosineReport = field(default_factory=CosineReport)


def tune(parts: Parts, pipeline: RecallPipeline, *, bound: float, apply: bool) -> TuneReport:
    """Propose a threshold for each level, and measure the bars of an embedder of the user's own; with `apply`, write both to the home."""
    report = parts.settings.report()
    settings = report.settings
    traces = [
        trace
        for trace in parts.store.list_traces(surface=Surface.PROMPT, limit=PROMPTS)
        if trace.text and not trace.situation.nothing_coming
    ]
    projects = projects_of(parts.store, traces)
    best, paired = best_of_null_pairs(parts.store, pipeline, settings, traces, projects)
    verdicts = [
        verdict
        for verdict in VERDICTS.read(parts.store)
        if verdict.surface == Surface.PROMPT and verdict.injected
    ]
    best += _deserved_nothing(verdicts)
    note, levels = _why_not(settings.preset, best), ()
    if uses_levels(settings.preset):
        before = levels_in_use(settings.embedder, parts.home).levels
        after = before if note else bounded_levels(best, before, bound=bound)
        levels = tuple(
            _tuned(
                parts,
                name,
                bound=level_bound(name, bound),
                before=before.of(name),
                after=after.of(name),
                best=best,
                traces=traces,
                verdicts=verdicts,
            )
            for name in LEVELS
        )
    applied = apply and not note and any(level.before != level.after for level in levels)
    if applied:
        _write_levels(parts, levels, pairs=len(best), bound=bound)
    set_by = _explicit(report.origins[THRESHOLD])
    return TuneReport(
        surface=Surface.PROMPT.value,
        bound=bound,
        level=settings.recall.level,
        prompts=len(traces),
        pairs=len(best),
        paired=paired,
        levels=levels,
        judged_useful=sum(verdict.useful for verdict in verdicts),
        judged_wrong=sum(not verdict.useful for verdict in verdicts),
        explicit=settings.recall.thresholds.prompt if set_by else None,
        explicit_place=set_by.place if set_by else "",
        applied=applied,
        note=note,
        cosines=measure_cosines(parts, traces, projects, apply=apply),
    )


def _why_not(preset: str, best: Sequence[float]) -> str:
    """Return why no level is proposed; "" = one is."""
    if not uses_levels(preset):
        return f"the preset {preset} does not use levels"
    return f"fewer than {LEAST_PAIRS} prompts to learn from" if len(best) < LEAST_PAIRS else ""


def _explicit(origins: Sequence[Origin]) -> Origin | None:
    """Return the origin of the prompt threshold that somebody set by hand; None = it comes from a level."""
    return None if origins[-1].layer in SETS_NO_LEVEL else origins[-1]


def _tuned(
    parts: Parts,
    name: LevelName,
    *,
    bound: float,
    before: Level,
    after: Level,
    best: Sequence[float],
    traces: Sequence[Trace],
    verdicts: Sequence[Verdict],
) -> TunedLevel:
    max_items = parts.settings.current().recall.max_items
    earlier = [replay(trace, threshold=before.threshold, most=max_items) for trace in traces]
    later = [replay(trace, threshold=after.threshold, most=max_items) for trace in traces]
    return TunedLevel(
        name=name,
        bound=bound,
        before=before.threshold,
        after=after.threshold,
        rate_before=round(rate_at(best, before.threshold), 4),
        rate_after=round(rate_at(best, after.threshold), 4),
        handed_before=_share([bool(prompt.after) for prompt in earlier]),
        handed_after=_share([bool(prompt.after) for prompt in later]),
        tokens_after=_mean_tokens(parts, later),
        changed=sum(old.after != new.after for old, new in zip(earlier, later, strict=True)),
        useful_kept=sum(verdict.useful and verdict.relevance >= after.threshold for verdict in verdicts),
        wrong_kept=sum(not verdict.useful and verdict.relevance >= after.threshold for verdict in verdicts),
    )


def _mean_tokens(parts: Parts, replayed: Sequence[Replayed]) -> float:
    """Return the mean tokens of the block over all prompts; a memory that is gone costs nothing."""
    scope = parts.store.scopes()
    frame = parts.tokens.count(frame_lines(Surface.PROMPT))

    def cost(memory: Memory) -> int:
        empty = line_text(Candidate(memory=memory, scores=(), fused=0.0), "", parts.kinds)
        return parts.tokens.count(empty) + memory.tokens

    spent = 0
    for prompt in replayed:
        memories = parts.store.get(prompt.after, scope=scope) if prompt.after else ()
        spent += sum(map(cost, memories)) + frame * bool(memories)
    return round(spent / len(replayed), 1) if replayed else 0.0


def _write_levels(parts: Parts, levels: Sequence[TunedLevel], *, pairs: int, bound: float) -> None:
    """Write the levels to the home and reload the settings."""
    tuned = {
        level.name: Level(threshold=level.after, wrongful=level.rate_after, tokens=level.tokens_after)
        for level in levels
    }
    embedder = parts.settings.current().embedder
    origin = FitOrigin(
        what="levels before a prompt, fitted to prompts of this store that deserve nothing",
        made_by="tacit config tune",
        embedder=str(parts.embedder.identity),
        details={**details_of(embedder), "pairs": pairs, "bound": bound},
    )
    values = Levels(quiet=tuned["quiet"], balanced=tuned["balanced"], eager=tuned["eager"])
    write_artifact(parts.home.levels_file, Artifact(name=NAME, origin=origin, values=values))
    parts.settings.look_again()


def _deserved_nothing(verdicts: Sequence[Verdict]) -> list[float]:
    """Return the best relevance of each prompt all of whose judged memories were unwanted."""
    by_trace: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_trace.setdefault(verdict.trace_id, []).append(verdict)
    return [
        max(verdict.relevance for verdict in judged)
        for _, judged in sorted(by_trace.items())
        if not any(verdict.useful for verdict in judged)
    ]


def _share(flags: Sequence[bool]) -> float:
    return round(sum(flags) / len(flags), 4) if flags else 0.0


# --- thresholds that keep a bound

STEP = 1e-4
"""The least difference of two relevances, which are kept to four places."""
BOUND_SHARES: Mapping[LevelName, float] = {"quiet": 5 / 12, "balanced": 1.0, "eager": 25 / 12}
"""Bound of each level in relation to that of `balanced`; the shipped bounds are .05, .12 and .25."""


def bounded_levels(best: Sequence[float], before: Levels, *, bound: float) -> Levels:
    """Return the levels whose thresholds keep their shares of `bound`.

    A bound that is too small for so few prompts changes nothing, but for a level that would not be quieter than the next one.
    """
    thresholds: dict[LevelName, float] = {}
    least = 0.0
    for name in reversed(LEVELS):
        fitted = bounded_threshold(best, bound=level_bound(name, bound))
        least = max(least, before.of(name).threshold if fitted is None else fitted)
        thresholds[name] = least
    return Levels(
        quiet=Level(threshold=thresholds["quiet"]),
        balanced=Level(threshold=thresholds["balanced"]),
        eager=Level(threshold=thresholds["eager"]),
    )


def level_bound(name: LevelName, bound: float) -> float:
    """Return the bound of a level, if that of `balanced` is `bound`; at most 1."""
    return min(1.0, round(bound * BOUND_SHARES[name], 4))


def bounded_threshold(best: Sequence[float], *, bound: float) -> float | None:
    """Return the least threshold that keeps `bound`, in steps of `STEP`; None = too few prompts to promise anything.

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
