"""From what every item was handed to a scorecard: figures per project, their mean, and all items as one set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from tacit_evals.metrics.calibration import (
    calibration_bins,
    calibration_error,
    calibration_interval,
    constant_error,
    pairs_of,
    risk_coverage,
    share_needed,
)
from tacit_evals.metrics.counts import RATIOS, Array, ItemResult, count, figures, tokens_per_need
from tacit_evals.metrics.resample import binomial_interval, intervals, macro_intervals, paired_p
from tacit_evals.report.promised import promised
from tacit_evals.report.scorecard import MACRO, POOLED, Line, Listing, Part, Scorecard
from tacit_evals.suites.causes import Finding, Labels, alarms, chosen, counted, misses

COLUMNS = (
    "start_coverage_all", "start_coverage_grade2", "start_coverage_learned", "coverage_all", "coverage_grade2",
    "coverage_learned", "prompt_precision", "wrongful_rate", "cross_project_rate", "injections_per_prompt",
    "prompt_tokens", "start_tokens", "ece",
)  # fmt: skip
"""What the table on the terminal shows; the JSON document has more."""
START_FIGURES = ("start_coverage_all", "start_coverage_grade2", "start_coverage_learned")
PROMPT_FIGURES = (
    "coverage_all", "coverage_grade2", "coverage_learned", "prompt_precision", "wrongful_rate", "injections_per_prompt",
)  # fmt: skip
CURVE_POINTS = 200
MOST_LISTED = 40
SHOWN_CHARS = 300
LISTED = ("cause", "item", "memory", "grade", "relevance", "read, labelled, trigger", "asked", "memory says")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One project's raw results.

    Attributes:
        name: the project.
        learned: ids of memories learned in sessions.
        handed: items by start budget.
        main: the budget whose figures stand on the scorecard.
        baselines: the same items as other methods would have been handed them, at that budget.
        start_baselines: start packs in other orders, by name and budget; a list of items for each order.
        cross: for prompts of other projects: (got anything, got anything that is not generic).
        more: further figures.
        labels: texts and what annotators said, to tell causes by; None = causes are not told.
    """

    name: str
    learned: frozenset[str]
    handed: Mapping[int, Sequence[ItemResult]]
    main: int
    baselines: Mapping[str, Sequence[ItemResult]] = field(default_factory=dict[str, Sequence[ItemResult]])
    start_baselines: Mapping[str, Mapping[int, Sequence[Sequence[ItemResult]]]] = field(
        default_factory=dict[str, Mapping[int, Sequence[Sequence[ItemResult]]]]
    )
    cross: Sequence[tuple[bool, bool]] = ()
    more: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    labels: Labels | None = None

    @property
    def items(self) -> Sequence[ItemResult]:
        """The items at the main budget."""
        return self.handed[self.main]

    def counts(self, items: Sequence[ItemResult]) -> Array:
        """Counts per item."""
        return count(items, learned=self.learned)


def scorecard(
    measured: Sequence[Measured], *, suite: str, dataset: str, settings: Mapping[str, Any]
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
        listings=_listings(measured),
        judged={"prompt_precision": True, "prompt_coverage_all": True, "wrongful_rate": False, "ece": False},
        lines=_lines(measured, total, pooled, parts, settings) if suite == "inject" else (),
    )


def _lines(
    measured: Sequence[Measured],
    total: Part,
    pooled: Part,
    parts: Sequence[Part],
    settings: Mapping[str, Any],
) -> tuple[Line, ...]:
    triggers = "given" if settings.get("triggers") == "given" else "local"
    return promised(measured, total, pooled, parts=parts, triggers=triggers)


def _listings(measured: Sequence[Measured]) -> tuple[Listing, ...]:
    """Misses and false alarms of all projects by cause."""
    labelled = [(project, project.labels) for project in measured if project.labels is not None]
    by_title = {
        "Misses (needed, not handed over)": [
            f for project, labels in labelled for f in misses(project.items, labels)
        ],
        "False alarms (handed over, not needed)": [
            f for project, labels in labelled for f in alarms(project.items, labels)
        ],
    }
    return tuple(
        Listing(
            title=title,
            counts=counted(findings),
            columns=LISTED,
            rows=[_row(finding) for finding in chosen(findings, MOST_LISTED)],
        )
        for title, findings in by_title.items()
        if labelled
    )


