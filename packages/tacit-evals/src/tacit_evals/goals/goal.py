"""What a goal is, and its table. In: figures. Out: lines to read. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

WIDE = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One goal with the figure that was measured.

    Attributes:
        name: what is wanted, as a reader says it.
        figure: what was measured, with its whole, such as "98 of 100".
        target: what is wanted of the figure.
        reached: whether the figure reaches the target.
        shown_by: the measurement or the tests that gave the figure, one line each.
        faults: every single failure, one line each.
    """

    name: str
    figure: str
    target: str
    reached: bool
    shown_by: tuple[str, ...]
    faults: tuple[str, ...] = ()


def counted(
    name: str,
    right: int,
    total: int,
    *,
    target: str,
    least: float,
    shown_by: Sequence[str],
    more: str = "",
    faults: Sequence[str] = (),
) -> Goal:
    """The goal that at least the share `least` (0-1) of `total` is right; a total of 0 never reaches it."""
    figure = f"{right} of {total}" + (f"; {more}" if more else "")
    reached = total > 0 and right >= least * total
    return Goal(
        name=name,
        figure=figure,
        target=target,
        reached=reached,
        shown_by=tuple(shown_by),
        faults=tuple(faults),
    )


def print_goals(goals: Iterable[Goal], *, console: Console | None = None) -> None:
    """Print the table; below it what shows each goal, and every failure."""
    goals = tuple(goals)
    console = console or Console(width=None if sys.stdout.isatty() else WIDE)
    table = Table(title="Goals of the page, the API and the tools", show_lines=True)
    for heading in ("goal", "today", "target", ""):
        table.add_column(heading, overflow="fold")
    for goal in goals:
        verdict = "reached" if goal.reached else "missed"
        table.add_row(*(escape(cell) for cell in (goal.name, goal.figure, goal.target, verdict)))
    console.print(table)
    for heading, lines in (("Shown by", "shown_by"), ("Failures", "faults")):
        for goal in goals:
            for line in getattr(goal, lines):
                console.print(
                    f"{heading}: {goal.name}: {line}", markup=False, highlight=False, soft_wrap=True
                )
