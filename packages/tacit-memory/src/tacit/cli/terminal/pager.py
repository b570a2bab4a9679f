"""Long output on a terminal goes through a pager. In: the words of a command, the environment. Out: a context.

What fits on the screen is printed as it is. Only commands that print an answer and end are paged: a question, a key or progress behind a
pager would not be seen. Never used where no person sits at a terminal, or with `--json`.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from typing import TextIO

from tacit.config.environment import variables
from tacit.hosts.registry import in_agent_shell

OPTION = "--no-pager"
PAGED = frozenset({"config", "list", "recall", "sessions", "show", "status", "why", "why-not"})
"""Commands whose output may go through a pager, because they only print."""
UNPAGED = ("--json", "--write-up", "--help", "-h")
"""Options with which even these commands are not paged: they print for programs, or ask and work for long."""
LESS_OPTIONS = "FRX"
"""The options of less if the user set none, as git does: keep colors, leave the screen as it is, end if all fits."""


def is_paged(arguments: Sequence[str]) -> bool:
    """Whether the command in these arguments may be paged."""
    if OPTION in arguments or any(argument in UNPAGED for argument in arguments):
        return False
    return next((word for word in arguments if not word.startswith("-")), "") in PAGED


@contextlib.contextmanager
def paged(arguments: Sequence[str]) -> Generator[None]:
    """Collect standard output inside the context, and at its end print it, through the pager if it is longer than the terminal. Does nothing for commands that are not paged."""
    out = sys.stdout
    if not is_paged(arguments) or not _somebody_reads(out):
        yield
        return
    kept = _KeptOutput(out)
    sys.stdout = kept
    try:
        yield
    finally:
        sys.stdout = out
        text = kept.getvalue()
        size = shutil.get_terminal_size()
        lines = sum(1 + len(line) // max(20, size.columns) for line in text.splitlines())
        if lines < size.lines:
            out.write(text)
            out.flush()
        else:
            os.environ.setdefault("LESS", LESS_OPTIONS)
            import click

            click.echo_via_pager(text)


def _somebody_reads(out: TextIO) -> bool:
    """Whether a person at a terminal can leave a pager; an agent's shell would wait in it forever."""
    dumb = variables().get("TERM", "") == "dumb"
    return out.isatty() and sys.stdin.isatty() and not dumb and not in_agent_shell()


class _KeptOutput(io.StringIO):
    """A text buffer that keeps what is written, but reports the terminal `out` to code that asks for colors or its width."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - a constant of the other stream
        """The encoding of the terminal."""
        return self._out.encoding

    def isatty(self) -> bool:
        """Return True, because the text is written for a terminal."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor of the terminal."""
        return self._out.fileno()