def _row(finding: Finding) -> tuple[str, ...]:
    relevance = "-" if finding.relevance is None else f"{finding.relevance:.2f}"
    return (
        finding.cause,
        finding.item,
        finding.memory,
        str(finding.grade),
        relevance,
        finding.why,
        finding.asked[:SHOWN_CHARS],
        finding.content[:SHOWN_CHARS],
    )


def _part(project: Measured, constant: float | None) -> Part:
    counts = project.counts(project.items)
    pairs = list(chain.from_iterable(map(pairs_of, project.items)))
    points, area = risk_coverage(project.items)
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
            "start_orders": {
                name: {
                    str(budget): _mean([figures(project.counts(i)) for i in orders], START_FIGURES)
                    for budget, orders in own.items()
                }
                for name, own in project.start_baselines.items()
            },
            "risk_coverage": [
                [p.threshold, p.coverage, p.risk, p.wrongful, p.per_item] for p in _thinned(points)
            ],
            "calibration": calibration_bins(pairs),
        },
    )


def _baseline_figures(project: Measured) -> dict[str, dict[str, float]]:
    by_method: dict[str, dict[str, float]] = {}
    for name, orders in project.start_baselines.items():
        by_method[name] = _mean(
            [figures(project.counts(items)) for items in orders[project.main]], START_FIGURES
        )
    for name, items in project.baselines.items():
        own = figures(project.counts(items))
        by_method[name] = {figure: own[figure] for figure in PROMPT_FIGURES}
    return by_method


def _tests(project: Measured) -> dict[str, dict[str, float]]:
    """P-values on needed memories per item: of the prompt pack against prompt packs, of the start pack against orders."""
    p_values: dict[str, dict[str, float]] = {}
    ours = [item.right for item in project.items]
    for name, items in project.baselines.items():
        p_values[name] = {"right": paired_p(ours, [item.right for item in items])}
    started = [len(item.start & item.judgment.needed.keys()) for item in project.items]
    for name, orders in project.start_baselines.items():
        theirs = np.mean(
            [
                [len(item.start & item.judgment.needed.keys()) for item in items]
                for items in orders[project.main]
            ],
            axis=0,
        )
        p_values[name] = {"start_coverage_all": paired_p(started, theirs.tolist())}
    return p_values


def _pooled(measured: Sequence[Measured]) -> Part:
    items = [item for project in measured for item in project.items]
    counts = np.concatenate([project.counts(project.items) for project in measured])
    pairs = list(chain.from_iterable(map(pairs_of, items)))
    points, area = risk_coverage(items)
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
        curves={
            "risk_coverage": [
                [p.threshold, p.coverage, p.risk, p.wrongful, p.per_item] for p in _thinned(points)
            ],
            "calibration": calibration_bins(pairs),
        },
    )


def _macro(parts: Sequence[Part], measured: Sequence[Measured], pooled: Part) -> Part:
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
            "start_orders": {
                name: {
                    budget: _mean(
                        [part.curves["start_orders"][name][budget] for part in parts], START_FIGURES
                    )
                    for budget in own
                }
                for name, own in parts[0].curves["start_orders"].items()
            },
            "risk_coverage": pooled.curves["risk_coverage"],
            "calibration": pooled.curves["calibration"],
        },
    )


def _with_exact(
    bounds: dict[str, tuple[float, float]], measured: Sequence[Measured]
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


def _mean(several: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in several])) for name in names}


def _thinned(points: Sequence[Any]) -> Sequence[Any]:
    """At most about `CURVE_POINTS` of them, the last one always."""
    step = max(1, len(points) // CURVE_POINTS)
    return [*points[:-1:step], *points[-1:]]


assert set(START_FIGURES) | set(PROMPT_FIGURES) <= set(RATIOS)
