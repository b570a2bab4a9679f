"""A process of `tacit-server serve`, for measurements and torture runs. In: environment variables. Out: the process and its URL."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def start_server(
    environment: Mapping[str, str], *, log: Path, port: int = 0
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server, wait until it listens, and return its process and its URL, such as `http://127.0.0.1:8765`.

    Args:
        environment: every environment variable of the process; `TACIT_DATABASE_URL` names the database.
        log: file to which its messages are appended.
        port: port to listen on; 0 = any free one.

    Raises:
        RuntimeError: the process ended before it listened.
    """
    with log.open("ab") as messages:
        process = subprocess.Popen(
            [sys.executable, "-m", "tacit.server.main", "serve", "--port", str(port)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=messages,
        )
    said = first_line(process)
    return process, said.split()[-1]


def first_line(process: subprocess.Popen[bytes]) -> str:
    """Return the first line that a process prints.

    Raises:
        RuntimeError: the process ended before it printed one.
    """
    assert process.stdout is not None
    line = process.stdout.readline().decode().strip()
    if not line:
        raise RuntimeError(f"{process.args} ended before it printed anything.")
    return line


def kill(process: subprocess.Popen[bytes] | None) -> None:
    """Kill a process (SIGKILL), wait until it has ended, and close its pipes. None = there is no process."""
    if process is None:
        return
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
