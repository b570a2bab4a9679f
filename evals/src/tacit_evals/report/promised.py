"""What was promised of start packs and prompt packs, line by line. In: what every project was handed, the scorecard. Out: lines.

Differences are means over projects with a paired bootstrap over items: both sides are resampled alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tacit_evals.metrics.counts import Array, figure
from tacit_evals.metrics.resample import SEED, Interval, percentile_interval, resampled_sums
from tacit_evals.report.scorecard import Line, Part

if TYPE_CHECKING:
    from tacit_evals.suites.handed import Measured

START_GAIN = 0.08
ADDED: Mapping[str, float] = {"given": 0.10, "local": 0.06}
PRECISION: Mapping[str, float] = {"given": 0.40, "local": 0.30}
WRONGFUL, FOREIGN, TOKENS, CALIBRATION, TIMES = 0.12, 0.03, 30.0, 0.10, 3.0
ORDERS = ("kind order", "breadth order")
EQUALLY_MANY = (", as many", ", as many each")


def promised(measured: Sequence[Measured], total: Part, pooled: Part, *, triggers: str) -> tuple[Line, ...]:
    """The lines of one run; `triggers` is "given" or "local"."""
    lines = [
        line
        for budget in (500, 1_000)
        for name, words in (("start_coverage_all", "all needed"), ("start_coverage_learned", "learned ones"))
        if (line := _start(measured, budget, name, words)) is not None
    ]
    mine = total.metrics["prompt_precision"] or 0.0
    rival, theirs = _best_rival(total)
    rate = "wrongful_rate_exact"
    lines += [
        _line("prompt pack adds coverage", total, "prompt_coverage_all", least=ADDED[triggers]),
        _line("precision, mean over projects", total, "prompt_precision", least=PRECISION[triggers]),
        _line("precision, all pairs as one set", pooled, "prompt_precision"),
        Line(
            name=f"times the precision of {rival}, equally many",
            value=mine / theirs if theirs else None,
            least=TIMES,
        ),
        _line(
            "wrongful, all prompts that deserve nothing",
            pooled,
            "wrongful_rate",
            interval=rate,
            most=WRONGFUL,
        ),
        _line("prompts of another project, generic rules aside", pooled, "cross_project_rate", most=FOREIGN),
        _line("tokens a prompt", total, "prompt_tokens", most=TOKENS),
        _line("calibration error", total, "ece", most=CALIBRATION),
        _line("calibration error of a constant", total, "ece_constant"),
    ]
    return tuple(lines)


def _line(
    name: str,
    part: Part,
    metric: str,
    *,
    interval: str = "",
    least: float | None = None,
    most: float | None = None,
) -> Line:
    bounds = part.intervals.get(interval or metric)
    return Line(name=name, value=part.metrics.get(metric), interval=bounds, least=least, most=most)


def _best_rival(total: Part) -> tuple[str, float]:
    """The simpler method of the greatest precision among those that hand over as many, and that precision."""
    precisions = {
        name: figures.get("prompt_precision") or 0.0
        for name, figures in total.baselines.items()
        if name.endswith(EQUALLY_MANY)
    }
    return min(precisions.items(), key=lambda pair: (-pair[1], pair[0]), default=("a simpler method", 0.0))


def _start(measured: Sequence[Measured], budget: int, name: str, words: str) -> Line | None:
    """How much more the start pack covers than the better of the two simple orders."""
    complete = all(
        budget in project.handed and set(ORDERS) <= project.start_baselines.keys() for project in measured
    )
    if not complete:
        return None
    mine = [project.counts(project.handed[budget]) for project in measured]
    rivals = {
        order: [project.counts(project.start_baselines[order][budget][0]) for project in measured]
        for order in ORDERS
    }
    best = max(ORDERS, key=lambda order: (_mean(rivals[order], name), order))
    value = _mean(mine, name) - _mean(rivals[best], name)
    return Line(
        name=f"start pack of {budget} tokens over {best}, {words}",
        value=value,
        interval=_difference(mine, rivals[best], name),
        least=START_GAIN,
    )


def _mean(projects: Sequence[Array], name: str) -> float:
    return float(np.mean([figure(counts.sum(axis=0), name) for counts in projects]))


def _difference(mine: Sequence[Array], theirs: Sequence[Array], name: str) -> Interval:
    gaps = [
        figure(resampled_sums(ours, seed=SEED + at), name)
        - figure(resampled_sums(other, seed=SEED + at), name)
        for at, (ours, other) in enumerate(zip(mine, theirs, strict=True))
    ]
    return percentile_interval(np.mean(gaps, axis=0))
