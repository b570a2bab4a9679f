"""A scorecard: what one run of one suite found. In: figures. Out: a value that becomes JSON, a table or a page."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tacit

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


def macro_of(parts: Sequence[Part]) -> Part:
    """The mean over projects of every figure that could be measured there."""
    names = dict.fromkeys(name for part in parts for name in part.metrics)
    means: dict[str, float | None] = {}
    for name in names:
        values = [value for part in parts if (value := part.metrics.get(name)) is not None]
        means[name] = sum(values) / len(values) if values else None
    return Part(name=MACRO, metrics=means)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Findings by cause. `rows` hold texts of the data: they stand on the page alone, which goes where the user says."""

    title: str
    counts: Mapping[str, int]
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One promise and what became of it. `least` or `most` is what was promised; neither = it stands for comparison."""

    name: str
    value: float | None
    interval: tuple[float, float] | None = None
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the promise is kept; None where there is none, or nothing was measured."""
        if self.value is None or (self.least is None and self.most is None):
            return None
        return (self.least is None or self.value >= self.least) and (
            self.most is None or self.value <= self.most
        )

    @property
    def wanted(self) -> str:
        """The promise in words."""
        bounds = (("≥", self.least), ("≤", self.most))
        return " ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


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
    listings: tuple[Listing, ...] = ()
    lines: tuple[Line, ...] = ()
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
            "lines": [
                {
                    "name": line.name,
                    "value": _plain(line.value),
                    "interval": _plain(line.interval),
                    "wanted": line.wanted,
                    "met": line.met,
                }
                for line in self.lines
            ],
            "notes": list(self.notes),
            "causes": {listing.title: dict(listing.counts) for listing in self.listings},
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
