"""Long output on a terminal goes through a pager. In: the words of a command, the environment. Out: a context.

What fits on the screen is printed as it is. Only commands that print an answer and end are paged: a question, a key or progress behind a
pager would not be seen. Never used where no person sits at a terminal, or with `--json`.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from typing import TextIO

from tacit.config.environment import variables

OPTION = "--no-pager"
PAGED = frozenset({
    "config agents", "config diff", "config explain", "config get", "config schema", "context", "devices", "digest", "learned", "list",
    "logs", "recall", "review list", "show", "stats", "status", "team", "team audit", "team members", "team requests", "token list", "why",
    "why-not",
})  # fmt: skip
"""Commands that only print, as they are typed."""
GROUPS = frozenset(name.partition(" ")[0] for name in PAGED if " " in name) | {"devices"}
"""First words of commands that have a second one."""
FOLLOWS = ("--json", "-f", "--follow", "--help", "-h")
"""Options with which a command prints no answer for people, or does not end."""
LESS_OPTIONS = "FRX"
"""Colors are kept, the screen is left as it is; as git sets it."""


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """The words that start the pager; [] = none is wanted, or there is none."""
    for name in ("TACIT_PAGER", "PAGER"):
        wanted = environment.get(name)
        if wanted is not None:
            try:
                words = shlex.split(wanted)
            except ValueError:
                return []
            return words if words and words != ["cat"] and shutil.which(words[0]) else []
    for name in ("less", "more") if os.name == "posix" else ():
        if shutil.which(name):
            return [name]
    return []


def is_paged(arguments: Sequence[str]) -> bool:
    """Whether the command that these arguments name is paged."""
    if OPTION in arguments or any(argument in FOLLOWS for argument in arguments):
        return False
    words = [argument for argument in arguments if not argument.startswith("-")]
    in_group = bool(words) and words[0] in GROUPS and len(words) > 1
    return " ".join(words[: 2 if in_group else 1]) in PAGED


@contextlib.contextmanager
def paged(arguments: Sequence[str]) -> Generator[None]:
    """Inside, standard output goes through a pager if the command is paged and prints more than the terminal has lines."""
    out = sys.stdout
    command = pager_command(variables()) if is_paged(arguments) and _somebody_reads(out) else []
    if not command:
        yield
        return
    size = shutil.get_terminal_size()
    stream = PagedOutput(out, command, lines=max(2, size.lines - 1), columns=max(20, size.columns))
    sys.stdout = stream
    try:
        yield
    finally:
        sys.stdout = out
        stream.finish()


def _somebody_reads(out: TextIO) -> bool:
    """Whether a person can leave a pager: an agent that runs commands on a terminal of its own would wait for ever."""
    from tacit.config.home import in_agent_shell

    dumb = variables().get("TERM", "") == "dumb"
    return out.isatty() and sys.stdin.isatty() and not dumb and not in_agent_shell()


class PagedOutput(io.TextIOBase):
    """Keeps what is written until it is longer than the screen, then hands it to the pager; short output is printed at the end."""

    def __init__(self, out: TextIO, command: Sequence[str], *, lines: int, columns: int) -> None:
        """Write to `out`, or to the program `command` once there are more than `lines` lines of `columns` columns."""
        self._out = out
        self._command = list(command)
        self._lines, self._columns = lines, columns
        self._kept: list[str] = []
        self._taken = 0
        self._pager: subprocess.Popen[str] | None = None
        self._gone = False

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride] - a constant of the other stream
        """That of the terminal."""
        return self._out.encoding

    def isatty(self) -> bool:
        """What is written is meant for a terminal."""
        return True

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """Of the terminal."""
        return self._out.fileno()

    def write(self, text: str) -> int:
        """Keep `text`, or hand it to the pager."""
        if self._pager is not None:
            self._hand_on(text)
            return len(text)
        self._kept.append(text)
        self._taken += sum(1 + len(line) // self._columns for line in text.split("\n")[:-1])
        if self._taken > self._lines and self._started():
            self._hand_on("".join(self._kept))
            self._kept.clear()
        return len(text)

    def finish(self) -> None:
        """Print what was kept, or wait until the person leaves the pager."""
        if self._pager is None:
            self._out.write("".join(self._kept))
            self._out.flush()
            return
        assert self._pager.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._pager.stdin.close()
        # Ctrl+C is for the pager: it stays until it is left.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._pager.wait()
        finally:
            signal.signal(signal.SIGINT, before)

    def _started(self) -> bool:
        """Start the pager; False = it cannot be started, and all is printed at the end."""
        try:
            self._pager = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                env={"LESS": LESS_OPTIONS, **variables()},
                text=True,
                encoding=self._out.encoding,
                errors="replace",
            )
        except OSError:
            self._lines = sys.maxsize
            return False
        return True

    def _hand_on(self, text: str) -> None:
        """Write to the pager; what comes after the person left it goes nowhere."""
        assert self._pager is not None
        assert self._pager.stdin is not None
        if not self._gone:
            try:
                self._pager.stdin.write(text)
                self._pager.stdin.flush()
            except BrokenPipeError:
                self._gone = True
