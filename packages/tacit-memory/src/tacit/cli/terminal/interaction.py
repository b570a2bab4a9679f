"""Questions and progress, both on standard error, so that standard output stays clean.

In: a question, counts. Out: an answer. Never takes silence for consent: without a terminal or `--yes` nothing is done.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import typer

from tacit.cli.context import current_context
from tacit.errors import InvalidInput


def confirm(question: str, *, yes: bool, default: bool = True) -> None:
    """Ask the user, and return only if they agree; `yes` = they agreed in advance.

    Raises:
        InvalidInput: if nobody can answer.
        typer.Exit: with 1 if they decline.
    """
    if not agreed(question, yes=yes, unattended=None, default=default):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1)


def agreed(question: str, *, yes: bool, unattended: bool | None, default: bool = True) -> bool:
    """Ask the user on standard error and return whether they agree.

    Args:
        question: one sentence that ends with a question mark.
        yes: they said so already.
        default: the answer of who only presses Enter.
        unattended: the answer where nobody can be asked; None = that is an error.

    Raises:
        InvalidInput: if nobody can answer and `unattended` is None.
    """
    if yes:
        return True
    if not current_context().interactive:
        if unattended is None:
            raise InvalidInput(
                f"This command asks: {question} Nobody can answer, because this is not a terminal.",
                hint="Give --yes to agree.",
            )
        return unattended
    return typer.confirm(question, default=default, err=True)


SAY_EVERY_S = 5.0
"""Seconds between two plain lines of progress."""


class Progress:
    """A progress bar with rate and remaining time on a terminal; elsewhere a plain line every few seconds. A context manager."""

    def __init__(
        self, what: str, *, quiet: bool = False, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        stream = Console(stderr=True)
        self._lines = not quiet and not stream.is_terminal
        self._monotonic_s = monotonic_s
        self._what = what
        self._began_s = self._said_s = monotonic_s()
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=stream,
            disable=quiet or not stream.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(what, total=None, rate="")

    def update(self, done: int, whole: int, what: str = "") -> None:
        """Show that `done` of `whole` are done; `whole` 0 = the total is unknown. Another `what` begins a new part with a new rate."""
        now_s = self._monotonic_s()
        if what and what != self._what:
            self._what, self._began_s = what, now_s
            self._bar.update(self._task, description=what)
        rate = done / max(now_s - self._began_s, 1e-9)
        self._bar.update(self._task, completed=done, total=whole or None, rate=f"{rate:,.0f}/s")
        if self._lines and now_s - self._said_s >= SAY_EVERY_S:
            self._said_s = now_s
            of = f" of {whole:,}" if whole else ""
            remaining = f", {max(whole - done, 0) / rate:,.0f} s left" if whole and rate else ""
            typer.echo(f"{self._what}: {done:,}{of}, {rate:,.0f} a second{remaining}", err=True)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
