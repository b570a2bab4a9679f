"""Starting, checking and ending processes. In: process ids. Out: options for `subprocess`, booleans.

POSIX: groups and signals. Windows: process trees, which its command `taskkill` ends. A process there cannot be asked to end, so the
first step already ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

_SYNCHRONIZE = 0x0010_0000
_QUERY = 0x1000
_STILL_RUNNING = 258
_DENIED = 5


class GroupOptions(TypedDict, total=False):
    """Options of `subprocess.Popen` for a process that leads a new process group."""

    start_new_session: bool
    creationflags: int


def group_options() -> GroupOptions:
    """Return the options for a process that `end_group` can end with its children, and that does not get Ctrl-C of this terminal."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


def end_group(pid: int) -> None:
    """Kill the process `pid`, which must have been started with `group_options`, and all its children. Does nothing if they have already ended."""
    if sys.platform == "win32":
        command = ["taskkill", "/T", "/F", "/PID", str(pid)]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=10)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def born(pid: int) -> int:
    """Return when the process `pid` began, in clock ticks since the machine started; 0 = not known, as always outside Linux.

    A system gives the id of an ended process to another one; the two together name one process.
    """
    stat = _stat(pid)
    return int(stat[19]) if stat else 0


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` from the state on; empty if they cannot be read. Source: proc_pid_stat(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []


def is_running(pid: int, *, born_at: int = 0) -> bool:
    """Return whether a process with this id is running. A zombie is not running.

    `born_at`: what `born` returned for the process; another one that has its id by now does not count. 0 = not known.
    """
    if sys.platform == "win32":
        return _runs_on_windows(pid)
    if stat := _stat(pid):
        return stat[0] != "Z" and born_at in (0, int(stat[19]))
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _runs_on_windows(pid: int) -> bool:
    """Implement `is_running` on Windows, where `os.kill(pid, 0)` would send Ctrl-C."""
    import ctypes  # noqa: PLC0415 - see above

    foreign: Any = ctypes  # names that exist only on Windows have no type elsewhere
    kernel = foreign.WinDLL("kernel32", use_last_error=True)
    process = kernel.OpenProcess(_SYNCHRONIZE | _QUERY, 0, pid)
    if not process:
        return foreign.get_last_error() == _DENIED
    try:
        return bool(kernel.WaitForSingleObject(process, 0) == _STILL_RUNNING)
    finally:
        kernel.CloseHandle(process)


def end_process(pid: int, *, timeout_s: float) -> bool:
    """End a process with SIGTERM, then with SIGKILL. Wait up to `timeout_s` after each. Return whether it has ended."""
    last = getattr(signal, "SIGKILL", signal.SIGTERM)
    for number in (signal.SIGTERM, last):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            if not is_running(pid):
                return True
            time.sleep(0.02)
    return False


def on_stop(handler: Callable[..., None]) -> None:
    """Install `handler` for SIGTERM, SIGINT and SIGBREAK, with which the system or a terminal asks this process to end. Main thread only."""
    for name in (
        "SIGTERM",
        "SIGINT",
        "SIGBREAK",
    ):  # SIGBREAK: Windows sends it for Ctrl-Break
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, handler)


def resident_kb() -> int:
    """Return the resident memory of this process in kilobytes; 0 on systems without /proc, such as macOS and Windows."""
    if sys.platform == "win32":
        return 0
    with contextlib.suppress(OSError, ValueError, IndexError), Path("/proc/self/statm").open("rb") as opened:
        return int(opened.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return 0
