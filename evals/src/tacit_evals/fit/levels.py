"""Fit the named levels: the thresholds of `focused` before a prompt, and what each brings. In: judged projects. Out: a fitted file, a table.

A level is a set of the bounds that `tacit_evals.fit.gate` keeps, and its threshold is the least one that keeps them all, with given and
with local triggers. `balanced` has the bounds of the shipped gate, so its threshold is that of `fitted/gate.json`.

Measured is on projects left out in turn: everything is fitted without any row of the project, the thresholds included, and its prompts are
asked of its own store after a start pack of 1,000 tokens, with local triggers. A figure is the mean over the projects. A project
that was handed nothing has no precision and is left out of that mean.

Run: `python -m tacit_evals.fit.levels --data DIR --date 2026-11-25`. It writes `fitted/levels.json` from the projects that the shipped gate
was fitted on, or from those that `--projects` names, and prints a row for each level and project.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import tacit
from tacit.config.levels import LEVELS, NAME, Level, Levels
from tacit.config.settings import EmbedderSettings, LevelName, RecallSettings
from tacit.fitted import Artifact, Origin, encode_artifact
from tacit.model.pack import Surface
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.recall.score.gate.model import GateModel
from tacit_evals.data.judged import Project
from tacit_evals.fit.__main__ import PACKAGE, link_projects, shipped_projects
from tacit_evals.fit.fitted import FittedWithLists, fit_with_lists, judged_projects
from tacit_evals.fit.gate import (
    ALPHA,
    FOREIGN,
    PENALTY,
    START_TOKENS,
    TOKENS,
    PromptCandidates,
    bounded_threshold,
    cross_fitted,
    platt,
    predict,
)
from tacit_evals.fit.parts import Fitted
from tacit_evals.metrics.counts import Array, count, figures
from tacit_evals.suites.pool import Pool
from tacit_evals.suites.running import shipped_settings

SHIPPED = Path(tacit.__file__).parent / "fitted" / f"{NAME}.json"
COMMAND = "python -m tacit_evals.fit.levels --data DATA --date DATE"
DECIMALS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of one level; see `tacit_evals.fit.gate`.

    Attributes:
        alpha: expected rate of injections into prompts that deserve nothing.
        foreign: the same for prompts of another project, of what is not generic.
        tokens: expected tokens a prompt.
    """

    alpha: float
    foreign: float
    tokens: float


BOUNDS: Mapping[LevelName, Bounds] = {
    "quiet": Bounds(alpha=0.05, foreign=0.01, tokens=10.0),
    "balanced": Bounds(alpha=ALPHA, foreign=FOREIGN, tokens=TOKENS),
    "eager": Bounds(alpha=0.25, foreign=0.10, tokens=60.0),
}


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


def level_thresholds(
    lists: Sequence[PromptCandidates],
    *,
    bounds: Mapping[LevelName, Bounds] = BOUNDS,
    penalty: float = PENALTY,
) -> dict[LevelName, float]:
    """The threshold of each level, from the short lists that a gate is fitted on."""
    inner = [
        prediction
        for model, rows in cross_fitted(lists, penalty=penalty)
        for prediction in predict(model, rows)
    ]
    slope, offset = platt(inner)
    return {
        name: bounded_threshold(
            inner,
            slope=slope,
            offset=offset,
            alpha=bound.alpha,
            foreign=bound.foreign,
            tokens=bound.tokens,
        )
        for name, bound in bounds.items()
    }


def measure_left_out(
    project: Project, fitting: FittedWithLists, *, embedder: Embedder, settings: RecallSettings
) -> list[MeasuredLevel]:
    """Every level on `project`, of which no row is in `fitting`."""
    measured: list[MeasuredLevel] = []
    for level, threshold in level_thresholds(fitting.lists).items():
        counts = _counts(
            project, with_threshold(fitting.fitted, threshold), embedder=embedder, settings=settings
        )
        measured.append(measured_level(project.name, level, threshold, counts))
    return measured


