"""Questions and progress, both on standard error, so that standard output stays clean.

In: a question, counts. Out: an answer. Never takes silence for consent: without a terminal or `--yes` nothing is done.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

import typer

from tacit.cli.surroundings import current
from tacit.errors import InvalidInput


def confirm(question: str, *, yes: bool, default: bool = True) -> None:
    """Go on only when the person agrees.

    Raises:
        InvalidInput: if nobody can answer.
        typer.Exit: with 1 if they decline.
    """
    if not agreed(question, yes=yes, unattended=None, default=default):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1)


def agreed(question: str, *, yes: bool, unattended: bool | None, default: bool = True) -> bool:
    """Whether the person agrees.

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
    if not current().interactive:
        if unattended is None:
            raise InvalidInput(f"{question} Nobody can answer here.", hint="Give --yes to agree.")
        return unattended
    return typer.confirm(question, default=default, err=True)


class Progress:
    """A progress bar that shows itself only on a terminal."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        stream = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=stream,
            disable=quiet or not stream.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task(what, total=None)

    def update(self, done: int, whole: int) -> None:
        """`done` of `whole` are done."""
        self._bar.update(self._task, completed=done, total=whole)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
