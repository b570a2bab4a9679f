"""Runs one command in a process group of its own and ends the whole group with it.

It ends when the command ends, when its time is up, when it is told to, or when the process that asked for it is gone. Standard
library only: it runs as `python -I -S -E guard.py`.

In: paths and seconds as arguments; standard input is a pipe that its parent holds open. "s" on it = stop; its end = the parent is
gone, then the scratch folder goes, too. Out: a status file, "ended CODE", "timed out", "stopped" or "missing"; what the command printed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

GRACE_S = 5.0  # between SIGTERM and SIGKILL


def main(scratch: Path, seconds: float, command: list[str]) -> None:
    """Run `command` with `scratch`/input as its standard input until it ends, is told to stop, its time is up, or the parent is gone. Write output and status to `scratch`; delete it if the parent is gone."""
    if sys.platform != "win32" and os.getpgrp() != os.getpid():
        return  # not the leader of its own group: the kill below would hit others
    # A handler, not SIG_IGN: the command would inherit the latter.
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stay)
    status, orphaned = "missing", False
    try:
        with (
            (scratch / "input").open("rb") as stdin,
            (scratch / "out").open("wb") as out,
            (scratch / "err").open("wb") as err,
        ):
            child = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err)
    except OSError:
        child = None
    if child is not None:
        status, orphaned = watch(child, time.monotonic() + seconds)
    if orphaned:
        import shutil  # noqa: PLC0415 - rarely needed

        shutil.rmtree(scratch, ignore_errors=True)
    else:
        (scratch / "status.new").write_text(status, encoding="ascii")
        (scratch / "status.new").replace(scratch / "status")
    end_all(child)


def _stay(_number: int, _frame: object) -> None:
    """Ignore a signal: this process must end last."""


def end_all(child: subprocess.Popen[bytes] | None) -> None:
    """End the processes that remain of the command and, on POSIX, this process as well."""
    if sys.platform != "win32":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    elif child is not None:
        end_tree(child.pid)


def end_tree(pid: int) -> None:
    """End a process on Windows, and its child processes. The children of a process that has already ended are not found."""
    subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], check=False, capture_output=True)


def watch(child: subprocess.Popen[bytes], until: float) -> tuple[str, bool]:
    """Wait until the command ends, is told to stop, its time is up, or the parent is gone; then end the command's group. Return the status, and whether the parent is gone."""
    status, orphaned = "", False
    said: list[bytes] = []
    Thread(target=lambda: said.append(os.read(0, 1)), daemon=True).start()  # Windows cannot wait for a pipe
    while child.poll() is None and not status:
        if said:
            orphaned = not said[0]
            status = "stopped"
        elif time.monotonic() > until:
            status = "timed out"
        else:
            time.sleep(0.02)
    if status:
        if sys.platform == "win32":
            end_tree(child.pid)
        else:
            os.killpg(os.getpgrp(), signal.SIGTERM)
        grace_end = time.monotonic() + GRACE_S
        while child.poll() is None and time.monotonic() < grace_end:
            time.sleep(0.02)
    return status or f"ended {child.returncode}", orphaned


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
