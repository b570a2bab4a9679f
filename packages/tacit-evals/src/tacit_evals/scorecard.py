"""A scorecard: what one run of one suite found, made from what every item was handed, printed as a table or written as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tacit
from tacit_evals.figures import (
    Array,
    ItemResult,
    binomial_interval,
    calibration_error,
    calibration_interval,
    constant_error,
    count,
    figures,
    intervals,
    macro_intervals,
    paired_p,
    pairs_of,
    risk_coverage,
    share_needed,
    tokens_per_need,
)

MACRO = "macro"
POOLED = "pooled"
Figures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One row group of a scorecard: a project, or all of them together.

    Attributes:
        name: the project, `macro` (mean over projects) or `pooled` (all items as one set).
        metrics: figure by name; None = could not be measured.
        intervals: 95 % interval by figure.
        baselines: figures of simpler methods by their name.
        p_values: chance that a baseline differs from Tacit by luck, by baseline and figure.
        curves: lists behind plots, and figures at other budgets.
    """

    name: str
    metrics: Figures
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    baselines: Mapping[str, Figures] = field(default_factory=dict[str, Figures])
    p_values: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    curves: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """What one run found. `total` is what the JSON document calls `metrics`; `parts` stand beside it by name.

    `judged` names the figures whose worst project is named, each with whether more of it is better.
    """

    suite: str
    dataset: str
    settings: Mapping[str, Any]
    total: Part
    parts: tuple[Part, ...] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    judged: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def worst(self) -> dict[str, tuple[str, float]]:
        """The worst project and its value by figure; of several the first in the order of parts."""
        found: dict[str, tuple[str, float]] = {}
        for name, more_is_better in self.judged.items():
            values = [
                (part.name, value)
                for part in self.parts
                if part.name not in (MACRO, POOLED) and (value := part.metrics.get(name)) is not None
            ]
            if values:
                sign = 1.0 if more_is_better else -1.0
                found[name] = min(values, key=lambda entry: sign * entry[1])
        return found

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "suite": self.suite,
            "dataset": self.dataset,
            "commit": commit(),
            "version": tacit.__version__,
            "settings": dict(self.settings),
            "metrics": _plain(self.total.metrics),
            "intervals": _plain(self.total.intervals),
            "baselines": _plain(self.total.baselines),
            "p_values": _plain(self.total.p_values),
            "curves": _plain(self.total.curves),
            "parts": {
                part.name: {
                    "metrics": _plain(part.metrics),
                    "intervals": _plain(part.intervals),
                    "baselines": _plain(part.baselines),
                    "p_values": _plain(part.p_values),
                    "curves": _plain(part.curves),
                }
                for part in self.parts
            },
            "worst": {
                name: {"project": project, "value": _plain(value)}
                for name, (project, value) in self.worst().items()
            },
            "notes": list(self.notes),
        }

    def write(self, path: Path) -> None:
        """Write the JSON document."""
        path.write_text(json.dumps(self.document(), indent=1, ensure_ascii=False) + "\n", "utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value


def commit() -> str:
    """The commit of the checkout that is measured, with `+` when it has changes; "" outside of one."""
    place = Path(tacit.__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


WIDTH = 200
SHORT = {
    "coverage": "cov.",
    "injections": "inj.",
    "precision": "prec.",
    "wrongful": "wrong.",
    "project": "proj.",
    "start": "start",
    "tokens": "tok.",
}
WITH_INTERVAL = ("coverage_all", "prompt_precision", "wrongful_rate", "ece")


def cell(value: float | None) -> str:
    """A figure for people: shares with three digits, sizes with one."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def print_card(card: Scorecard, *, console: Console | None = None) -> None:
    """Print the scorecard: every part, the baselines of the whole below it, and notes."""
    out = console or Console(width=WIDTH, highlight=False, markup=False)
    table = Table(title=f"{card.suite}: {card.dataset}")
    for name in ("", *card.columns):
        words = [SHORT.get(word, word) for word in name.split("_")]
        table.add_column("\n".join(words), justify="right" if name else "left", no_wrap=True)
    for part in (*card.parts, card.total):
        table.add_row(part.name, *(_cell(part, column) for column in card.columns), style="bold")
        if any(column in part.intervals for column in WITH_INTERVAL):
            table.add_row("", *(_range(part, column) for column in card.columns), style="dim")
    table.add_section()
    for name, values in card.total.baselines.items():
        table.add_row(name, *(_known(values, column) for column in card.columns))
    out.print(table)
    if worst := card.worst():
        named = (f"{name} {cell(value)} ({project})" for name, (project, value) in worst.items())
        out.print(f"worst project: {'; '.join(named)}")
    for name, value in card.settings.items():
        out.print(f"{name}: {value}")
    for note in card.notes:
        out.print(f"note: {note}")


def _known(figures: Figures, column: str) -> str:
    return cell(figures[column]) if column in figures else ""


def _cell(part: Part, column: str) -> str:
    return _known(part.metrics, column)


def _range(part: Part, column: str) -> str:
    if column not in part.intervals or column not in WITH_INTERVAL:
        return ""
    low, high = part.intervals[column]
    return f"{low:.2f}-{high:.2f}"


COLUMNS = (
    "start_coverage_all", "start_coverage_grade2", "start_coverage_learned", "coverage_all", "coverage_grade2",
    "coverage_learned", "prompt_precision", "wrongful_rate", "cross_project_rate", "injections_per_prompt",
    "prompt_tokens", "start_tokens", "ece",
)  # fmt: skip
"""What the table on the terminal shows; the JSON document has more."""
PROMPT_FIGURES = (
    "coverage_all", "coverage_grade2", "coverage_learned", "prompt_precision", "wrongful_rate", "injections_per_prompt",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectResult:
    """One project's raw results.

    Attributes:
        name: the project.
        learned: ids of memories learned in sessions.
        handed: items by start budget.
        main: the budget whose figures stand on the scorecard.
        baselines: the same items as other methods would have been handed them, at that budget.
        cross: for prompts of other projects: (got anything, got anything that is not generic).
        more: further figures.
    """

    name: str
    learned: frozenset[str]
    handed: Mapping[int, Sequence[ItemResult]]
    main: int
    baselines: Mapping[str, Sequence[ItemResult]] = field(default_factory=dict[str, Sequence[ItemResult]])
    cross: Sequence[tuple[bool, bool]] = ()
    more: Mapping[str, float | None] = field(default_factory=dict[str, float | None])

    @property
    def items(self) -> Sequence[ItemResult]:
        """The items at the main budget."""
        return self.handed[self.main]

    def counts(self, items: Sequence[ItemResult]) -> Array:
        """Counts per item."""
        return count(items, learned=self.learned)


def scorecard(
    measured: Sequence[ProjectResult], *, suite: str, dataset: str, settings: Mapping[str, Any]
) -> Scorecard:
    """The scorecard of a run over projects: its figures are the mean over them, pooled figures stand beside."""
    pairs = {project.name: list(chain.from_iterable(map(pairs_of, project.items))) for project in measured}

    def constant(name: str) -> float | None:
        others = list(chain.from_iterable(own for other, own in pairs.items() if other != name))
        return share_needed(others) if others else None

    parts = [_part(project, constant(project.name)) for project in measured]
    pooled = _pooled(measured)
    if len(parts) == 1:
        total, shown = parts[0], ()
    else:
        total, shown = _macro(parts, measured, pooled), (*parts, pooled)
    unjudged = sum(
        not (i.judgment.nothing or i.judgment.needed or i.judgment.marginal)
        for m in measured
        for i in m.items
    )
    notes = (f"{unjudged} items have no line in qrels.tsv and count neither way",) if unjudged else ()
    return Scorecard(
        suite=suite,
        dataset=dataset,
        settings={**settings, "start_tokens": measured[0].main},
        total=total,
        parts=shown,
        columns=COLUMNS,
        notes=notes,
        judged={"prompt_precision": True, "prompt_coverage_all": True, "wrongful_rate": False, "ece": False},
    )


def _part(project: ProjectResult, constant: float | None) -> Part:
    counts = project.counts(project.items)
    pairs = list(chain.from_iterable(map(pairs_of, project.items)))
    area = risk_coverage(project.items)
    metrics: dict[str, float | None] = {
        **figures(counts),
        "cross_project_rate": _share([verdict[1] for verdict in project.cross]),
        "cross_project_rate_with_generic": _share([verdict[0] for verdict in project.cross]),
        "tokens_per_covered_need": tokens_per_need(project.items),
        "risk_coverage_area": area,
        "ece": calibration_error(pairs),
        "ece_constant": None if constant is None else constant_error(pairs, constant),
        **project.more,
    }
    return Part(
        name=project.name,
        metrics=metrics,
        intervals=_with_exact(intervals(counts), [project])
        | {"ece": calibration_interval([*map(pairs_of, project.items)])},
        baselines=_baseline_figures(project),
        p_values=_tests(project),
        curves={
            "start_budgets": {
                str(budget): figures(project.counts(items))
                | {"tokens_per_covered_need": tokens_per_need(items)}
                for budget, items in project.handed.items()
            },
        },
    )


def _baseline_figures(project: ProjectResult) -> dict[str, dict[str, float]]:
    by_method: dict[str, dict[str, float]] = {}
    for name, items in project.baselines.items():
        own = figures(project.counts(items))
        by_method[name] = {figure: own[figure] for figure in PROMPT_FIGURES}
    return by_method


def _tests(project: ProjectResult) -> dict[str, dict[str, float]]:
    """P-values on needed memories per item: of the prompt pack against those of simpler methods."""
    p_values: dict[str, dict[str, float]] = {}
    ours = [item.right for item in project.items]
    for name, items in project.baselines.items():
        p_values[name] = {"right": paired_p(ours, [item.right for item in items])}
    return p_values


def _pooled(measured: Sequence[ProjectResult]) -> Part:
    items = [item for project in measured for item in project.items]
    counts = np.concatenate([project.counts(project.items) for project in measured])
    pairs = list(chain.from_iterable(map(pairs_of, items)))
    area = risk_coverage(items)
    return Part(
        name=POOLED,
        metrics={
            **figures(counts),
            "cross_project_rate": _share([verdict[1] for project in measured for verdict in project.cross]),
            "cross_project_rate_with_generic": _share(
                [verdict[0] for project in measured for verdict in project.cross]
            ),
            "tokens_per_covered_need": tokens_per_need(items),
            "risk_coverage_area": area,
            "ece": calibration_error(pairs),
        },
        intervals=_with_exact(intervals(counts), measured)
        | {"ece": calibration_interval([*map(pairs_of, items)])},
    )


def _macro(parts: Sequence[Part], measured: Sequence[ProjectResult], pooled: Part) -> Part:
    names = parts[0].metrics.keys()
    metrics = {name: _average([part.metrics[name] for part in parts]) for name in names}
    shared = [name for name in parts[0].baselines if all(name in part.baselines for part in parts)]
    baselines = {
        name: {
            figure: sum(part.baselines[name][figure] or 0.0 for part in parts) / len(parts)
            for figure in parts[0].baselines[name]
        }
        for name in shared
    }
    metrics["pooled_wrongful_rate"] = pooled.metrics["wrongful_rate"]
    budgets = parts[0].curves["start_budgets"]
    return Part(
        name=MACRO,
        metrics=metrics,
        intervals=macro_intervals([project.counts(project.items) for project in measured])
        | {"pooled_wrongful_rate": pooled.intervals["wrongful_rate_exact"]},
        baselines=baselines,
        curves={
            "start_budgets": {
                budget: {
                    figure: sum(part.curves["start_budgets"][budget][figure] for part in parts) / len(parts)
                    for figure in budgets[budget]
                }
                for budget in budgets
            },
        },
    )


def _with_exact(
    bounds: dict[str, tuple[float, float]], measured: Sequence[ProjectResult]
) -> dict[str, tuple[float, float]]:
    silent = [item for project in measured for item in project.items if item.judgment.nothing]
    bounds["wrongful_rate_exact"] = binomial_interval(sum(bool(item.pack) for item in silent), len(silent))
    cross = [verdict[1] for project in measured for verdict in project.cross]
    bounds["cross_project_rate"] = binomial_interval(sum(cross), len(cross))
    return bounds


def _share(verdicts: Sequence[bool]) -> float | None:
    return sum(verdicts) / len(verdicts) if verdicts else None


def _average(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None
