"""The named levels: the thresholds of `focused` before a prompt, and what each brings. In: the gate's short lists. Out: a fitted file, a table.

The threshold of a level is made in `tacit_evals.fit.gate`, and `balanced` has that of `fitted/gate.json`.

Measured is on projects left out in turn: weights, calibration and thresholds are fitted without any row of the project, and its prompts are
asked of its own store after a start pack of 1,000 tokens, those of the everyday project without one. The short lists themselves were made
without the project's rows (`fit.fitted`). A figure is the mean over the projects of real prompts. A project that was handed nothing has no
precision and is left out of that mean.

Run: `python -m tacit_evals.fit`, which fits them with everything else and prints a row for each level and project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.config.levels import LEVELS, NAME, Level, Levels
from tacit.config.settings import LevelName
from tacit.fitted import Artifact, FitOrigin
from tacit_evals.data import EVERYDAY
from tacit_evals.figures import LEAST, calibration_error
from tacit_evals.fit.gate import (
    FRAME_TOKENS,
    LINE_TOKENS,
    WORTH,
    WRONGFUL,
    Predicted,
    PromptCandidates,
    calibrated,
    fit_weights,
    left_out,
    level_thresholds,
    pairs_of,
    platt,
    predict,
    without,
)
from tacit_evals.inject import Lexical, fused

MOST_ITEMS = 8
"""A block holds no more; `recall.max_items` of the preset."""
DECIMALS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLevel:
    """One level on one project left out. `precision` None = nothing was handed over."""

    project: str
    level: LevelName
    threshold: float
    precision: float | None
    coverage: float
    wrongful: float
    tokens: float


def thresholds_of(lists: Sequence[PromptCandidates]) -> tuple[dict[LevelName, float], tuple[float, float]]:
    """The threshold of each level, and slope and offset of the calibration, from the short lists that a gate is fitted on."""
    inner = left_out(lists)
    slope, offset = platt(inner)
    return level_thresholds(calibrated(inner, slope, offset)), (slope, offset)


def measure_levels(lists: Sequence[PromptCandidates]) -> list[MeasuredLevel]:
    """Every level on every project, of which no row is in the fit."""
    return [
        measured_level(project, level, least, chances)
        for project, thresholds, chances in _left_out_in_turn(lists)
        for level, least in thresholds.items()
    ]


def _left_out_in_turn(
    lists: Sequence[PromptCandidates],
) -> Iterator[tuple[str, dict[LevelName, float], list[Predicted]]]:
    """Yield each project, and the thresholds and the relevance of its short lists that a fit on the other projects gives."""
    for project in dict.fromkeys(row.store for row in lists):
        others = without(lists, project)
        thresholds, (slope, offset) = thresholds_of(others)
        own = [row for row in lists if row.store == project and not row.crossed]
        yield project, thresholds, calibrated(predict(fit_weights(pairs_of(others)), own), slope, offset)


def beside_fusion(lists: Sequence[PromptCandidates], level: LevelName = "balanced") -> Iterator[str]:
    """A table in Markdown: the precision of a level on each project left out, that of rank fusion handing over as many, and the calibration error.

    Rank fusion (`tacit_evals.inject.fused`) joins BM25 and cosine over the memories of all short lists of the project, and hands over its best pairs of all prompts.
    """
    yield "| project | handed over | precision | rank fusion | calibration error |"
    yield "|---|---|---|---|---|"
    for project, thresholds, chances in _left_out_in_turn(lists):
        own = _best_pairs([one.logits for one in chances], least=thresholds[level])
        scores = _fusion_scores(chances)
        simple = _best_pairs(scores, most=len(own))
        pairs = [
            (chance, name in one.asked.needed)
            for one in chances
            for name, chance in sorted(one.logits.items())
            if chance >= LEAST and name not in one.asked.marginal
        ]
        shares = " | ".join(_precision(handed, chances) for handed in (own, simple))
        yield f"| {project} | {len(own)} | {shares} | {calibration_error(pairs):.3f} |"


def _best_pairs(
    scores: Sequence[Mapping[str, float]], *, least: float = 0.0, most: int | None = None
) -> list[tuple[int, str]]:
    """The best (number of the prompt, memory id), at most `MOST_ITEMS` of a prompt and `most` in all, with a score of at least `least`."""
    found = sorted(
        (-value, number, name)
        for number, own in enumerate(scores)
        for name, value in sorted(own.items(), key=lambda item: (-item[1], item[0]))[:MOST_ITEMS]
        if value >= least
    )
    return [(number, name) for _, number, name in found[:most]]


def _precision(handed: Sequence[tuple[int, str]], chances: Sequence[Predicted]) -> str:
    """The share of the pairs that were needed; marginal ones do not count."""
    judged = [
        name in chances[number].asked.needed
        for number, name in handed
        if name not in chances[number].asked.marginal
    ]
    return f"{sum(judged) / len(judged):.3f}" if judged else "-"


def _fusion_scores(chances: Sequence[Predicted]) -> list[dict[str, float]]:
    """The scores of rank fusion for what the short list of each prompt holds besides the start pack."""
    texts = {one.memory.id: one.memory.content for row in chances for one in row.asked.candidates}
    lexical = Lexical(texts)
    scores: list[dict[str, float]] = []
    for row in chances:
        cosines = {one.memory.id: dict(one.scores).get("semantic", 0.0) for one in row.asked.candidates}
        words = lexical.scores(row.asked.query.text) if row.asked.query else {}
        both = fused([cosines, words])
        scores.append({name: both[name] for name in row.logits})
    return scores


def measured_level(
    project: str, level: LevelName, threshold: float, chances: Sequence[Predicted]
) -> MeasuredLevel:
    """The figures of a level on a project's prompts, from the relevance of what is on each short list."""
    handed = right = wrongful = 0
    tokens = 0.0
    for prediction in chances:
        prompt = prediction.asked
        best = sorted(
            (name for name, chance in prediction.logits.items() if chance >= threshold),
            key=lambda name: (-prediction.logits[name], name),
        )[:MOST_ITEMS]
        size = {candidate.memory.id: candidate.memory.tokens for candidate in prompt.candidates}
        tokens += sum(size[name] + LINE_TOKENS for name in best) + (FRAME_TOKENS if best else 0)
        handed += sum(name not in prompt.marginal for name in best)
        right += sum(name in prompt.needed for name in best)
        wrongful += prompt.nothing and bool(best)
    needed = sum(len(prediction.asked.needed) for prediction in chances)
    silent = sum(prediction.asked.nothing for prediction in chances)
    return MeasuredLevel(
        project=project,
        level=level,
        threshold=threshold,
        precision=right / handed if handed else None,
        coverage=right / needed if needed else 0.0,
        wrongful=wrongful / silent if silent else 0.0,
        tokens=tokens / len(chances),
    )


