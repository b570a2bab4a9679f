"""A scorecard as tables on the terminal. In: a scorecard. Out: printed rows; nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tacit_evals.report.scorecard import Figures, Line, Part, Scorecard

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
WITH_INTERVAL = ("coverage_all", "prompt_precision", "wrongful_rate", "ece", "turn_recall_at_5", "any_at_5")


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
    for name, figures in card.total.baselines.items():
        table.add_row(name, *(_known(figures, column) for column in card.columns))
    out.print(table)
    if worst := card.worst():
        named = (f"{name} {cell(value)} ({project})" for name, (project, value) in worst.items())
        out.print(f"worst project: {'; '.join(named)}")
    if card.lines:
        out.print(_promises(card.lines))
    for name, value in card.settings.items():
        out.print(f"{name}: {value}")
    for listing in card.listings:
        out.print(f"{listing.title}: {sum(listing.counts.values())}")
        for cause, number in listing.counts.items():
            out.print(f"  {number:5}  {cause}")
    for note in card.notes:
        out.print(f"note: {note}")


MET = {True: "yes", False: "no", None: ""}


def _promises(lines: Sequence[Line]) -> Table:
    table = Table("promised", "figure", "95 %", "wanted", "met")
    for line in lines:
        between = "" if line.interval is None else f"{cell(line.interval[0])} to {cell(line.interval[1])}"
        table.add_row(line.name, cell(line.value), between, line.wanted, MET[line.met])
    return table


def _known(figures: Figures, column: str) -> str:
    return cell(figures[column]) if column in figures else ""


def _cell(part: Part, column: str) -> str:
    return _known(part.metrics, column)


def _range(part: Part, column: str) -> str:
    if column not in part.intervals or column not in WITH_INTERVAL:
        return ""
    low, high = part.intervals[column]
    return f"{low:.2f}-{high:.2f}"