def measured_level(project: str, level: LevelName, threshold: float, counts: Array) -> MeasuredLevel:
    """The figures of a level from the counts of a project's prompts."""
    values = figures(counts)
    return MeasuredLevel(
        project=project,
        level=level,
        threshold=threshold,
        precision=values["prompt_precision"] if values["injections_per_prompt"] else None,
        coverage=values["prompt_coverage_all"],
        wrongful=values["wrongful_rate"],
        tokens=values["prompt_tokens"],
    )


def with_threshold(fitted: Fitted, threshold: float) -> Fitted:
    """`fitted` with another threshold of the gate."""
    assert isinstance(fitted.gate, GateModel)
    model = replace(fitted.gate.surfaces[Surface.PROMPT], threshold=threshold)
    return replace(fitted, gate=replace(fitted.gate, surfaces={Surface.PROMPT: model}))


def _counts(project: Project, fitted: Fitted, *, embedder: Embedder, settings: RecallSettings) -> Array:
    """Counts of the project's prompts, asked with local triggers after a start pack."""
    pool = Pool(project, embedder=embedder, settings=settings, given=False, fitted=fitted)
    try:
        handed = [
            pool.prompt(prompt, pool.start(tokens=START_TOKENS, at_ms=prompt.at_ms))
            for prompt in project.prompts
        ]
    finally:
        pool.close()
    return count(handed, learned=project.learned)


def levels_artifact(
    thresholds: Mapping[LevelName, float], measured: Sequence[MeasuredLevel], *, embedder: Embedder, date: str
) -> Artifact[Levels]:
    """The content of the file."""
    return Artifact(
        name=NAME,
        origin=Origin(
            what="levels of the gate before a prompt: thresholds, and what they bring on projects left out in turn",
            made_by=COMMAND,
            projects=tuple(sorted({row.project for row in measured})),
            date=date,
            embedder=str(embedder.identity),
            details={
                f"{name}: {key}": getattr(bound, key)
                for name, bound in BOUNDS.items()
                for key in ("alpha", "foreign", "tokens")
            },
        ),
        values=Levels(**{name: _mean(thresholds[name], measured, name) for name in LEVELS}),
    )


def _mean(threshold: float, measured: Sequence[MeasuredLevel], name: LevelName) -> Level:
    """A level with the mean of its figures over the projects."""
    rows = [row for row in measured if row.level == name]
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
    dirs: Sequence[Path], *, embedder: Embedder, settings: RecallSettings, date: str
) -> tuple[Artifact[Levels], list[MeasuredLevel]]:
    """The file from all projects of `dirs`, and what each level brings on each project left out."""
    measured: list[MeasuredLevel] = []
    for project in judged_projects(dirs, exclude_projects=()):
        print(f"fitting without {project.name}", flush=True)
        fitting = fit_with_lists(dirs, exclude_projects=(project.name,), embedder=embedder, settings=settings)
        measured += measure_left_out(project, fitting, embedder=embedder, settings=settings)
    whole = fit_with_lists(dirs, exclude_projects=(), embedder=embedder, settings=settings)
    thresholds = level_thresholds(whole.lists)
    return levels_artifact(thresholds, measured, embedder=embedder, date=date), measured


def main() -> int:
    """Fit, write and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.fit.levels", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labelled data")
    parser.add_argument("--date", required=True, help="date for the file, such as 2026-11-25")
    parser.add_argument(
        "--projects", help="judged projects to fit on, with commas (default: those of the shipped gate)"
    )
    parser.add_argument("--out", type=Path, default=SHIPPED, help="the file that is written")
    arguments = parser.parse_args()
    names = arguments.projects.split(",") if arguments.projects else shipped_projects(PACKAGE)
    projects = tuple(name.strip() for name in names)
    embedder = make_embedder(EmbedderSettings(cache_entries=100_000))
    with tempfile.TemporaryDirectory() as place:
        links = [
            link_projects(folder, projects, Path(place) / str(number))
            for number, folder in enumerate(arguments.data)
        ]
        artifact, measured = fit_levels(
            links, embedder=embedder, settings=shipped_settings(), date=arguments.date
        )
    arguments.out.write_bytes(encode_artifact(artifact))
    print("\n".join(report(artifact.values, measured)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
