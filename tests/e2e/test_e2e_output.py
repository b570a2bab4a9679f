"""Output on a terminal: every table fits 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
from contextlib import closing

import pytest
from rich.cells import cell_len

from e2e.drivers.sandbox import Sandbox
from forks import start_tacit
from tacit.model.memory import Speaker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")
STATEMENT = "The module number {n} of the service that is described here in many words keeps its state in a table named state_{n}."


@pytest.fixture(scope="module")
def full():
    """A machine with sixty memories, some of which wait."""
    with Sandbox() as sandbox:
        with closing(sandbox.engine()) as engine:
            for number in range(60):
                engine.remember(
                    STATEMENT.format(n=number), cwd=str(sandbox.project), source="mcp" if number % 3 else "library",
                    speaker=Speaker.USER if number % 3 else Speaker.AGENT,
                )  # fmt: skip
        sandbox.tacit("recall", "which table keeps the state of module 7?")
        sandbox.tacit("recall", "commit this", "--surface", "prompt")
        yield sandbox


def on_terminal(sandbox, *arguments, lines=24, columns=80) -> str:
    """What a terminal of this size shows while a command runs."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    told = {name: value for name, value in sandbox.environment().items() if name not in ("COLUMNS", "LINES")}
    shown = bytearray()
    with os.fdopen(theirs, "wb", buffering=0) as terminal, os.fdopen(ours, "rb", buffering=0) as screen:
        ended = start_tacit(
            arguments, environ={**told, "TERM": "xterm"}, cwd=sandbox.project, files=(terminal, terminal)
        )
        while select.select([screen, ended], [], [], 120)[0]:
            if select.select([screen], [], [], 0)[0]:
                shown += screen.read(65536)
            else:
                break
    with ended:
        assert int(ended.recv(32)) in (0, 1), (arguments, bytes(shown))
    return shown.decode("utf-8", "replace")


TABLES = (
    ("list",), ("list", "--all", "-n", "60"), ("list", "--changes"), ("review", "list"), ("why", "--stages"), ("status", "--stats"), ("status",),
    ("config", "get", "recall"), ("config",), ("config", "get", "--why", "recall.spaces"), ("config", "get", "--agents"), ("recall",),
    ("recall", "which table keeps the state of module 7?"), ("sessions", "--learned"), ("sessions",), ("token", "list"), ("doctor", "--no-hosts"), ("--help",),
    ("remember", "--help"), ("why-not", "--surface", "start"), ("show",), ("demo",),
)  # fmt: skip


def test_every_table_fits_80_columns(full):
    name = full.tacit_json("list", "-n", "1")["memories"][0]["id"]
    for command in TABLES:
        arguments = [*command, name] if command[0] in ("why-not", "show") else list(command)
        shown = ESCAPES.sub("", on_terminal(full, "--no-pager", *arguments))
        assert shown.strip(), command
        wide = [line for line in shown.splitlines() if cell_len(line.rstrip()) > 80]
        # A word that is longer than half a line (a path, a command to copy) stays whole.
        broken = [line for line in wide if max(map(cell_len, line.split())) < 40]
        assert broken == [], command
