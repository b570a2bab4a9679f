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
PRECISION: Mapping[str, float] = {"given": 0.40, "local": 0.35}
WRONGFUL, FOREIGN, TOKENS, CALIBRATION = 0.12, 0.03, 45.0, 0.10
TIMES, TIMES_IN_WORST = 1.0, 0.9
FUSION = "RRF, as many"
ORDERS = ("kind order", "breadth order")


def promised(
    measured: Sequence[Measured], total: Part, pooled: Part, *, parts: Sequence[Part], triggers: str
) -> tuple[Line, ...]:
    """The lines of one run over projects, `parts` being theirs; `triggers` is "given" or "local"."""
    lines = [
        line
        for budget in (500, 1_000, 2_000)
        for name, words in (("start_coverage_all", "all needed"), ("start_coverage_learned", "learned ones"))
        for line in _start(measured, budget, name, words)
    ]
    rate = "wrongful_rate_exact"
    lines += [
        _line("prompt pack adds coverage", total, "prompt_coverage_all", least=ADDED[triggers]),
        _line("precision, mean over projects", total, "prompt_precision", least=PRECISION[triggers]),
        _line("precision, all pairs as one set", pooled, "prompt_precision"),
        *_beside_fusion(total, parts),
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


def _beside_fusion(total: Part, parts: Sequence[Part]) -> list[Line]:
    """Precision as a multiple of what rank fusion reaches with equally many; 1 where neither is ever right."""
    lines = [Line(name="times the precision of rank fusion, equally many", value=_times(total), least=TIMES)]
    ratios = [(ratio, part.name) for part in parts if (ratio := _times(part)) is not None]
    if len(ratios) > 1:
        ratio, project = min(ratios)
        lines.append(Line(name=f"the same, worst project ({project})", value=ratio, least=TIMES_IN_WORST))
    return lines


def _times(part: Part) -> float | None:
    """None where rank fusion is never right; 1 where neither is."""
    mine = part.metrics.get("prompt_precision") or 0.0
    theirs = part.baselines.get(FUSION, {}).get("prompt_precision") or 0.0
    if not theirs:
        return None if mine else 1.0
    return mine / theirs


def _start(measured: Sequence[Measured], budget: int, name: str, words: str) -> list[Line]:
    """How much more the start pack covers than the better of the two simple orders: in the mean, and in the worst project."""
    complete = all(
        budget in project.handed and set(ORDERS) <= project.start_baselines.keys() for project in measured
    )
    if not complete:
        return []
    mine = [project.counts(project.handed[budget]) for project in measured]
    rivals = {
        order: [project.counts(project.start_baselines[order][budget][0]) for project in measured]
        for order in ORDERS
    }
    best = max(ORDERS, key=lambda order: (_mean(rivals[order], name), order))
    title = f"start pack of {budget} tokens"
    lines = [
        Line(
            name=f"{title} over {best}, {words}",
            value=_mean(mine, name) - _mean(rivals[best], name),
            interval=_difference(mine, rivals[best], name),
            least=START_GAIN,
        )
    ]
    if len(measured) > 1:
        bounds = [
            (_difference([ours], [theirs], name), project.name)
            for at, (project, ours) in enumerate(zip(measured, mine, strict=True))
            for theirs in [
                max((rivals[order][at] for order in ORDERS), key=lambda counts: _mean([counts], name))
            ]
        ]
        interval, project = min(bounds, key=lambda entry: entry[0][1])
        lines.append(
            Line(
                name=f"{title}, {words}: upper bound in the worst project ({project}), over its better order",
                value=interval[1],
                interval=interval,
                least=0.0,
            )
        )
    return lines


def _mean(projects: Sequence[Array], name: str) -> float:
    return float(np.mean([figure(counts.sum(axis=0), name) for counts in projects]))


def _difference(mine: Sequence[Array], theirs: Sequence[Array], name: str) -> Interval:
    gaps = [
        figure(resampled_sums(ours, seed=SEED + at), name)
        - figure(resampled_sums(other, seed=SEED + at), name)
        for at, (ours, other) in enumerate(zip(mine, theirs, strict=True))
    ]
    return percentile_interval(np.mean(gaps, axis=0))