def levels_artifact(
    thresholds: Mapping[LevelName, float],
    measured: Sequence[MeasuredLevel],
    *,
    embedder: str,
    date: str = "",
    command: str = "",
) -> Artifact[Levels]:
    """The content of the file."""
    return Artifact(
        name=NAME,
        origin=FitOrigin(
            what="levels of the gate before a prompt: thresholds, and what they bring on projects left out in turn",
            made_by=command,
            projects=tuple(sorted({row.project for row in measured})),
            date=date,
            embedder=embedder,
            details={f"{name}: worth": worth for name, worth in WORTH.items()} | {"wrongful": WRONGFUL},
        ),
        values=Levels(**{name: _mean(thresholds[name], measured, name) for name in LEVELS}),
    )


def _mean(threshold: float, measured: Sequence[MeasuredLevel], name: LevelName) -> Level:
    """A level with the mean of its figures over the projects of real prompts."""
    rows = [row for row in measured if row.level == name and row.project != EVERYDAY]
    precisions = [row.precision for row in rows if row.precision is not None]
    return Level(
        threshold=threshold,
        precision=_rounded(precisions) if precisions else None,
        coverage=_rounded([row.coverage for row in rows]),
        wrongful=_rounded([row.wrongful for row in rows]),
        tokens=_rounded([row.tokens for row in rows]),
    )


def _rounded(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), DECIMALS)


def report(levels: Levels, measured: Sequence[MeasuredLevel]) -> Iterator[str]:
    """A table in Markdown: for each level the mean, as in docs/guide/quality.md, and below it each project."""
    yield "| level | threshold | precision | coverage added | prompts that deserve nothing and got something | tokens a prompt |"
    yield "|---|---|---|---|---|---|"
    for name, level in levels.items():
        yield level_row(f"`{name}`", level)
        for row in measured:
            if row.level == name:
                yield level_row(
                    row.project,
                    Level(
                        threshold=row.threshold,
                        precision=row.precision,
                        coverage=row.coverage,
                        wrongful=row.wrongful,
                        tokens=row.tokens,
                    ),
                )


def level_row(name: str, level: Level) -> str:
    """One row of the table."""
    shares = (
        f"{share:.3f}" if share is not None else "-"
        for share in (level.precision, level.coverage, level.wrongful)
    )
    tokens = f"{level.tokens:.1f}" if level.tokens is not None else "-"
    return f"| {name} | {level.threshold:.4f} | {' | '.join(shares)} | {tokens} |"


def fit_levels(
    lists: Sequence[PromptCandidates], *, embedder: str, date: str = "", command: str = ""
) -> tuple[Artifact[Levels], list[MeasuredLevel]]:
    """The file from the short lists of all projects, and what each level brings on each project left out."""
    measured = measure_levels(lists)
    thresholds, _ = thresholds_of(lists)
    return levels_artifact(thresholds, measured, embedder=embedder, date=date, command=command), measured
