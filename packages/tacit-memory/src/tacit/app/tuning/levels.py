"""`tacit tune`: the levels of `focused` for this very store, without labels. In: stored traces. Out: a report; a file in the home.

The null distribution is in `null_pairs`: prompts that deserve nothing. Prompts of which the owner said that nothing should have come
belong to it as they are, and what the owner called useful is told with what each threshold would do to it. Each level keeps a bound
of its own on the share of such prompts that get something; the bounds stand to each other as those of the shipped levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.app.parts import Parts
from tacit.app.tuning.cosines import CosineReport, measure_cosines
from tacit.app.tuning.null_pairs import best_of_null_pairs, projects_of
from tacit.config.cosine_bars import details_of
from tacit.config.layers import Origin as SettingOrigin
from tacit.config.levels import LEVELS, NAME, THRESHOLD, Level, Levels, levels_in_use, uses_levels
from tacit.config.settings import LevelName
from tacit.fitted import Artifact, Origin, write_artifact
from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.trace import Trace
from tacit.recall.finished import Replayed, replay
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.render import frame_text, line_text
from tacit.state.counted import Verdict
from tacit.state.registry import VERDICTS

PROMPTS = 200
LEAST_PAIRS = 20
SETS_NO_LEVEL = ("default", "preset", "embedder", "level")
"""Layers below a threshold that somebody set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedLevel:
    """One level before and after.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """The result of tuning.

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
    """Propose a threshold for each level, and measure an embedder of the user's own; with `apply`, keep both."""
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
        _keep(parts, levels, pairs=len(best), bound=bound)
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
    """Why no level is proposed, or ""."""
    if not uses_levels(preset):
        return f"the preset {preset} does not use levels"
    return f"fewer than {LEAST_PAIRS} prompts to learn from" if len(best) < LEAST_PAIRS else ""


def _explicit(origins: Sequence[SettingOrigin]) -> SettingOrigin | None:
    """Who set the threshold that holds; None where a level did."""
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
    """Tokens of a prompt's block, in the mean of all prompts; a memory that is gone costs nothing."""
    scope = parts.store.scopes()
    frame = parts.tokens.count("\n".join(frame_text(Surface.PROMPT)))

    def cost(memory: Memory) -> int:
        empty = line_text(Candidate(memory=memory, scores=(), fused=0.0), "", parts.kinds)
        return parts.tokens.count(empty) + memory.tokens

    spent = 0
    for prompt in replayed:
        memories = parts.store.get(prompt.after, scope=scope) if prompt.after else ()
        spent += sum(map(cost, memories)) + frame * bool(memories)
    return round(spent / len(replayed), 1) if replayed else 0.0


def _keep(parts: Parts, levels: Sequence[TunedLevel], *, pairs: int, bound: float) -> None:
    """Write the levels to the home."""
    tuned = {
        level.name: Level(threshold=level.after, wrongful=level.rate_after, tokens=level.tokens_after)
        for level in levels
    }
    embedder = parts.settings.current().embedder
    origin = Origin(
        what="levels before a prompt, fitted to prompts of this store that deserve nothing",
        made_by="tacit tune",
        embedder=str(parts.embedder.identity),
        details={**details_of(embedder), "pairs": pairs, "bound": bound},
    )
    values = Levels(quiet=tuned["quiet"], balanced=tuned["balanced"], eager=tuned["eager"])
    write_artifact(parts.home.levels_file, Artifact(name=NAME, origin=origin, values=values))
    parts.settings.look_again()


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


def _share(flags: Sequence[bool]) -> float:
    return round(sum(flags) / len(flags), 4) if flags else 0.0


# --- thresholds that keep a bound

STEP = 1e-4
"""Relevance is kept to four places: the next value up."""
BOUND_SHARES: Mapping[LevelName, float] = {"quiet": 5 / 12, "balanced": 1.0, "eager": 25 / 12}
"""The bound of each level for a bound of 1 of `balanced`: .05, .12 and .25, as of the shipped ones."""


def bounded_levels(best: Sequence[float], before: Levels, *, bound: float) -> Levels:
    """The levels that keep their shares of `bound`.

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
    """The bound of a level, where that of `balanced` is `bound`."""
    return min(1.0, round(bound * BOUND_SHARES[name], 4))


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
