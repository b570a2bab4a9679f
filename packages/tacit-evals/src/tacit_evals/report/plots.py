"""Plots as SVG text. In: a scorecard. Out: SVG by name; equal scorecards give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "tacit"  # ids in the file come from it, not from chance
mpl.rcParams["svg.fonttype"] = "none"

from matplotlib.figure import Figure  # noqa: E402 - the backend is chosen before

from tacit_evals.report.scorecard import Part, Scorecard  # noqa: E402

SIZE = (6.4, 4.0)


def svg_of(figure: Figure) -> str:
    """The figure as an `<svg>` element, without a date."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    text = out.getvalue()
    return text[text.index("<svg") :]


def plots_of(card: Scorecard) -> dict[str, str]:
    """Every plot that the scorecard has the figures for, by its title."""
    parts = (*card.parts, card.total)
    plots: dict[str, str] = {}
    if any(part.curves.get("risk_coverage") for part in parts):
        plots["Risk and coverage of the prompt pack"] = svg_of(_risk(parts))
        plots["Wrongful rate by threshold"] = svg_of(_wrongful(parts))
    if any(part.curves.get("calibration") for part in parts):
        plots["Calibration"] = svg_of(_calibration(parts))
    if card.total.curves.get("start_budgets"):
        plots["Coverage by the budget of the start pack"] = svg_of(_budgets(card.total))
    return plots


def risk_plot(card: Scorecard) -> str:
    """Risk and coverage of a scorecard as an SVG file of its own."""
    return svg_of(_risk((*card.parts, card.total)))


def _axes(x: str, y: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=SIZE)
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _risk(parts: Sequence[Part]) -> Figure:
    figure, axes = _axes("coverage of needed memories not in the start pack", "risk (1 - precision)")
    for part in parts:
        points = part.curves.get("risk_coverage") or []
        axes.plot([p[1] for p in points], [p[2] for p in points], label=part.name)
    axes.set_ylim(0, 1.02)
    axes.set_xlim(0, 1)
    axes.legend()
    return figure


def _wrongful(parts: Sequence[Part]) -> Figure:
    figure, axes = _axes("threshold on relevance", "share of no-memory items that get anything")
    for part in parts:
        points = part.curves.get("risk_coverage") or []
        axes.step([p[0] for p in points], [p[3] for p in points], label=part.name)
    axes.axhline(0.12, linestyle=":", color="black", linewidth=0.8)
    axes.legend()
    return figure


def _calibration(parts: Sequence[Part]) -> Figure:
    figure, axes = _axes("predicted relevance (mean of a bin)", "share needed")
    axes.plot([0, 1], [0, 1], linestyle=":", color="black", linewidth=0.8)
    for part in parts:
        bins = part.curves.get("calibration") or []
        axes.plot([b[1] for b in bins], [b[2] for b in bins], marker="o", label=part.name)
    axes.legend()
    return figure


def _budgets(total: Part) -> Figure:
    figure, axes = _axes("tokens of the start pack", "coverage of needed memories")
    own = total.curves["start_budgets"]
    sizes = sorted(int(size) for size in own)
    axes.plot(
        sizes, [own[str(s)]["coverage_all"] for s in sizes], marker="o", label="Tacit, start and prompt"
    )
    axes.plot(sizes, [own[str(s)]["start_coverage_all"] for s in sizes], marker="o", label="Tacit, start")
    for name, orders in sorted((total.curves.get("start_orders") or {}).items()):
        budgets = sorted(int(size) for size in orders)
        axes.plot(
            budgets,
            [orders[str(s)]["start_coverage_all"] for s in budgets],
            linestyle="--",
            linewidth=0.9,
            label=name,
        )
    axes.set_ylim(0, 1)
    axes.legend(fontsize=7)
    return figure
