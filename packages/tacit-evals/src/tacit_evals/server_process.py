"""Processes of `tacit-server`, for measurements and torture runs. In: environment variables. Out: processes, their URLs, their output, their processor time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


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
            [sys.executable, "-m", "tacit_server.main", "serve", "--port", str(port)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=messages,
        )
    said = first_line(process)
    return process, said.split()[-1]


def run_command(environment: Mapping[str, str], *arguments: str) -> str:
    """Run `tacit-server` with `arguments` until it ends, and return what it prints.

    Raises:
        RuntimeError: it failed; the message holds its error output.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tacit_server.main", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"tacit-server {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def stat_of(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` after the name of the program."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def used_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = stat_of(pid)
    return (int(fields[11]) + int(fields[12])) * _TICK_S


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
